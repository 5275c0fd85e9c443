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
from typing import final

from fastpath import cover
from nodes.routing.schemes.matchmaker_trees import Key, Trees

OURS = -1
"""In the place of an interface: our own descriptors, and the matches made here."""
SORTS = ("PCD", "SCD", "MCD")


@final
class Update:
    """One thing to be told to a neighbour, or to be withdrawn from it."""

    __slots__ = ("again", "filter", "interface", "kept", "key", "told", "withdrawn")

    def __init__(
        self,
        interface: int,
        key: Key,
        filter_: bytes | None,
        *,
        withdrawn: bool = False,
        kept: bool = False,
        told: bool = True,
        again: bool = False,
    ) -> None:
        self.interface = interface
        self.key = key
        self.filter = filter_
        self.withdrawn = withdrawn
        self.kept = kept
        """It is withdrawn from there alone, and the matches that it made stay."""
        self.told = told
        """Whether it was told there: a withdrawal also follows matches."""
        self.again = again
        """It was told there before, and is there still (`matchmaker_soft`)."""


@final
class Change:
    """A filter by which messages are to be forwarded towards a subscriber, or no longer."""

    __slots__ = ("came", "filter", "subscriber")

    def __init__(self, subscriber: int, filter_: bytes, came: bool) -> None:
        self.subscriber = subscriber
        self.filter = filter_
        self.came = came


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
        self.counts = dict.fromkeys(SORTS, 0)
        """How many are held, of each sort."""
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._concerned: dict[Key, None] = {}
        self._gone: set[Key] = set()
        """What its router has withdrawn, until that is settled."""
        self._answered: set[Key] = set()
        """The matches whose makers are being told that a descriptor of ours is gone, until all is settled."""
        self._matches: dict[Key, dict[Key, None]] = {}
        """The matches held, by either of their descriptors."""
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
        if len(held) == 1:
            self.counts[_sort_of(key)] += 1
            for descriptor in key.descriptors if key.is_match else ():
                self._matches.setdefault(descriptor, {})[key] = None
        self._concerned[key] = None
        return True

    def take_back(self, interface: int, key: Key, kept: bool = False) -> bool:
        """Something is withdrawn; whether anything was known of it.

        A descriptor that its router has withdrawn (not `kept`) takes the matches with it that it has made.
        """
        known = self._release(interface, key)
        if not key.is_match and not kept and (known or key in self._matches):
            comes_from_owner = interface == OURS or self._trees.is_from(interface, key.owner)
            if comes_from_owner:
                self._gone.add(key)
                self._concerned[key] = None
            return known or comes_from_owner
        return known

    def holds(self, interface: int, key: Key) -> bool:
        """Whether something is held from there."""
        return interface in self._held.get(key, ())

    def ours(self) -> list[Key]:
        """Our own descriptors, and the matches that were made here."""
        return [key for key, held in self._held.items() if OURS in held]

    def still_makes(self, match: Key) -> bool:
        """Whether both descriptors of a match count here."""
        return all(self._counting(descriptor) for descriptor in match.descriptors)

    def unmake(self, match: Key) -> None:
        """A match counts as made here no longer."""
        self._release(OURS, match)

    def again(self, interface: int, key: Key) -> list[Update]:
        """Something that is held is told again there, or is ours: whom to tell."""
        if interface not in self._counting(key):
            return []
        told = self._told.get(key, frozenset())
        to = told & self._along(key, [interface]) if key.is_match else told
        filter_ = self._held[key][interface]
        return [Update(each, key, filter_, again=True) for each in sorted(to)]

    def lose(self, interface: int) -> None:
        """A link is gone: what came over it is void, and what was told there too."""
        for key in [key for key, held in self._held.items() if interface in held]:
            self._release(interface, key)
        for key, told in self._told.items():
            if interface in told:
                self._told[key] = told - {interface}

    def forget_held(self, interface: int, published: bool) -> list[Key]:
        """No PCDs (or SCDs) come over a link any more, which both ends know; the matches they made stay."""
        keys = [k for k, held in self._held.items() if interface in held and _is_sort(k, published)]
        for key in keys:
            self._release(interface, key)
        return keys

    def forget_told(self, interface: int, published: bool) -> list[Key]:
        """No PCDs (or SCDs) are told over a link any more, which both ends know."""
        keys = [k for k, told in self._told.items() if interface in told and _is_sort(k, published)]
        for key in keys:
            self._told[key] -= {interface}
            self._concerned[key] = None
        return keys

    def reconsider(self, published: bool) -> None:
        """A link may carry PCDs (or SCDs) now that did not."""
        self._concerned.update((key, None) for key in self._held if _is_sort(key, published))

    def turn(self, trees: Trees) -> None:
        """The trees, or those who publish and subscribe, are these now."""
        self._trees = trees
        self._pairs = _Pairs()
        for key in [key for key, held in self._held.items() if key.is_match and OURS in held]:
            if not trees.is_between(key.publisher, key.subscriber):
                self._release(OURS, key)
        self._concerned.update(dict.fromkeys(self._held))
        self._concerned.update(dict.fromkeys(self._told))

    def _release(self, interface: int, key: Key) -> bool:
        held = self._held.get(key, {})
        if interface not in held:
            return False
        del held[interface]
        if not held:
            del self._held[key]
            self.counts[_sort_of(key)] -= 1
            for descriptor in key.descriptors if key.is_match else ():
                del self._matches[descriptor][key]
                if not self._matches[descriptor]:
                    del self._matches[descriptor]
        self._concerned[key] = None
        return True

    def settle(self) -> tuple[list[Update], list[Change]]:
        """What is to be told, and how forwarding changes, after all that has happened since."""
        while self._concerned:
            for key in self._take_concerned():
                self._settle(key)
        updates, changes = self._updates, self._changes
        self._updates, self._changes = [], []
        self._answered.clear()
        return updates, changes

    def _take_concerned(self) -> list[Key]:
        """What is settled next: descriptors before matches, as their changes make and unmake these."""
        # A dict from which all has been deleted takes as long to walk as when it was full: take a new one.
        concerned, self._concerned = self._concerned, {}
        if len(concerned) == 1:
            return [*concerned]
        descriptors = [key for key in concerned if not key.is_match]
        if descriptors:
            self._concerned = {key: None for key in concerned if key.is_match}
        return sorted(descriptors or concerned)

    def _settle(self, key: Key) -> None:
        sources, is_match = self._counting(key), key.is_match
        if is_match and sources and self._refute(key):
            sources = []
        filter_ = self._held[key][sources[0]] if sources else None
        if is_match:
            self._forward(key, filter_)
            self._tell(key, filter_, self._along(key, sources))
            return
        gone = key in self._gone and not sources
        self._gone.discard(key)
        self._compare(key, filter_, bool(sources))
        mark = len(self._updates)
        self._tell(key, filter_, self._trees.spread(key) if sources else frozenset(), kept=not gone)
        if gone:
            self._unmake(key, {update.interface for update in self._updates[mark:]})

    def _refute(self, match: Key) -> bool:
        """Whether it is a match of a descriptor of ours that there is no more; whoever made it is told so."""
        ends = match.publisher, match.subscriber
        for descriptor, other in zip(match.descriptors, reversed(ends), strict=True):
            if descriptor.owner == self._trees.node and not self.holds(OURS, descriptor):
                interface = self._trees.towards(other)
                if interface is not None and match not in self._answered:
                    self._updates.append(Update(interface, descriptor, None, withdrawn=True, told=False))
                return True
        return False

    def _unmake(self, key: Key, told: set[int]) -> None:
        """A descriptor is gone: so are the matches that it made, here and along their paths.

        Args:
            key: The descriptor.
            told: Where it was withdrawn already, which is extended.
        """
        matches = [*self._matches.get(key, ())]
        self._answered.update(matches)
        for match in matches:
            other = match.subscriber if key.publisher else match.publisher
            interface = self._trees.towards(other)
            if interface is not None and interface not in told:
                told.add(interface)
                self._updates.append(Update(interface, key, None, withdrawn=True, told=False))
        for match in matches:
            self._release(OURS, match)

    def _counting(self, key: Key) -> list[int]:
        """From where it is held that counts."""
        held, is_from = self._held.get(key), self._trees.is_from
        if held is not None and len(held) == 1 and not key.is_match:
            (interface,) = held
            return [interface] if interface == OURS or is_from(interface, key.owner) else []
        if held is None or (key.is_match and not self._trees.is_between(key.publisher, key.subscriber)):
            return []
        ends = (key.publisher, key.subscriber) if key.is_match else (key.owner,)
        return [i for i in sorted(held) if i == OURS or any(is_from(i, end) for end in ends)]

    def _along(self, key: Key, sources: list[int]) -> frozenset[int]:
        """Where a match goes on: both ways from where it was made, else away from who sent it."""
        found = set[int | None]()
        for end, other in ((key.publisher, key.subscriber), (key.subscriber, key.publisher)):
            if any(s == OURS or self._trees.is_from(s, other) for s in sources):
                found.add(self._trees.towards(end))
        return frozenset(each for each in found if each is not None)

    def _compare(self, key: Key, filter_: bytes | None, counts: bool) -> None:
        """Make the matches of a descriptor that counts. Those it has made stay when it does not."""
        if not counts:
            self._pairs.remove(key)
            return
        for match, wanted in self._pairs.add(key, filter_):
            if self._trees.is_between(match.publisher, match.subscriber):
                self.put(OURS, match, wanted)

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

    def _tell(self, key: Key, filter_: bytes | None, to: frozenset[int], kept: bool = False) -> None:
        before = self._told.get(key, frozenset())
        if to and to == before:
            return
        self._updates += [Update(interface, key, filter_) for interface in sorted(to - before)]
        self._updates += [Update(i, key, None, withdrawn=True, kept=kept) for i in sorted(before - to)]
        if to:
            # Most keys go to one of few sets of interfaces, each of which is kept once.
            self._told[key] = self._sets.setdefault(to, to)
        else:
            self._told.pop(key, None)


