"""What our own clients subscribe to, as the filters that come and go (ADR 3.5: U may be a client).

The store tells differences, which are handed on when asked for. Filters that
`reduce_filter` makes the same are counted, so that one may go and the other stay.
Contradictory filters, which nothing matches, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from fastpath import cover
from fastpath.interests import Predicate
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.base import Source, of_client
from nodes.routing.store import PredicateStore


class Clients:
    """The clients of a router, seen through its store from the beginning."""

    def __init__(self, store: PredicateStore) -> None:
        self._wanted: dict[int, Counter[bytes]] = {}
        self._before: dict[int, dict[bytes, bool]] = {}
        store.watch(self._note)

    def take_changes(self) -> Iterator[tuple[int, list[bytes], list[bytes]]]:
        """(Interface, filters that came, filters that went) since last asked, ascending."""
        noted, self._before = self._before, {}
        for interface, before in sorted(noted.items()):
            wanted = self._wanted[interface]
            came = sorted(f for f, had in before.items() if not had and f in wanted)
            went = sorted(f for f, had in before.items() if had and f not in wanted)
            yield interface, came, went

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        if not isinstance(name, Source) or name != of_client(name.number):
            return
        wanted = self._wanted.setdefault(name.number, Counter())
        before = self._before.setdefault(name.number, {})
        for change, predicate in ((1, added), (-1, removed)):
            for filter_ in filters_of(predicate.encode()):
                reduced = cover.reduce_filter(filter_)
                if not cover.contradictory(reduced):
                    before.setdefault(reduced, reduced in wanted)
                    wanted[reduced] += change
                    if not wanted[reduced]:
                        del wanted[reduced]
