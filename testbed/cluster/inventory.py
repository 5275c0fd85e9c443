"""What Ansible is given about machines: an inventory, made of `hosts.yaml` alone."""

from __future__ import annotations

import hashlib
import shlex
from typing import Any

from testbed.cluster.hosts import Hosts, Machine
from testbed.cluster.ssh import ssh_command, ssh_options

GROUP = "cluster"
"""The group that the playbooks prepare for clusters."""


def inventory(hosts: Hosts) -> dict[str, Any]:
    """The inventory, as Ansible reads it from JSON or YAML."""
    return {GROUP: {"hosts": {machine.name: _variables(machine) for machine in hosts.machines}}}


def _variables(machine: Machine) -> dict[str, Any]:
    variables: dict[str, Any] = {
        "ansible_host": machine.address,
        "ansible_port": machine.port,
        "ansible_ssh_common_args": shlex.join(ssh_options(machine)),
        "ansible_control_path": f"%(directory)s/cbn-{_way(machine)}",
    }
    if machine.user is not None:
        variables["ansible_user"] = machine.user
    return variables


def _way(machine: Machine) -> str:
    """A name for the way to a machine: options of ssh, and the keys that are expected there.

    Ansible lets all connections to one address be one, though machines behind different gates, and those
    of labs one after the other, may have the same address.
    """
    digest = hashlib.sha256(shlex.join(ssh_command(machine)).encode())
    if machine.known_hosts is not None and machine.known_hosts.is_file():
        digest.update(machine.known_hosts.read_bytes())
    return digest.hexdigest()[:16]
