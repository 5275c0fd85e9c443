"""The forwarding table and the FIB: what a router does with a MESSAGE."""

from collections.abc import Sequence
from enum import IntEnum

class ForwardingTable:
    """Predicates by interface, matched against encoded messages."""

    def __init__(self) -> None: ...
    def add(self, interface: int, filter: bytes) -> int:
        """File one encoded filter under an interface; returns its id. WireError if malformed."""

    def remove(self, filter_id: int) -> None:
        """Withdraw a filter. KeyError if there is none of that id."""

    def commit(self) -> None:
        """Make additions and removals visible to matching, all at once."""

    def match(self, packet: bytes, allowed: int | None = None) -> tuple[int, ...]:
        """The interfaces, ascending, one of whose filters matches the MESSAGE packet.

        `allowed` is a bit mask of interfaces to consider; None: all.
        """

    def stats(self) -> dict[str, int]:
        """`filters`, `constraints`, `interfaces`, `names`, `bytes`."""

class DropReason(IntEnum):
    """Why a packet was not forwarded."""

    MALFORMED = 1
    HOP_LIMIT = 2
    UNKNOWN_CLASS = 3
    WRONG_INTERFACE = 4
    SPOOFED_SOURCE = 5
    NO_FIB = 6
    SEND_FAILED = 7

class ClassEntry:
    """header class -> (from where it is taken, where it may go, by which table, as what class)."""

    def __init__(self, header_class: int, accept: int, out: int, table: int, rewrite: int) -> None: ...
    header_class: int
    accept: int
    """Bit mask of the interfaces on which this class is taken."""
    out: int
    """Bit mask of the interfaces to which it may go."""
    table: int
    """Position of its table in the FIB's `tables`."""
    rewrite: int
    """The header class written into what is sent to routers."""

class Fib:
    """Immutable. `clients[i]` is the id of the client at interface i, 0 for a router."""

    def __init__(
        self,
        origin_class: int,
        clients: Sequence[int],
        classes: Sequence[ClassEntry],
        tables: Sequence[ForwardingTable],
    ) -> None: ...
    def forward(self, packet: bytes, ingress: int) -> tuple[int, list[tuple[int, bytes]]]:
        """One MESSAGE packet: (0, [(interface, packet to send there)...]) or (DropReason, []).

        From a client, the packet must carry that client's id as source and
        header class 0, and is forwarded as `origin_class`.
        """

    def stats(self) -> dict[str, int]: ...
