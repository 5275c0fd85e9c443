"""The parts of a FIB, and why messages are dropped, as Python values.

What they do is in fib.hpp and route.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class DropReason(IntEnum):
    """Why a packet was not forwarded."""

    MALFORMED = 1
    HOP_LIMIT = 2
    UNKNOWN_CLASS = 3
    WRONG_INTERFACE = 4
    SPOOFED_SOURCE = 5
    NO_FIB = 6
    SEND_FAILED = 7
    UNREACHABLE = 8
    """No way leads to a destination of the message; one for each destination."""
    RETURNED = 9
    """A router sent us, by a way we take messages from, what a client of ours published."""
    UNADVERTISED = 10
    """A client of ours published what is outside of all that it has advertised."""
    NOT_PERMITTED = 11
    """A client of ours published what the policy does not permit it to."""
    NO_SEAL = 12
    """Its datagram has no seal, and one is required (`fastpath.seal`)."""
    UNKNOWN_KEY = 13
    WRONG_SEAL = 14
    REPEATED_SEAL = 15
    """Its datagram came before, or is too old to tell."""
    OTHER_SESSION = 16
    """Its datagram was sealed in a session that is over, or has not begun."""


@dataclass(frozen=True)
class ClassEntry:
    """header class -> (from where it is taken, where it may go, by which table, as what class)."""

    header_class: int
    accept: int
    """Bit mask of the interfaces to routers on which this class is taken: the reverse-path check."""
    out: int
    """Bit mask of the interfaces to which it may go; the ingress is left out by itself."""
    table: int
    """Position of its table in the FIB's `tables`."""
    rewrite: int
    """The header class written into what is sent."""
    routed: bool = False
    """Copies for routers go by the destinations in the message's header (`Route`), those for clients
    by `out`, which must name clients alone, and `table`."""


@dataclass(frozen=True)
class Route:
    """How messages of routed classes travel (RTE 3.4, T5).

    One that a client publishes is matched against a table whose "interfaces" are
    positions in `destinations`; from a router it says its destinations itself
    (docs/wire-format.md). The destinations are partitioned by interface, and each
    copy carries its part; a part that would not fit `max_datagram_bytes` is cut
    into several copies. Every destination is in just one.
    """

    node: int
    """Our own id: where we are a destination, the message is for our clients (E11)."""
    table: int
    destinations: Sequence[tuple[int, int]]
    """(router, interface towards it), by ascending id, without ourselves."""
    one_each: bool = False
    """A copy for every destination."""
