"""How to log in to a machine: options of ssh that `hosts.yaml` comes down to; what to do if one cannot."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from testbed.cluster.hosts import Machine

CONNECT_TIMEOUT_S = 10
KEEP_ALIVE = ("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3")
"""For connections that last: a machine that is silent for 6 s has been lost."""
_NO_ROOT = (
    "the account may not become root: let it use sudo without a password, or log in as root "
    "(`user` in the hosts file)"
)
_NOT_PROVISIONED = "the machine is not provisioned: play playbooks/site.yml (docs/clusters.md)"
_SILENT = "the machine does not answer: is it on, is its address right?"
_REMEDIES = {
    "password is required": _NO_ROOT,
    "terminal is required": _NO_ROOT,
    "not in the sudoers": _NO_ROOT,
    "not allowed to execute": _NO_ROOT,
    "sudo: not found": _NO_ROOT,
    "sudo: command not found": _NO_ROOT,
    "command not found": _NOT_PROVISIONED,
    "No such file": _NOT_PROVISIONED,
    "No module named": _NOT_PROVISIONED,
    ".service not found": _NOT_PROVISIONED,
    "Permission denied": "the machine does not take the key: see `user` and `key` in the hosts file",
    "Host key verification failed": "the machine's key is not the known one: see `known_hosts`",
    "timed out": _SILENT,
    "No route to host": _SILENT,
    "Network is unreachable": _SILENT,
    "proxy dialer": _SILENT,
    "Connection closed": _SILENT,
    "Connection reset": _SILENT,
    "Could not resolve hostname": "there is no such name: see `address` in the hosts file",
    "Connection refused": "no sshd answers there: see `address` and `port` in the hosts file",
}


def ssh_options(machine: Machine) -> list[str]:
    """What ssh, scp and Ansible are given to reach a machine; nothing of it asks a person."""
    options = [("BatchMode", "yes"), ("ConnectTimeout", str(CONNECT_TIMEOUT_S)), *machine.ssh]
    if machine.key is not None:
        options += [("IdentityFile", str(machine.key)), ("IdentitiesOnly", "yes")]
    if machine.known_hosts is not None:
        options += [("UserKnownHostsFile", str(machine.known_hosts)), ("StrictHostKeyChecking", "yes")]
    return [word for name, value in options for word in ("-o", f"{name}={value}")]


def ssh_command(machine: Machine, command: Sequence[str] = (), options: Sequence[str] = ()) -> list[str]:
    """The call that runs a command on a machine, or a shell.

    As with ssh itself, the words are joined by spaces and read by the shell of the machine.
    """
    port = ["-p", str(machine.port)]
    user = ["-l", machine.user] if machine.user is not None else []
    return ["ssh", *options, *ssh_options(machine), *port, *user, machine.address, *command]


def as_root(command: Sequence[str]) -> list[str]:
    """For the shell of a machine: run this as root, by sudo unless root has logged in."""
    words = shlex.join(command)
    script = f'if [ "$(id -u)" = 0 ]; then exec {words}; else exec sudo -n {words}; fi'
    return ["sh", "-c", shlex.quote(script)]


def explained(failure: str) -> str:
    """Why a machine could not be used, with the remedy if it is known."""
    remedy = next((text for sign, text in _REMEDIES.items() if sign in failure), "")
    return f"{failure}; {remedy}" if remedy else failure
