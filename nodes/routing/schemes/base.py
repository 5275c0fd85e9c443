"""What a routing scheme is: from what a router knows to what it forwards by.

A scheme is a pure function from a `View` to a `FibSpec`. All schemes share one
FIB shape, *header class -> (interface mask, predicate table, rewrite)*, so the
data plane knows none of them. A new scheme is one module with a class and one
line in the registry (`nodes.routing.schemes`).

Not here: the compiled FIB (`install`), flooding (`router`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from nodes.routing.trees import Topology

Options = Mapping[str, str | int | float | bool]
"""A scenario's `scheme_options`."""


@dataclass(frozen=True, slots=True)
class View:
    """What a router knows when it makes its tables."""

    node: int
    topology: Topology
    interfaces: Mapping[int, tuple[int, ...]]
    """The live interfaces to each neighbouring router, the one to send on first."""
    interests: Mapping[int, memoryview]
    """The encoded predicate of each reachable router that wants anything, ours included."""
    clients: Mapping[int, tuple[bytes, ...]]
    """The encoded filters of the client at each interface to a client."""

    @property
    def client_mask(self) -> int:
        """The interfaces to clients."""
        return mask(self.clients)


@dataclass(frozen=True, slots=True)
class ClassSpec:
    """One row of the FIB, as `fastpath.fib.ClassEntry`."""

    header_class: int
    accept: int
    out: int
    table: int
    rewrite: int


TableSpec = Mapping[int, tuple[bytes, ...]]
"""The encoded filters of each interface, distinct and in canonical order."""


@dataclass(frozen=True, slots=True)
class FibSpec:
    """What a router forwards by, as plain data."""

    origin_class: int
    classes: tuple[ClassSpec, ...]
    tables: tuple[TableSpec, ...]


class Scheme(Protocol):
    """A routing scheme (RTE 2.1): Init is the origin class, Fwd and Hdr are the classes."""

    name: ClassVar[str]

    def __init__(self, options: Options) -> None:
        """Take the scheme's own options; UsageError for one it does not know."""

    def compile(self, view: View) -> FibSpec:
        """The tables for what the router knows now."""


def mask(interfaces: Mapping[int, object] | tuple[int, ...]) -> int:
    """The bit mask of interfaces."""
    bits = 0
    for interface in interfaces:
        bits |= 1 << interface
    return bits
