"""What Siena's posets hold, subscriptions or advertisements: how they relate, and how they are sent.

Both are filters. They differ in what covers what (M7 and its dual), in what makes two the same, and in
the kinds of payload (M10: tables of their own).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from fastpath import cover
from fastpath.interests import Predicate
from nodes.routing.effects import Reason
from nodes.routing.predicates import filters_of
from nodes.routing.schemes.base import Source, of_client, of_publisher
from nodes.routing.store import PredicateStore
from nodes.wire.packets import Kind


@dataclass(frozen=True, slots=True)
class Relation:
    """One of the two."""

    make_set: Callable[[], cover.CoveringSet]
    reduce: Callable[[bytes], bytes]
    """What a filter is known by."""
    matches_nothing: Callable[[bytes], bool]
    announcement: Kind
    withdrawal: Kind
    of_client: Callable[[int], Source]
    """The name of what our client at an interface has of them."""
    unknown: Reason
    """Why a withdrawal is dropped that names none."""

    @property
    def kinds(self) -> tuple[Kind, Kind]:
        """Of the payloads."""
        return self.announcement, self.withdrawal


SUBSCRIPTIONS = Relation(
    cover.PredicateSet,
    cover.reduce_filter,
    cover.contradictory,
    Kind.SIENA_SUBSCRIBE,
    Kind.SIENA_UNSUBSCRIBE,
    of_client,
    Reason.UNKNOWN_SUBSCRIPTION,
)
ADVERTISEMENTS = Relation(
    cover.AdvertisementSet,
    cover.reduce_advertisement,
    lambda _: False,  # the message without attributes is within each
    Kind.SIENA_ADVERTISE,
    Kind.SIENA_UNADVERTISE,
    of_publisher,
    Reason.UNKNOWN_ADVERTISEMENT,
)


class Clients:
    """What our own clients hold, as filters that come and go (ADR 3.5: U may be a client).

    The store reports differences, which are returned when asked for. Filters that the relation makes the
    same are counted, so that one may go and the other stay. Those that match nothing are left out.
    """

    def __init__(self, store: PredicateStore, relation: Relation) -> None:
        self._relation = relation
        self._held: dict[int, Counter[bytes]] = {}
        self._before: dict[int, dict[bytes, bool]] = {}
        store.watch(self._note)

    def take_changes(self) -> Iterator[tuple[int, list[bytes], list[bytes]]]:
        """(Interface, filters that came, filters that went) since last asked, ascending."""
        noted, self._before = self._before, {}
        for interface, before in sorted(noted.items()):
            held = self._held[interface]
            came = sorted(f for f, had in before.items() if not had and f in held)
            went = sorted(f for f, had in before.items() if had and f not in held)
            yield interface, came, went

    def _note(self, name: Hashable, removed: Predicate, added: Predicate) -> None:
        if not isinstance(name, Source) or name != self._relation.of_client(name.number):
            return
        held = self._held.setdefault(name.number, Counter())
        before = self._before.setdefault(name.number, {})
        for change, predicate in ((1, added), (-1, removed)):
            for filter_ in filters_of(predicate.encode()):
                reduced = self._relation.reduce(filter_)
                if not self._relation.matches_nothing(reduced):
                    before.setdefault(reduced, reduced in held)
                    held[reduced] += change
                    if not held[reduced]:
                        del held[reduced]
