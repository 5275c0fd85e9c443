"""What the sans-IO cores ask of the shell that runs them.

The seam of all three worlds. A shell (the simulator or the daemon) does:

    core.receive(now_ns, interface, packet)   # one control-plane packet, bytes
    core.handle_timer(now_ns)                 # at or after next_deadline()
    core.next_deadline() -> int | None        # absolute, ns
    core.take_outputs() -> list[Output]       # after each of the above
    core.status() -> dict[str, object]        # for readiness and for people

and carries out the outputs in order. `now_ns` never goes backwards. MESSAGE
packets do not come here in a router: they go through the installed FIB. In a
client they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastpath.fib import Fib
from nodes.wire.packets import Message


@dataclass(frozen=True, slots=True)
class Send:
    """Send these packets (one datagram) on an interface."""

    interface: int
    datagram: bytes


@dataclass(frozen=True, slots=True)
class Install:
    """Forward with this FIB from now on."""

    fib: Fib


@dataclass(frozen=True, slots=True)
class Deliver:
    """A message for the application of this client."""

    message: Message


@dataclass(frozen=True, slots=True)
class Drop:
    """A packet was dropped; the shell counts it under the reason."""

    interface: int
    reason: str


@dataclass(frozen=True, slots=True)
class Log:
    """Something a person reading the node's log wants to know."""

    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


Output = Send | Install | Deliver | Drop | Log


class Core(Protocol):
    """What the router's and the client's core have in common."""

    def receive(self, now_ns: int, interface: int, packet: bytes) -> None:
        """Take one packet that arrived on an interface."""

    def handle_timer(self, now_ns: int) -> None:
        """Do what is due."""

    def next_deadline(self) -> int | None:
        """When `handle_timer` wants to be called next."""

    def take_outputs(self) -> list[Output]:
        """Hand over, in order, what is to be done; the list is then empty."""

    def status(self) -> dict[str, object]:
        """A JSON-ready account of the state."""
