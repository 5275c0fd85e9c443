"""What the clients of a router advertise that they will publish (ADR 2.4.2, decision 29).

Where the scheme has the option `advertisements`, the data plane takes from a client only what is within them.
What each advertises is then in the store also, as
`of_publisher`, for the scheme to announce.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from zlib import crc32

from fastpath.fib import Gate
from nodes.routing.client_predicates import FromClients, Predicates, Words
from nodes.routing.effects import Reason
from nodes.routing.holdings import Holdings
from nodes.routing.link import Link
from nodes.routing.policy import Policy
from nodes.routing.predicates import filters_of, predicate_of
from nodes.routing.schemes.base import of_publisher
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Refusal

_WORDS = Words(
    "an advertisement",
    "UNADVERTISE",
    Reason.UNKNOWN_ADVERTISEMENT,
    refusal=Refusal.ADVERTISEMENT_NOT_PERMITTED,
    over_limit=Refusal.ADVERTISEMENT_OVER_LIMIT,
    room=Refusal.ADVERTISEMENT_ROOM,
)
PART_FILTERS = 256
"""The gate is told of more advertisements of a client than these in parts."""
PARTS_MAX = 4_096


class _Parts:
    """Filters in parts of some size, so that the gate is told anew of the part alone in which one changes."""

    def __init__(self) -> None:
        self._parts: list[set[bytes]] = [set()]
        self._count = 0
        self._changed: set[int] = set()

    def add(self, filter_: bytes) -> None:
        """It is one of them now."""
        self._count += 1
        if self._count > PART_FILTERS * len(self._parts) and len(self._parts) < PARTS_MAX:
            self._split()
        self._part_of(filter_).add(filter_)

    def remove(self, filter_: bytes) -> None:
        """It is one of them no longer."""
        self._part_of(filter_).discard(filter_)
        self._count -= 1
        if not self._count:
            self._parts = [set()]

    def take_changed(self) -> Iterator[tuple[int, bytes]]:
        """(Number, predicate) of the parts that have changed since last asked.

        In this order no filter is in no part meanwhile: one that is put into another goes to a later one.
        """
        for number in sorted(self._changed, reverse=True):
            yield number, predicate_of(self._parts[number] if number < len(self._parts) else ())
        self._changed.clear()

    def _part_of(self, filter_: bytes) -> set[bytes]:
        number = crc32(filter_) % len(self._parts)
        self._changed.add(number)
        return self._parts[number]

    def _split(self) -> None:
        """Make twice as many parts."""
        filters = [filter_ for part in self._parts for filter_ in part]
        self._parts = [set() for _ in range(2 * len(self._parts))]
        for filter_ in filters:
            self._part_of(filter_).add(filter_)
        self._changed.update(range(len(self._parts)))


class Advertisements(Predicates):
    """What the client at one interface advertises, by its own ids."""

    def __init__(self) -> None:
        super().__init__()
        self._uses: Counter[bytes] = Counter()
        self._parts = _Parts()
        self._before: dict[bytes, bool] = {}
        """The filters that have changed since this was last asked: whether they were there."""

    def together(self) -> bytes:
        """All of them, as one predicate."""
        return predicate_of(self._uses)

    def take_changes(self) -> tuple[bytes, bytes]:
        """(Filters that went, those that came) since last asked, as predicates."""
        before, self._before = self._before, {}
        went = predicate_of(f for f, had in before.items() if had and f not in self._uses)
        return went, predicate_of(f for f, had in before.items() if not had and f in self._uses)

    def take_parts(self) -> Iterator[tuple[int, bytes]]:
        """What has changed since last asked, as the gate is told it: (part, predicate)."""
        return self._parts.take_changed()

    def _added(self, predicate: bytes) -> None:
        for filter_ in filters_of(predicate):
            self._note(filter_)
            self._uses[filter_] += 1
            if self._uses[filter_] == 1:
                self._parts.add(filter_)

    def _removed(self, predicate: bytes) -> None:
        for filter_ in filters_of(predicate):
            self._note(filter_)
            self._uses[filter_] -= 1
            if not self._uses[filter_]:
                del self._uses[filter_]
                self._parts.remove(filter_)

    def _note(self, filter_: bytes) -> None:
        self._before.setdefault(filter_, filter_ in self._uses)


class ClientAdvertisements(FromClients[Advertisements]):
    """What all clients of a router advertise.

    Args:
        clients: The interfaces to clients.
        holdings: How much a client may advertise.
        policy: And what.
        gate: Is told at once what each client may publish; None: they may publish anything.
        store: Takes what each client advertises, if there is a gate.
        changed: Called with the time after every change of it.
    """

    def __init__(
        self,
        clients: Iterable[int],
        holdings: Holdings,
        policy: Policy,
        *,
        gate: Gate | None,
        store: PredicateStore,
        changed: Callable[[int], None],
    ) -> None:
        super().__init__({interface: Advertisements() for interface in clients}, _WORDS, holdings, policy)
        self._gate = gate
        self._store = store
        self._changed = changed

    def _permits(self, interface: int, predicate: bytes) -> bool:
        return self._policy.may_advertise(interface, predicate)

    def _touch(self, now_ns: int, link: Link) -> None:
        interface, read = link.interface.index, self._store.pool.read
        held = self.by_interface[interface]
        went, came = held.take_changes()
        for part, predicate in held.take_parts():
            if self._gate is not None:
                self._gate.set(interface, predicate, part)
        if self._gate is not None and self._store.change(of_publisher(interface), read(went), read(came)):
            self._changed(now_ns)
