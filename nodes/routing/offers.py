"""What the clients of routers advertise, where every router knows it of every other (decision 29).

A router floods one predicate for its clients, of the advertisements that no other of theirs covers (M7), and
of their interest it floods what overlaps an advertisement of another router that can be reached (E14). What
overlaps none nobody can send it. Its own clients' messages it matches with all that its clients want,
told or not.

Not here: how predicates are flooded (`interest_exchange`), what one client advertises (`advertisements`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from fastpath import cover
from fastpath.interests import Predicate
from nodes.routing.predicates import filters_of, predicate_of
from nodes.routing.schemes.base import Source, of_publisher, offer_of_router
from nodes.routing.store import PredicateStore


class Offers:
    """What our clients advertise together, and what of their interest others offer anything for.

    Args:
        node: Our id.
        store: Has what everybody advertises, by name, and reports its changes.
    """

    def __init__(self, node: int, store: PredicateStore) -> None:
        self._node = node
        self._pool = store.pool
        self._own = cover.AdvertisementSet()
        self._overlaps = cover.Overlaps()
        self._wanted: dict[bytes, set[bytes]] = {}
        """Filters that our clients want, by what `reduce_filter` makes of them."""
        self._reachable: frozenset[int] = frozenset()
        self._told: set[bytes] = set()
        self._concerned: set[bytes] = set()
        """Reduced filters that may have to be told now, or no longer."""
        store.watch(self._note)

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how what our clients advertise, reduced, has changed since last asked."""
        became, ceased = self._own.changes()
        return self._read(ceased), self._read(became)

    def see(self, reachable: Iterable[int]) -> bool:
        """These routers can be reached now; whether that may change what is told."""
        before, self._reachable = self._reachable, frozenset(reachable) - {self._node}
        changed = before ^ self._reachable
        if changed:
            owners = self._overlaps.owners
            self._concerned.update(f for f in self._wanted if not changed.isdisjoint(owners(f)))
        return bool(self._concerned)

    def told(self, removed: Predicate, added: Predicate) -> tuple[Predicate, Predicate]:
        """(removed, added) of what is told, as what our clients want changes so, and others' offers have."""
        gone, new = set(), set()
        for filter_ in filters_of(removed.encode()):
            self._drop(filter_)
            if filter_ in self._told:
                gone.add(filter_)
        for filter_ in filters_of(added.encode()):
            self._want(filter_)
        for reduced in self._concerned & self._wanted.keys():
            same = self._wanted[reduced]
            if not self._reachable.isdisjoint(self._overlaps.owners(reduced)):
                new |= same - self._told
            else:
                gone |= same & self._told
        self._concerned.clear()
        self._told = (self._told - gone) | new
        return self._read(gone), self._read(new)

    def _want(self, filter_: bytes) -> None:
        reduced = cover.reduce_filter(filter_)
        self._overlaps.add(reduced)
        self._wanted.setdefault(reduced, set()).add(filter_)
        self._concerned.add(reduced)

    def _drop(self, filter_: bytes) -> None:
        reduced = cover.reduce_filter(filter_)
        self._overlaps.remove(reduced)
        self._wanted[reduced].discard(filter_)
        if not self._wanted[reduced]:
            del self._wanted[reduced]

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        if not isinstance(name, Source):
            return
        if name == of_publisher(name.number):
            for each in filters_of(added.encode()):
                self._own.add(each)
            for each in filters_of(removed.encode()):
                self._own.remove(each)
        elif name == offer_of_router(name.number):
            for each in filters_of(added.encode()):
                self._concerned.update(self._overlaps.advertise(name.number, each))
            for each in filters_of(removed.encode()):
                self._concerned.update(self._overlaps.withdraw(name.number, each))

    def _read(self, filters: Iterable[bytes]) -> Predicate:
        return self._pool.read(predicate_of(filters))