def _sort_of(key: Key) -> str:
    """One of `SORTS`."""
    return "MCD" if key.is_match else "PCD" if key.publisher else "SCD"


def _is_sort(key: Key, published: bool) -> bool:
    """Whether it is a PCD, or else whether it is an SCD."""
    return not key.is_match and (key.publisher != 0) is published


class _Pairs:
    """The descriptors that count, and which of them overlap. The kernel compares each filter once.

    While all are of one sort, as on most routers where one sort is broadcast, nothing is compared.
    """

    def __init__(self) -> None:
        self._alone: dict[Key, bytes | None] = {}
        """Those of the one sort that there is, as long as there is none of the other."""
        self._both = False
        """Whether there have been both sorts."""
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
        if not self._both:
            first = next(iter(self._alone), key)
            self._alone[key] = filter_
            if bool(first.publisher) is bool(key.publisher):
                return []
            self._both, alone, self._alone = True, self._alone, {}
            return [match for each in alone.items() for match in self._take(*each)]
        if key in self._published or key in self._wanted or key in self._anything:
            return []
        return self._take(key, filter_)

    def _take(self, key: Key, filter_: bytes | None) -> list[tuple[Key, bytes]]:
        if key.subscriber:
            assert filter_ is not None, "an SCD has a filter"
            return self._want(key, filter_)
        return self._publish(key, filter_)

    def remove(self, key: Key) -> None:
        """A descriptor counts no longer."""
        self._alone.pop(key, None)
        if key in self._wanted:
            filter_ = self._wanted.pop(key)
            del self._by_filter[filter_][key]
            if not self._by_filter[filter_]:
                del self._by_filter[filter_]
            self._overlaps.remove(filter_)
        elif key in self._published:
            number = self._published.pop(key)
            self._overlaps.withdraw(number, self._by_number.pop(number)[1])
        self._anything.pop(key, None)

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
