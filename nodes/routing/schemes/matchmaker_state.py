"""What one router holds of descriptors and matches, and what of it each neighbour is told (MM 2, 5.4).

What comes over a link is held until it is withdrawn there or the link is lost. It *counts* if it comes from
where the trees say it must. What counts is sent on, descriptors by the markings, and compared: where a PCD
and an SCD count that overlap (E14), on the path between their routers, a match is made, and goes both ways
along the path. A match that a neighbour has sent goes on away from it, so what is held has no circles.

Everything else follows from what counts: after each change the keys that it concerns are settled, and
what a neighbour has been told is brought up to date by differences (decision 31).

Not here: bytes, links and clients (`matchmaker`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fastpath import cover
from nodes.routing.schemes.matchmaker_trees import Key, Trees

OURS = -1
"""In the place of an interface: our own descriptors, and the matches made here."""


class Update(NamedTuple):
    """One thing to be told to a neighbour, or to be withdrawn from it."""

    interface: int
    key: Key
    filter: bytes | None
    withdrawn: bool


class Change(NamedTuple):
    """A filter by which messages are to be forwarded towards a subscriber, or no longer."""

    subscriber: int
    filter: bytes
    came: bool


class Meeting:
    """Descriptors and matches of one router.

    Args:
        trees: Where things go; `turn` changes them.
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._held: dict[Key, dict[int, bytes | None]] = {}
        """By key, the filter it has from each interface."""
        self._told: dict[Key, frozenset[int]] = {}
        """By key, the interfaces on which it was told."""
        self._concerned: dict[Key, None] = {}
        self._pairs = _Pairs()
        self._forwarded: dict[Key, bytes] = {}
        self._uses: Counter[tuple[int, bytes]] = Counter()
        self._updates: list[Update] = []
        self._changes: list[Change] = []

    def put(self, interface: int, key: Key, filter_: bytes | None) -> bool:
        """Something has come; whether it was not held from there."""
        held = self._held.setdefault(key, {})
        if interface in held:
            return False
        held[interface] = filter_
        self._concerned[key] = None
        return True

    def take_back(self, interface: int, key: Key) -> bool:
        """Something is withdrawn; whether it was held from there."""
        held = self._held.get(key, {})
        if interface not in held:
            return False
        del held[interface]
        if not held:
            del self._held[key]
        self._concerned[key] = None
        return True

    def lose(self, interface: int) -> None:
        """A link is gone: what came over it is void, and what was told there too."""
        for key in [key for key, held in self._held.items() if interface in held]:
            self.take_back(interface, key)
        for key, told in self._told.items():
            if interface in told:
                self._told[key] = told - {interface}

    def held_from(self, interface: int) -> Iterable[Key]:
        """What has come over a link."""
        return (key for key, held in self._held.items() if interface in held)

    def turn(self, trees: Trees) -> None:
        """The trees, or the markings, are these now."""
        self._trees = trees
        self._pairs = _Pairs()
        for key in [key for key, held in self._held.items() if key.is_match and OURS in held]:
            self.take_back(OURS, key)
        self._concerned.update(dict.fromkeys(self._held))
        self._concerned.update(dict.fromkeys(self._told))

    def settle(self) -> tuple[list[Update], list[Change]]:
        """What is to be told, and how forwarding changes, after all that has happened since."""
        while self._concerned:
            # Descriptors before matches: their changes make and unmake these.
            chosen = sorted(self._concerned, key=lambda key: (key.is_match, key))
            if not chosen[0].is_match:
                chosen = [key for key in chosen if not key.is_match]
            for key in chosen:
                del self._concerned[key]
                self._settle(key)
        updates, changes = self._updates, self._changes
        self._updates, self._changes = [], []
        return updates, changes

    def _settle(self, key: Key) -> None:
        sources = self._counting(key)
        filter_ = self._held[key][sources[0]] if sources else None
        if key.is_match:
            self._forward(key, filter_)
            self._tell(key, filter_, self._along(key, sources))
        else:
            self._compare(key, filter_, bool(sources))
            self._tell(key, filter_, self._trees.spread(key) if sources else frozenset())

    def _counting(self, key: Key) -> list[int]:
        """From where it is held that counts."""
        ends = [end for end in (key.publisher, key.subscriber) if end]
        if key.is_match and not self._trees.is_between(*ends):
            return []
        return [
            interface
            for interface in sorted(self._held.get(key, ()))
            if interface == OURS or any(self._trees.is_from(interface, end) for end in ends)
        ]

    def _along(self, key: Key, sources: list[int]) -> frozenset[int]:
        """Where a match goes on: both ways from where it was made, else away from who sent it."""
        found = set[int | None]()
        for end, other in ((key.publisher, key.subscriber), (key.subscriber, key.publisher)):
            if any(s == OURS or self._trees.is_from(s, other) for s in sources):
                found.add(self._trees.towards(end))
        return frozenset(each for each in found if each is not None)

    def _compare(self, key: Key, filter_: bytes | None, counts: bool) -> None:
        """Make the matches of a descriptor that counts, and unmake those of one that does not."""
        if counts:
            for match, wanted in self._pairs.add(key, filter_):
                if self._trees.is_between(match.publisher, match.subscriber):
                    self.put(OURS, match, wanted)
        else:
            for match in self._pairs.remove(key):
                self.take_back(OURS, match)

    def _forward(self, key: Key, filter_: bytes | None) -> None:
        """Count the matches for which messages are sent towards a subscriber by its filter."""
        beyond = self._trees.towards(key.subscriber) is not None
        wanted = filter_ if beyond else None
        before = self._forwarded.get(key)
        if before == wanted:
            return
        if wanted is not None:
            self._forwarded[key] = wanted
            self._uses[key.subscriber, wanted] += 1
            if self._uses[key.subscriber, wanted] == 1:
                self._changes.append(Change(key.subscriber, wanted, came=True))
        else:
            del self._forwarded[key]
        if before is not None:
            self._uses[key.subscriber, before] -= 1
            if not self._uses[key.subscriber, before]:
                del self._uses[key.subscriber, before]
                self._changes.append(Change(key.subscriber, before, came=False))

    def _tell(self, key: Key, filter_: bytes | None, to: frozenset[int]) -> None:
        before = self._told.get(key, frozenset())
        for interface in sorted(to - before):
            self._updates.append(Update(interface, key, filter_, withdrawn=False))
        for interface in sorted(before - to):
            self._updates.append(Update(interface, key, None, withdrawn=True))
        if to:
            self._told[key] = to
        else:
            self._told.pop(key, None)


