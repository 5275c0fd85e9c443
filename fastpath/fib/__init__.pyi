"""The forwarding table and the FIB: what a router does with a MESSAGE."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from fastpath.wire.codec import UsageError, WireError

__all__ = [
    "ALGORITHMS",
    "ClassEntry",
    "DropReason",
    "Fib",
    "ForwardingTable",
    "Route",
    "UsageError",
    "WireError",
    "count_messages",
    "forward_without_fib",
]

class ForwardingTable:
    """Predicates by interface, matched against encoded messages.

    Any number of threads may match while others change and commit: a match
    sees the table as of one commit, whole. When memory runs out, MemoryError is
    raised, what was committed stays, and changes that wait go on waiting.

    Algorithms: `fast` is ours (docs/matching-engine.md); `counting` and
    `selective` are those of FWD Fig. 4 and 7, which compile the whole table at
    each commit; `rounds` belongs to `selective`. All give the same answers.
    """

    def __init__(self, algorithm: str = "fast", rounds: int = 10) -> None:
        """UsageError if there is no such algorithm."""
    def add(self, interface: int, filter: bytes) -> int:  # noqa: A002
        """File one encoded filter under an interface; returns its id, counted from 0.

        Interfaces are 0 to 16,777,215. A filter filed twice has two ids and matches until
        both are removed. No id is ever given twice. WireError if malformed.
        """

    def remove(self, filter_id: int) -> None:
        """Withdraw a filter. KeyError if there is none of that id."""

    def commit(self) -> None:
        """Make additions and removals visible to matching, all at once."""

    def match(self, packet: bytes, allowed: int | None = None) -> tuple[int, ...]:
        """The interfaces, ascending, one of whose filters matches the MESSAGE packet.

        `allowed` is a bit mask of interfaces to consider; None: all. WireError if
        the packet is not one well-formed MESSAGE.
        """

    def match_many(self, packets: Iterable[bytes], allowed: int | None = None) -> list[tuple[int, ...]]:
        """`match` for each packet, all by one state of the table; WireError names the first bad one."""

    def determinants(self) -> list[tuple[str, tuple[int, ...]]]:
        """The selectivity table (FWD 4.3) of `selective`, a row a round: (name, interfaces).

        The interfaces are those all of whose filters constrain the name: a message without it
        is kept from them. Those rows come first that exclude most. UsageError for `fast`.
        """

    def eliminated(self, packet: bytes) -> int:
        """How many interfaces the rounds rule out for a MESSAGE packet, of `selective` (FWD Fig. 7).

        UsageError for `fast`, WireError if the packet is not one well-formed MESSAGE.
        """

    def stats(self) -> dict[str, int]:
        """Of what was committed last: `filters`, `constraints`, `interfaces`, `names`, `bytes`.

        `constraints` counts them as filed, `names` those (or their pairs with a type) that filters mention,
        `bytes` all memory that answering and updating take.
        """

ALGORITHMS: tuple[str, ...]

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

class Fib:
    """Immutable. `clients[i]` is the id of the client at interface i, 0 for a router.

    Holds the tables as committed when it is made: what is committed later
    needs a new FIB (which costs no copy of the tables). `max_datagram_bytes[i]`
    bounds the UDP payload sent at interface i, 1472 if not given; a packet
    larger than that is sent alone. UsageError if the parts do not fit together.
    """

    def __init__(
        self,
        origin_class: int,
        clients: Sequence[int],
        classes: Sequence[ClassEntry],
        tables: Sequence[ForwardingTable],
        max_datagram_bytes: Sequence[int] | None = None,
        route: Route | None = None,
    ) -> None: ...
    def forward(self, packet: bytes, ingress: int) -> tuple[int, list[tuple[int, bytes]]]:
        """One MESSAGE packet: (0, [(interface, packet to send there)...]) or (DropReason, []).

        From a client, the packet must carry that client's id as source and
        header class 0, and is forwarded as `origin_class`. From a router, its
        class must be known and accepted on that interface. Copies have one hop
        less to go; one with none left goes to clients only. The interfaces are
        ascending, and all copies are equal; of a routed class, copies for clients
        come first and have an empty route.
        """

    def forward_datagram(
        self, datagram: bytes, ingress: int
    ) -> tuple[list[bytes], list[tuple[int, bytes]], list[DropReason]]:
        """A whole datagram: (control packets, [(interface, datagram to send there)...], drops).

        Bad framing is one MALFORMED drop for all of it. Control packets are
        framed but not yet validated. Messages for one interface are bundled.
        HOP_LIMIT is among the drops also if clients got their copies and only
        routers had to go without, UNREACHABLE once for each destination.
        """

    def stats(self) -> dict[str, int]:
        """`interfaces`, `classes`, `tables`, and the tables' `filters`, `constraints`, `bytes` in sum."""

def forward_without_fib(
    datagram: bytes, ingress: int
) -> tuple[list[bytes], list[tuple[int, bytes]], list[DropReason]]:
    """What the data plane does with a datagram before it has a FIB, as `Fib.forward_datagram` tells it."""

def count_messages(datagram: bytes) -> int:
    """How many MESSAGE packets a datagram holds; none if it is not well framed."""
