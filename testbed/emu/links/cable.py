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
class Cable:
    """A link as it is to be made."""

    name: str
    a: End
    b: End
    mtu: int
    impairment: Impairment
    """From `a` to `b`."""
    back: Impairment