class _Pairs:
    """The descriptors that count, and which of them overlap. The kernel compares each filter once."""

    def __init__(self) -> None:
        self._overlaps = cover.Overlaps()
        self._published: dict[Key, int] = {}
        self._by_number: dict[int, tuple[Key, bytes]] = {}
        self._wanted: dict[Key, bytes] = {}
        self._by_filter: dict[bytes, dict[Key, None]] = {}
        self._anything: dict[Key, None] = {}
        """PCDs of whatever may be published."""
        self._count = 0

    def add(self, key: Key, filter_: bytes | None) -> list[tuple[Key, bytes]]:
        """A descriptor counts: the matches that it makes, with the filter of their SCD."""
        if key in self._published or key in self._wanted or key in self._anything:
            return []
        if key.subscriber:
            assert filter_ is not None, "an SCD has a filter"
            return self._want(key, filter_)
        return self._publish(key, filter_)

    def remove(self, key: Key) -> list[Key]:
        """A descriptor counts no longer: the matches it may have made."""
        if key in self._wanted:
            filter_ = self._wanted.pop(key)
            matches = [_match(pcd, key) for pcd in self._publishers(filter_)]
            del self._by_filter[filter_][key]
            if not self._by_filter[filter_]:
                del self._by_filter[filter_]
            self._overlaps.remove(filter_)
            return matches
        if key in self._anything:
            del self._anything[key]
            return [_match(key, scd) for scd in self._wanted]
        if key not in self._published:
            return []
        number = self._published.pop(key)
        _, filter_ = self._by_number.pop(number)
        return [_match(key, scd) for scd, _ in self._those_who_want(self._overlaps.withdraw(number, filter_))]

    def _want(self, key: Key, filter_: bytes) -> list[tuple[Key, bytes]]:
        self._wanted[key] = filter_
        self._by_filter.setdefault(filter_, {})[key] = None
        self._overlaps.add(filter_)
        return [(_match(pcd, key), filter_) for pcd in self._publishers(filter_) if pcd.owner != key.owner]

    def _publish(self, key: Key, filter_: bytes | None) -> list[tuple[Key, bytes]]:
        if filter_ is None:
            self._anything[key] = None
            wanting = [*self._wanted.items()]
        else:
            self._count += 1
            self._published[key] = self._count
            self._by_number[self._count] = key, filter_
            wanting = self._those_who_want(self._overlaps.advertise(self._count, filter_))
        return [(_match(key, scd), wanted) for scd, wanted in wanting if scd.owner != key.owner]

    def _publishers(self, filter_: bytes) -> list[Key]:
        numbers = self._overlaps.owners(filter_)
        return [*self._anything, *(self._by_number[n][0] for n in numbers if n in self._by_number)]

    def _those_who_want(self, filters: Iterable[bytes]) -> list[tuple[Key, bytes]]:
        by_filter: Mapping[bytes, Iterable[Key]] = self._by_filter
        return [(scd, filter_) for filter_ in filters for scd in by_filter.get(filter_, ())]


def _match(pcd: Key, scd: Key) -> Key:
    return Key(pcd.publisher, pcd.pcd, scd.subscriber, scd.scd)
