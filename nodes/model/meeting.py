"""What a router holds of descriptors and matches, and whom it tells of them (MM 2, 5.4; decision 31).

The judge of `fastpath.meeting`: the same decisions, plainly, without bytes and without speed. Not here: the
trees and the marks of links, which `Ways` knows, and digests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nodes.model.covering import advertisement_overlaps
from nodes.model.filters import Filter

OURS = -1
"""In the place of an interface: our own descriptors, and the matches made here."""


class Key(NamedTuple):
    """A PCD (no subscriber), an SCD (no publisher), or a match."""

    publisher: int
    pcd: int
    subscriber: int
    scd: int

    @property
    def is_match(self) -> bool:
        """Whether it has both."""
        return self.publisher != 0 and self.subscriber != 0

    @property
    def owner(self) -> int:
        """Of a PCD or SCD: the router whose it is."""
        return self.publisher or self.subscriber

    @property
    def descriptors(self) -> tuple[Key, Key]:
        """Of a match: its PCD and its SCD."""
        return Key(self.publisher, self.pcd, 0, 0), Key(0, 0, self.subscriber, self.scd)


class Ways(Protocol):
    """Where things come from and go at a router."""

    node: int

    def towards(self, router: int) -> int | None:
        """The interface towards a router; None if it is we, or cannot be reached."""

    def is_from(self, interface: int, router: int) -> bool:
        """Whether an interface leads to the neighbour that is next on the way to a router."""

    def is_between(self, publisher: int, subscriber: int) -> bool:
        """Whether we are on the path from one to another."""

    def spread(self, key: Key) -> set[int]:
        """Where a PCD goes on over p-links, and an SCD over s-links."""


@dataclass(frozen=True)
class Update:
    """Something is told to a neighbour, or withdrawn from it."""

    interface: int
    key: Key
    filter: Filter | None = None
    withdrawn: bool = False
    kept: bool = False
    """Of one withdrawn: the matches that it made stay."""
    again: bool = False


class Meeting:
    """What is held, what counts of it, and what neighbours have been told."""

    def __init__(self, ways: Ways) -> None:
        self.held: dict[Key, dict[int, Filter | None]] = {}
        """By key, the filter it has from each interface."""
        self.told: dict[Key, set[int]] = {}
        """By key, the interfaces on which it was told."""
        self.forwarded: dict[Key, Filter] = {}
        """By match, the filter by which messages are sent towards its subscriber."""
        self._ways = ways
        self._counting: dict[Key, Filter | None] = {}
        self._concerned: set[Key] = set()
        self._gone: set[Key] = set()
        self._answered: set[Key] = set()
        self._updates: list[Update] = []

    def put(self, interface: int, key: Key, filter_: Filter | None) -> bool:
        """Something has come; whether it was not held from there."""
        held = self.held.setdefault(key, {})
        if interface in held:
            return False
        held[interface] = filter_
        self._concerned.add(key)
        return True

    def take_back(self, interface: int, key: Key, kept: bool = False) -> bool:
        """Something is withdrawn; whether anything was known of it.

        A descriptor that its router has withdrawn (not `kept`) takes the matches with it that it has made.
        """
        known = self._release(interface, key)
        if key.is_match or kept or not (known or self._matches_of(key)):
            return known
        from_owner = interface == OURS or self._ways.is_from(interface, key.owner)
        if from_owner:
            self._gone.add(key)
            self._concerned.add(key)
        return known or from_owner

    def unmake(self, match: Key) -> None:
        """A match counts as made here no longer."""
        self._release(OURS, match)

    def still_makes(self, match: Key) -> bool:
        """Whether both descriptors of a match count here."""
        return all(self._sources(descriptor) for descriptor in match.descriptors)

    def again(self, interface: int, key: Key) -> None:
        """Something that is held is told again there, or is ours: tell it on where it was told before."""
        if interface in self._sources(key):
            told = self.told.get(key, set())
            to = told & self._along(key, [interface]) if key.is_match else told
            filter_ = self.held[key][interface]
            self._updates += [Update(each, key, filter_, again=True) for each in sorted(to)]

    def lose(self, interface: int) -> None:
        """A link is gone: what came over it is void, and what was told there too."""
        for key in [key for key, held in self.held.items() if interface in held]:
            self._release(interface, key)
        for told in self.told.values():
            told.discard(interface)

    def forget_held(self, interface: int, published: bool) -> None:
        """No PCDs (or SCDs) come over a link any more, which both ends know; the matches they made stay."""
        for key in [k for k, held in self.held.items() if interface in held and _is_sort(k, published)]:
            self._release(interface, key)

    def forget_told(self, interface: int, published: bool) -> None:
        """No PCDs (or SCDs) are told over a link any more, which both ends know."""
        for key in [k for k, told in self.told.items() if interface in told and _is_sort(k, published)]:
            self.told[key].discard(interface)
            self._concerned.add(key)

    def reconsider(self, published: bool) -> None:
        """A link may carry PCDs (or SCDs) now that did not."""
        self._concerned.update(key for key in self.held if _is_sort(key, published))

    def turn(self) -> None:
        """The trees, or those who publish and subscribe, are others now."""
        self._counting.clear()
        for key in [key for key, held in self.held.items() if key.is_match and OURS in held]:
            if not self._ways.is_between(key.publisher, key.subscriber):
                self._release(OURS, key)
        self._concerned.update(self.held, self.told)

    def settle(self) -> list[Update]:
        """What is to be told, after all that has happened since."""
        while self._concerned:
            descriptors = {key for key in self._concerned if not key.is_match}
            now = descriptors or self._concerned
            self._concerned = self._concerned - now
            for key in sorted(now):
                self._settle(key)
        updates, self._updates = self._updates, []
        self._answered.clear()
        return updates

    def _settle(self, key: Key) -> None:
        sources = self._sources(key)
        if key.is_match:
            if sources and self._refute(key):
                sources = []
            filter_ = self.held[key][sources[0]] if sources else None
            self._forward(key, filter_)
            self._tell(key, filter_, self._along(key, sources))
            return
        filter_ = self.held[key][sources[0]] if sources else None
        gone = key in self._gone and not sources
        self._gone.discard(key)
        self._compare(key, filter_, bool(sources))
        mark = len(self._updates)
        self._tell(key, filter_, self._ways.spread(key) if sources else set(), kept=not gone)
        if gone:
            self._withdraw_matches(key, {update.interface for update in self._updates[mark:]})

    def _sources(self, key: Key) -> list[int]:
        """From where it is held that counts."""
        if key.is_match and not self._ways.is_between(key.publisher, key.subscriber):
            return []
        ends = [end for end in (key.publisher, key.subscriber) if end]
        held = sorted(self.held.get(key, {}))
        return [i for i in held if i == OURS or any(self._ways.is_from(i, end) for end in ends)]

    def _along(self, key: Key, sources: list[int]) -> set[int]:
        """Where a match goes on: both ways from where it was made, else away from who sent it."""
        found = set()
        for end, other in ((key.publisher, key.subscriber), (key.subscriber, key.publisher)):
            interface = self._ways.towards(end)
            comes = any(source == OURS or self._ways.is_from(source, other) for source in sources)
            if comes and interface is not None:
                found.add(interface)
        return found

    def _refute(self, match: Key) -> bool:
        """Whether it is a match of a descriptor of ours that there is no more; whoever made it is told so."""
        for descriptor, other in zip(match.descriptors, (match.subscriber, match.publisher), strict=True):
            if descriptor.owner == self._ways.node and OURS not in self.held.get(descriptor, {}):
                interface = self._ways.towards(other)
                if interface is not None and match not in self._answered:
                    self._updates.append(Update(interface, descriptor, withdrawn=True))
                return True
        return False

    def _compare(self, key: Key, filter_: Filter | None, counts: bool) -> None:
        """Make the matches of a descriptor that counts. Those it has made stay when it does not."""
        if not counts:
            self._counting.pop(key, None)
        elif key not in self._counting:
            self._counting[key] = filter_
            for other in sorted(self._counting):
                self._make_match(*((key, other) if key.publisher else (other, key)))

    def _make_match(self, pcd: Key, scd: Key) -> None:
        if not pcd.publisher or not scd.subscriber or pcd.publisher == scd.subscriber:
            return
        offered, wanted = self._counting[pcd], self._counting[scd]
        assert wanted is not None, "an SCD has a filter"
        between = self._ways.is_between(pcd.publisher, scd.subscriber)
        if between and (offered is None or advertisement_overlaps(offered, wanted)):
            self.put(OURS, Key(pcd.publisher, pcd.pcd, scd.subscriber, scd.scd), wanted)

    def _forward(self, match: Key, filter_: Filter | None) -> None:
        if filter_ is not None and self._ways.towards(match.subscriber) is not None:
            self.forwarded[match] = filter_
        else:
            self.forwarded.pop(match, None)

    def _tell(self, key: Key, filter_: Filter | None, to: set[int], kept: bool = False) -> None:
        before = self.told.pop(key, set())
        self._updates += [Update(interface, key, filter_) for interface in sorted(to - before)]
        self._updates += [Update(each, key, withdrawn=True, kept=kept) for each in sorted(before - to)]
        if to:
            self.told[key] = set(to)

    def _withdraw_matches(self, key: Key, told: set[int]) -> None:
        """A descriptor is gone: so are the matches that it made, here and along their paths.

        Args:
            key: The descriptor.
            told: Where it was withdrawn already.
        """
        matches = self._matches_of(key)
        self._answered.update(matches)
        for match in matches:
            interface = self._ways.towards(match.subscriber if key.publisher else match.publisher)
            if interface is not None and interface not in told:
                told.add(interface)
                self._updates.append(Update(interface, key, withdrawn=True))
        for match in matches:
            self._release(OURS, match)

    def _matches_of(self, descriptor: Key) -> list[Key]:
        return sorted(key for key in self.held if key.is_match and descriptor in key.descriptors)

    def _release(self, interface: int, key: Key) -> bool:
        held = self.held.get(key, {})
        if interface not in held:
            return False
        del held[interface]
        if not held:
            del self.held[key]
        self._concerned.add(key)
        return True


def _is_sort(key: Key, published: bool) -> bool:
    """Whether it is a PCD, or else whether it is an SCD."""
    return not key.is_match and (key.publisher != 0) is published
