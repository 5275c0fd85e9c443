"""How to log in to a machine: the options of ssh that `hosts.yaml` comes down to."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.cluster.hosts import Machine

CONNECT_TIMEOUT_S = 10


def ssh_options(machine: Machine) -> list[str]:
    """What ssh, scp and Ansible are given to reach a machine; nothing of it asks a person."""
    options = [("BatchMode", "yes"), ("ConnectTimeout", str(CONNECT_TIMEOUT_S)), *machine.ssh]
    if machine.key is not None:
        options += [("IdentityFile", str(machine.key)), ("IdentitiesOnly", "yes")]
    if machine.known_hosts is not None:
        options += [("UserKnownHostsFile", str(machine.known_hosts)), ("StrictHostKeyChecking", "yes")]
    return [word for name, value in options for word in ("-o", f"{name}={value}")]


def ssh_command(machine: Machine, command: Sequence[str] = ()) -> list[str]:
    """The call that runs a command on a machine, or a shell.

    As with ssh itself, the words are joined by spaces and read by the shell of the machine.
    """
    port = ["-p", str(machine.port)]
    user = ["-l", machine.user] if machine.user is not None else []
    return ["ssh", *ssh_options(machine), *port, *user, machine.address, *command]
