"""What `--hosts` may name: a file, or machines of `cbn metal`."""

from __future__ import annotations

from pathlib import Path

from testbed.cluster.hosts import Hosts, read_hosts
from testbed.cluster.metal import lab
from testbed.cluster.metal.programs import MetalError

METAL = "metal"


class HostsError(RuntimeError):
    """The machines that were named are not there."""


def find_hosts(named: str) -> Hosts:
    """The machines of a file, of the lab `metal`, or of another lab as `metal:LAB`.

    Raises:
        ScenarioError: With everything that is wrong with the file.
        HostsError: There is no such lab, or it is not up.
    """
    kind, _, name = named.partition(":")
    if kind != METAL or Path(named).exists():
        return read_hosts(Path(named))
    try:
        found = lab.find(name or lab.DEFAULT_NAME)
    except MetalError as error:
        raise HostsError(str(error)) from error
    except PermissionError as error:
        raise HostsError("the machines of `cbn metal` are root's: use sudo") from error
    if found.condition != "up":
        raise HostsError(f"the lab {found.name} is {found.condition}: see `cbn metal status`")
    return found.hosts()
