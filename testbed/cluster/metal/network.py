"""The network of a lab: a switch in a network namespace, and a namespace a machine that is cabled to it.

This machine's own network has no part in it. To reach it, enter the namespace of the switch (`connect`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from testbed.cluster.metal.programs import MetalError, run

NETNS = Path("/run/netns")
PREFIX = "10.77.0"
MASK = 24
MTU = 1500
"""As most networks of real machines have it."""
SWITCH_ADDRESS = f"{PREFIX}.254"
_SWITCH = f"""link set lo up
link add switch type bridge
link set switch mtu {MTU}
address add {SWITCH_ADDRESS}/{MASK} dev switch
link set switch up
"""
_PORT = """link add eth0 mtu {mtu} type veth peer name {name} mtu {mtu} netns {switch}
address add {address}/{mask} dev eth0
link set lo up
link set eth0 up
"""


def address_of(number: int) -> str:
    """The address of the n-th machine, from 1."""
    return f"{PREFIX}.{number}"


def namespace(lab: str, machine: str = "switch") -> Path:
    """The network namespace of a machine, or of the switch."""
    return NETNS / f"cbn-metal.{lab}.{machine}"


def build(lab: str, machines: dict[str, str]) -> None:
    """Make the switch, and cable machines, given with their addresses, to it.

    Raises:
        MetalError: The kernel does not let us.
    """
    switch = namespace(lab).name
    run(["ip", "netns", "add", switch])
    run(["ip", "-n", switch, "-batch", "-"], _SWITCH)
    for name, address in machines.items():
        own = namespace(lab, name).name
        run(["ip", "netns", "add", own])
        port = _PORT.format(name=name, switch=switch, address=address, mask=MASK, mtu=MTU)
        run(["ip", "-n", own, "-batch", "-"], port)
    plugs = "".join(f"link set {name} master switch up\n" for name in machines)
    run(["ip", "-n", switch, "-batch", "-"], plugs)


def there(lab: str) -> list[Path]:
    """The namespaces of a lab."""
    return sorted(NETNS.glob(f"cbn-metal.{lab}.*"))


def remove(lab: str) -> None:
    """Take the namespaces away; links go with them."""
    for path in there(lab):
        try:
            run(["ip", "netns", "delete", path.name])
        except MetalError:
            with contextlib.suppress(FileNotFoundError):  # it was made, and not mounted yet
                path.unlink()
