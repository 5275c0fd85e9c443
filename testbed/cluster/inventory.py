"""What Ansible is given about machines: an inventory, made of `hosts.yaml` alone."""

from __future__ import annotations

import shlex
from typing import Any

from testbed.cluster.hosts import Hosts, Machine
from testbed.cluster.ssh import ssh_options

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
    }
    if machine.user is not None:
        variables["ansible_user"] = machine.user
    return variables
