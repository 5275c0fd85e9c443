"""A link as it is to be made: plain data, for the run and for the process that carries wires."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.plan.model import Impairment


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link: an interface that is to be made."""

    pid: int
    """A process in whose network namespace it is to be."""
    name: str
    mac: str


@dataclass(frozen=True, slots=True)
class Tunnel:
    """This machine's end of a link to another one: frames are datagrams between the two."""

    name: str
    end: End
    mtu: int
    impairment: Impairment
    """What happens to frames that enter here; the other machine does so for its own."""
    is_a: bool
    """Whether the end is the link's `a`."""
    port: int
    """Of UDP, on both machines: it says which link a datagram is of."""
    peer_address: str
    address: str = ""
    """Of this machine, if the socket is to have this one alone."""


@dataclass(frozen=True, slots=True)
class Cable:
    """A link as it is to be made."""

    name: str
    a: End
    b: End
    mtu: int
    impairment: Impairment
    """From `a` to `b`."""
    back: Impairment
