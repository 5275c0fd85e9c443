"""What `--hosts` may name: a file, machines of `cbn metal`, or nodes that `vagrant up` has made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from testbed.cluster.hosts import Hosts, read_hosts
from testbed.cluster.metal import lab
from testbed.cluster.metal.programs import MetalError
from testbed.cluster.options import METAL, lab_meant

VAGRANT = "vagrant"
VAGRANT_HOSTS = "hosts.yaml"
"""Written by `playbooks/vagrant/cluster_hosts.rb` into Vagrant's folder when a node is up."""


class HostsError(RuntimeError):
    """The machines that were named are not there."""


def find_hosts(named: str) -> Hosts:
    """The machines of a file, of the lab `metal`, of another lab as `metal:LAB`, or Vagrant's nodes.

    Raises:
        ScenarioError: With everything that is wrong with the file.
        HostsError: There is no such lab, or it is not up.
    """
    kind, _, name = named.partition(":")
    if Path(named).exists() or (kind != METAL and named != VAGRANT):
        return read_hosts(Path(named))
    return _of_vagrant() if named == VAGRANT else _of_metal(name)


def _of_vagrant() -> Hosts:
    for folder in _vagrant_folders():
        if (folder / VAGRANT_HOSTS).is_file():
            return read_hosts(folder / VAGRANT_HOSTS)
    raise HostsError(
        "Vagrant has no nodes here: `CBN_NODES=3 vagrant up` makes three, from the folder of Vagrantfile"
    )


def _vagrant_folders() -> Iterator[Path]:
    """Where Vagrant itself would look."""
    named = os.environ.get("VAGRANT_DOTFILE_PATH")
    if named:
        yield Path(named)
    else:
        yield from (folder / ".vagrant" for folder in (Path.cwd(), *Path.cwd().parents))


def _of_metal(name: str) -> Hosts:
    try:
        found = lab.find(name or lab_meant())
    except MetalError as error:
        raise HostsError(str(error)) from error
    except PermissionError as error:
        raise HostsError("the machines of `cbn metal` are root's: use sudo") from error
    if found.condition != "up":
        raise HostsError(f"the lab {found.name} is {found.condition}: see `cbn metal status`")
    return found.hosts()
