"""The posets of Siena, and where each filter is forwarded (ADR 3.4, 3.5; P_S and P_A: S1-S3, E15).

A poset holds subscriptions or advertisements; it knows nothing of the difference but which covers which
(`siena_relations`). What is said here of subscriptions holds of advertisements as well.

The poset holds immediate relations only (S1). Who subscribed to a filter is an
interface, to a neighbour or to a client of ours. A filter is known by what
`reduce` of its relation makes of it. Of two that say the same in other
words, the lesser bytes count as the cover of the other, so the order is strict.

Of what one subscriber holds, only what nothing else of its covers is in the
poset (S2). The rest is remembered: it comes back when its cover is withdrawn
(E15). So no chain in the poset has more filters than there are subscribers, and
the relations of a new filter are found by one look into the roots of each
(`Holding`) instead of a walk through the poset.

With `open(f)` for the neighbours on some tree of an original subscriber,
equation (1) is

    forwards(f) = open(f) - reach(predecessors)
    reach(f)    = open(f) + reach(predecessors)

as bit masks of interfaces, where open(f) = neighbors - NST(f). What is forwarded
to one neighbour is thereby an antichain: the roots of what may go there (S3).

Not here: trees (`siena_trees`), messages (`siena_messages`), matching
(`tests/routing/poset_match.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fastpath import cover
from nodes.routing.predicates import NOTHING, filters_of


class Node:
    """A filter in the poset."""

    __slots__ = ("above", "below", "filter", "forwards", "open", "reach", "subscribers")

    def __init__(self, filter_: bytes) -> None:
        self.filter = filter_
        self.subscribers = 0
        """The interfaces that subscribed to it, as a mask."""
        self.above: set[Node] = set()
        """Its immediate predecessors: what covers it."""
        self.below: set[Node] = set()
        """Its immediate successors: what it covers."""
        self.open = 0
        """The interfaces to neighbours on a tree of an original subscriber."""
        self.reach = 0
        """The interfaces on which it, or what covers it, was forwarded."""
        self.forwards = 0
        """The interfaces on which it was forwarded itself."""


class Forwarding(NamedTuple):
    """Where a filter was forwarded and where it is now, as masks; all zeros of one that is gone."""

    filter: bytes
    before: int
    after: int


Roots = tuple[list[bytes], list[bytes]]
"""(Filters that became roots of what a subscriber holds, filters that ceased to be)."""


class Holding:
    """The filters of one subscriber of the poset, and how a filter relates to them (S1, S2, E15).

    Only the roots are in the poset (S2: a filter that another one of the same subscriber covers
    has no effect, or loses the subscriber). The rest is remembered, since it is to come back when
    its cover is withdrawn (E15).

    The roots are also the poset's index. They are an antichain, so a filter is covered by some of
    them, or covers some, or neither, and `fastpath.cover` finds which without comparing it with each.
    """

    def __init__(self, make_set: Callable[[], cover.CoveringSet]) -> None:
        self._make_set = make_set
        self._filters = make_set()
        self._roots: cover.CoveringSet | None = None
        """The roots alone, if there is anything else."""

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, filters: Iterable[bytes]) -> None:
        """It subscribed to these; to one twice if it asked for it twice."""
        for filter_ in filters:
            self._filters.add(filter_)

    def remove(self, filters: Iterable[bytes]) -> None:
        """It withdrew these.

        Raises:
            KeyError: It holds no such filter.
        """
        for filter_ in filters:
            self._filters.remove(filter_)

    def changes(self) -> tuple[list[bytes], list[bytes]]:
        """(Filters that became roots, that ceased to be) since this was last asked, ascending."""
        became, ceased = self._filters.changes()
        if self._filters.root_count() == len(self._filters):
            self._roots = None
        elif self._roots is None:
            self._roots = self._make_set()
            for filter_ in filters_of(self._filters.roots()):
                self._roots.add(filter_)
            self._roots.changes()
        else:
            for filter_ in ceased:
                self._roots.remove(filter_)
            for filter_ in became:
                self._roots.add(filter_)
            self._roots.changes()
        return became, ceased

    def roots(self) -> bytes:
        """What it wants, encoded and reduced."""
        return self._filters.roots()

    def relations(self, filter_: bytes) -> tuple[list[bytes], list[bytes]]:
        """The roots that cover a filter, and those that it covers; to be asked after `changes`."""
        return _relations(self._filters if self._roots is None else self._roots, filter_)


def _relations(roots: cover.CoveringSet, filter_: bytes) -> tuple[list[bytes], list[bytes]]:
    """By putting the filter in for a moment: what covers it is what must go for it to be a root."""
    if roots.add(filter_):
        _, covered = roots.changes()
        roots.remove(filter_)
        roots.changes()
        return [], covered
    covers, removed = [], []
    while (found := roots.cover_of(filter_)) is not None:
        covers.append(found)
        while found in roots:
            roots.remove(found)
            removed.append(found)
    for each in removed:
        roots.add(each)
    roots.remove(filter_)
    roots.changes()
    return covers, []


class Poset:
    """P_S or P_A of one router.

    Args:
        open_to: The interfaces on which what a subscriber asked for may be forwarded:
            neighbors - NST, for the original subscribers of this filter behind this interface (E15).
        make_set: Makes sets of what it holds, which know what covers what.
    """

    def __init__(
        self,
        open_to: Callable[[int, bytes], int],
        make_set: Callable[[], cover.CoveringSet] = cover.PredicateSet,
    ) -> None:
        self.nodes: dict[bytes, Node] = {}
        self._make_set = make_set
        self._open_to = open_to
        self._held: dict[int, Holding] = {}
        self._before: dict[bytes, int] = {}

    def subscribe(self, subscriber: int, filters: Iterable[bytes]) -> Roots:
        """Take subscriptions (S2: `subscribe(U, f)` for each); how U's roots changed.

        Case 1: something of U's covers f: it is only remembered. Case 2: f is there: U is added.
        Case 3: f is inserted. In 2 and 3, what f covers loses U, and goes if U was the last.

        Args:
            subscriber: U.
            filters: As `reduce_filter` makes them. One that U has asked for before counts twice.
        """
        if subscriber not in self._held:
            self._held[subscriber] = Holding(self._make_set)
        held = self._held[subscriber]
        held.add(filters)
        return self._follow(subscriber, held)

    def unsubscribe(self, subscriber: int, filters: Iterable[bytes]) -> Roots:
        """Withdraw these filters, and no other; what they alone covered takes their place (E15).

        Raises:
            KeyError: The subscriber holds no such filter.
        """
        held = self._held[subscriber]
        held.remove(filters)
        changed = self._follow(subscriber, held)
        if not len(held):
            del self._held[subscriber]
        return changed

    def redirect(self) -> None:
        """The trees are others now: find anew where every filter is forwarded."""
        for node in self.nodes.values():
            self._settle(node)

    def reconsider(self, filter_: bytes) -> None:
        """The original subscribers of a filter may be others now."""
        if filter_ in self.nodes:
            self._note(self.nodes[filter_])
            self._settle(self.nodes[filter_])

    def held(self, subscriber: int) -> bytes:
        """What a subscriber wants, encoded and reduced: the table at its interface (ADR 2.2)."""
        return self._held[subscriber].roots() if subscriber in self._held else NOTHING

    @property
    def empty(self) -> bool:
        """Whether nobody holds anything."""
        return not self._held

    def take_forwardings(self) -> list[Forwarding]:
        """What was looked at since last asked, ascending, with where it is forwarded."""
        noted, self._before = self._before, {}
        return [Forwarding(f, before, self._forwards(f)) for f, before in sorted(noted.items())]

    def roots(self) -> list[Node]:
        """The filters without predecessors, ascending: only they cause traffic (S1)."""
        return [self.nodes[f] for f in sorted(self.nodes) if not self.nodes[f].above]

    def _forwards(self, filter_: bytes) -> int:
        return self.nodes[filter_].forwards if filter_ in self.nodes else 0

    def _follow(self, subscriber: int, held: Holding) -> Roots:
        became, ceased = held.changes()
        for filter_ in ceased:
            self._leave(filter_, subscriber)
        for filter_ in became:
            self._enter(filter_, subscriber)
        return became, ceased

    def _enter(self, filter_: bytes, subscriber: int) -> None:
        node = self.nodes.get(filter_)
        if node is None:
            node = self.nodes[filter_] = Node(filter_)
            self._insert(node, *self._relations(filter_, subscriber))
        node.subscribers |= 1 << subscriber
        self._note(node)
        self._settle(node)

    def _leave(self, filter_: bytes, subscriber: int) -> None:
        node = self.nodes[filter_]
        node.subscribers &= ~(1 << subscriber)
        self._note(node)
        if node.subscribers:
            self._settle(node)
        else:
            self._remove(node)

    def _relations(self, filter_: bytes, subscriber: int) -> tuple[set[Node], set[Node]]:
        """What covers a filter and what it covers; nothing of its own subscriber does, or stays."""
        above: set[Node] = set()
        below: set[Node] = set()
        for other, held in self._held.items():
            if other != subscriber:
                covers, covered = held.relations(filter_)
                above.update(self.nodes[f] for f in covers)
                below.update(self.nodes[f] for f in covered)
        return above, below - _with_all_above(above)

    def _insert(self, node: Node, above: set[Node], below: set[Node]) -> None:
        """Put a filter between its immediate predecessors and successors."""
        node.above = {each for each in above if each.below.isdisjoint(above)}
        node.below = {each for each in below if each.above.isdisjoint(below)}
        for each in node.below:
            for common in each.above & node.above:
                common.below.discard(each)
            each.above -= node.above
            each.above.add(node)
        for each in node.above:
            each.below.add(node)

    def _remove(self, node: Node) -> None:
        del self.nodes[node.filter]
        for each in node.above:
            each.below.discard(node)
        for each in node.below:
            each.above.discard(node)
            between = _with_all_above(each.above)
            for cover_ in node.above - between:
                each.above.add(cover_)
                cover_.below.add(each)
            self._settle(each)

    def _settle(self, node: Node) -> None:
        """Equation (1) for a filter, and for what it covers as far as that makes a difference."""
        node.open = 0
        for interface in interfaces(node.subscribers):
            node.open |= self._open_to(interface, node.filter)
        waiting = [node]
        while waiting:
            node = waiting.pop()
            hidden = 0
            for each in node.above:
                hidden |= each.reach
            if node.forwards != node.open & ~hidden:
                self._note(node)
                node.forwards = node.open & ~hidden
            if node.reach != node.open | hidden:
                node.reach = node.open | hidden
                waiting.extend(node.below)

    def _note(self, node: Node) -> None:
        self._before.setdefault(node.filter, node.forwards)


def interfaces(mask: int) -> Iterator[int]:
    """The interfaces of a mask, ascending."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _with_all_above(nodes: Iterable[Node]) -> set[Node]:
    """These and all that covers them.

    Covering is not always found between string patterns (`docs/covering.md`), so what is found need not be
    transitive. Whoever stands above a filter is not put below it, whatever the test says: no circles.
    """
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.above)
    return found
