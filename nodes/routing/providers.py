"""Who provides what, as a router knows it: the paper's T_A, with providers (ADR 3.6, decision 30).

Providers are interfaces: to an own client that advertises, or to the neighbour that is next on the way to
one. The store has what is advertised, by client (`of_publisher`), and of others by their router
(`offer_of_router`, where that is flooded) or by the interface it was announced at (`provided`, where a
talking scheme knows it).

Not here: taking patterns apart by it (`nodes.patterns.factoring`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from fastpath import cover
from fastpath.interests import Predicate
from nodes.model import Part
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.base import (
    Source,
    interface_provided,
    of_publisher,
    offer_of_router,
    provided,
)
from nodes.routing.store import PredicateStore
from nodes.wire.codec import encode_filter


class Providers:
    """What parts are asked for, and which interfaces lead to somebody who advertises for them.

    Args:
        clients: The interfaces to clients.
        store: Has what everybody advertises, and reports its changes.
    """

    def __init__(self, clients: Collection[int], store: PredicateStore) -> None:
        self._clients = frozenset(clients)
        self._by_interface = cover.Overlaps()
        self._by_router = cover.Overlaps()
        self._ways: Mapping[int, int] = {}
        self._asking: dict[bytes, dict[int, int]] = {}
        """By reduced filter: who asks for it, how often."""
        self._concerned: set[bytes] = set()
        store.watch(self._note)

    @property
    def changed(self) -> bool:
        """Whether there is anything to be taken by `take_concerned`."""
        return bool(self._concerned)

    def ask(self, who: int, part: Part) -> None:
        """Somebody wants to know who provides a part."""
        for encoded in _filters(part):
            for each in (self._by_interface, self._by_router):
                each.add(encoded)
            asking = self._asking.setdefault(cover.reduce_filter(encoded), {})
            asking[who] = asking.get(who, 0) + 1

    def drop(self, who: int, part: Part) -> None:
        """They want it no longer."""
        for encoded in _filters(part):
            for each in (self._by_interface, self._by_router):
                each.remove(encoded)
            reduced = cover.reduce_filter(encoded)
            asking = self._asking[reduced]
            asking[who] -= 1
            if not asking[who]:
                del asking[who]
            if not asking:
                del self._asking[reduced]

    def providers(self, part: Part) -> frozenset[int]:
        """As `factoring.Availability`, of a part that is asked for."""
        found: set[int] = set()
        for encoded in _filters(part):
            found.update(self._by_interface.owners(encoded))
            found.update(self._ways[r] for r in self._by_router.owners(encoded) if r in self._ways)
        return frozenset(found)

    def see(self, ways: Mapping[int, int]) -> None:
        """These are the interfaces towards other routers now."""
        before, self._ways = self._ways, dict(ways)
        changed = {router for router, _ in before.items() ^ ways.items()}
        if changed:
            owners = self._by_router.owners
            self._concerned.update(f for f in self._asking if not changed.isdisjoint(owners(f)))

    def take_concerned(self) -> set[int]:
        """Who asks for what is provided by others than when this was last called."""
        concerned, self._concerned = self._concerned, set()
        return {who for filter_ in concerned for who in self._asking.get(filter_, ())}

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        if not isinstance(name, Source):
            return
        found = self._held_by(name)
        if found is None:
            return
        held, owner = found
        for each in filters_of(added.encode()):
            self._concerned.update(held.advertise(owner, each))
        for each in filters_of(removed.encode()):
            self._concerned.update(held.withdraw(owner, each))

    def _held_by(self, name: Source) -> tuple[cover.Overlaps, int] | None:
        if name == of_publisher(name.number):
            return self._by_interface, name.number
        if name == offer_of_router(name.number):
            return self._by_router, name.number
        interface = interface_provided(name)
        if name.kind == provided(0, 0).kind and interface not in self._clients:
            return self._by_interface, interface
        return None


def _filters(part: Part) -> list[bytes]:
    return [encode_filter(each) for each in part.predicate.filters]
