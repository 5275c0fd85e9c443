"""One pattern: takes what its parts match, in order of publication, and finds what each message completes.

A message is the latest of all so far, so it completes the matches whose latest component it is. Earlier
messages are kept by place. An expression is asked for two things: its matches with the message that is just
taken, and those among what is kept.

What a place is filled with may have several components: the match of another monitor.

Not here: what a match is (`nodes.model.patterns`, with which this is compared), order (`recogniser`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from nodes.model.patterns import (
    Components,
    Composed,
    Expression,
    Joint,
    Occurrence,
    Pairing,
    Pattern,
    longest_ns,
    order_of,
)

COMBINATIONS_MAX = 100_000
"""What is looked at for one message."""
FOREVER_NS = 1 << 63


class Piece(NamedTuple):
    """Components of what may become a match, and the time that they span."""

    first_ns: int
    last_ns: int
    components: Components


class _CurtailedError(Exception):
    """More combinations than a monitor looks at."""


class Monitor:
    """Recognises one pattern.

    Args:
        pattern: What is sought.
        places: Which of its expressions are fed, from left to right; None: its elementary parts.
    """

    def __init__(self, pattern: Pattern, places: tuple[Expression, ...] | None = None) -> None:
        self.forgotten = 0
        """Occurrences that were dropped before their window was over, for want of room."""
        self.curtailed = 0
        """Messages for which not all combinations were looked at."""
        self._pairing = pattern.pairing
        self._keep = pattern.keep
        budget = _Budget()
        self._budget = budget
        self._places = tuple(pattern.parts if places is None else places)
        build = _Build(self._places, budget)
        self._root = build.node(pattern.expression)
        self._leaves = build.leaves
        self._completing = frozenset(self._root.completing())
        for leaf in self._root.keeping():
            leaf.keeps = True
        _reach(self._root, 0)
        self._ambiguous = build.has_or
        self._spent: set[Occurrence] = set()
        """By `first` and `once`: what keeps a match from being told."""
        self._spent_until = Occurrence(-FOREVER_NS, 0, 0)
        self._most_spent = 2 * pattern.keep * len(self._leaves)
        self._longest_ns = longest_ns(pattern.expression)

    @property
    def kept(self) -> int:
        """How many occurrences are remembered, each as often as it has places."""
        return sum(len(leaf.kept) for leaf in self._leaves)

    def adopt(self, before: Monitor) -> int:
        """Go on with what another kept for places that are here too; how much else of it is lost."""
        lost = before.kept
        self._spent |= before._spent
        self._spent_until = max(self._spent_until, before._spent_until)
        left = list(self._leaves)
        for place, leaf in zip(before._places, before._leaves, strict=True):
            same = next((each for each in left if self._places[each.place] == place), None)
            if same is not None:
                left.remove(same)
                same.kept = leaf.kept
                lost -= len(leaf.kept)
        return lost

    def take(self, places: Iterable[int], components: Components) -> list[Components]:
        """A message that fills these places, or a match of another monitor; the matches it completes.

        Its latest component must be later than that of all that was taken before.
        """
        return self.take_all([(places, components)])

    def take_all(self, fills: Iterable[tuple[Iterable[int], Components]]) -> list[Components]:
        """As `take`, of all that has the same latest component: a message, and matches that it completed."""
        found: list[Components] = []
        self._budget.left = COMBINATIONS_MAX
        for places, components in fills:
            if len(components) == 1:
                time_ns = components[0].time_ns
                piece = Piece(time_ns, time_ns, components)
            else:
                piece = Piece(min(components).time_ns, max(components).time_ns, components)
            if not self._completing.isdisjoint(places):
                self._complete(piece, frozenset(places), found)
            self._store(piece, places)
        if len(found) > 1:
            found = sorted(set(found) if self._ambiguous else found, key=order_of)
        return found if not found or self._pairing is Pairing.EVERY else self._chosen(found)

    def _complete(self, piece: Piece, places: frozenset[int], found: list[Components]) -> None:
        try:
            found.extend(match.components for match in self._root.ending(piece, places, -FOREVER_NS))
        except _CurtailedError:
            self.curtailed += 1

    def _chosen(self, found: list[Components]) -> list[Components]:
        """What the pairing tells of matches with the same latest component, in their order."""
        told = []
        for match in found:
            spent = match if self._pairing is Pairing.ONCE else (min(match),)
            if min(match) > self._spent_until and self._spent.isdisjoint(spent):
                self._spent.update(spent)
                told.append(match)
        if told and self._pairing is Pairing.ONCE:
            for leaf in self._leaves:
                if leaf.kept:
                    used = self._spent
                    leaf.kept = deque(each for each in leaf.kept if used.isdisjoint(each.components))
        if len(self._spent) > self._most_spent:
            self._forget_spent(max(found[0]).time_ns - self._longest_ns)
        return told

    def _forget_spent(self, from_ns: int) -> None:
        """What is older can be in no match any more; if that is not enough, all of some age is spent."""
        left = sorted(each for each in self._spent if each.time_ns >= from_ns)
        dropped = max(0, len(left) - self._most_spent // 2)
        self.forgotten += dropped
        self._spent_until = left[dropped - 1] if dropped else self._spent_until
        self._spent = set(left[dropped:])

    def _store(self, piece: Piece, places: Iterable[int]) -> None:
        for place in places:
            leaf = self._leaves[place]
            if not leaf.keeps:
                continue
            kept = leaf.kept
            oldest_ns = piece.last_ns - leaf.reach_ns
            while kept and kept[0].last_ns < oldest_ns:
                kept.popleft()
            kept.append(piece)
            if len(kept) > self._keep:
                kept.popleft()
                self.forgotten += 1


class _Budget:
    """How many combinations may still be looked at."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _CurtailedError


class _Leaf:
    """A place that is fed."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.kept: deque[Piece] = deque()
        self.keeps = False
        self.reach_ns = 0
        """How much earlier than the latest message it can be of use."""

    def completing(self) -> Iterator[int]:
        """The places with which a match can end."""
        yield self.place

    def leaves(self) -> Iterator[_Leaf]:
        """All of its places."""
        yield self

    def keeping(self) -> Iterator[_Leaf]:
        """The places of which earlier occurrences are needed to complete a match."""
        return iter(())

    def ending(self, piece: Piece, places: frozenset[int], from_ns: int) -> Iterator[Piece]:
        """Its matches with the message that is taken, with nothing published before `from_ns`."""
        if self.place in places and piece.first_ns >= from_ns:
            yield piece

    def earlier(self, before_ns: int, from_ns: int) -> Iterator[Piece]:
        """Its matches among what is kept, published before one time and not before another."""
        for piece in self.kept:
            if piece.last_ns >= before_ns:
                return
            if piece.first_ns >= from_ns:
                yield piece


class _Joined:
    """Operands of one joint."""

    def __init__(self, operands: list[_Node], within_ns: int | None, budget: _Budget) -> None:
        self.operands = operands
        self.within_ns = within_ns
        self.budget = budget

    def completing(self) -> Iterator[int]:
        for operand in self.operands:
            yield from operand.completing()

    def leaves(self) -> Iterator[_Leaf]:
        for operand in self.operands:
            yield from operand.leaves()

    def keeping(self) -> Iterator[_Leaf]:
        return self.leaves()

    def from_ns(self, last_ns: int, from_ns: int) -> int:
        """What its own window leaves of a bound, for matches that end then."""
        return from_ns if self.within_ns is None else max(from_ns, last_ns - self.within_ns)


class _Then(_Joined):
    def completing(self) -> Iterator[int]:
        return self.operands[-1].completing()

    def keeping(self) -> Iterator[_Leaf]:
        for operand in self.operands[:-1]:
            yield from operand.leaves()
        yield from self.operands[-1].keeping()

    def ending(self, piece: Piece, places: frozenset[int], from_ns: int) -> Iterator[Piece]:
        from_ns = self.from_ns(piece.last_ns, from_ns)
        for tail in self.operands[-1].ending(piece, places, from_ns):
            yield from self._extended(tail, len(self.operands) - 2, from_ns)

    def earlier(self, before_ns: int, from_ns: int) -> Iterator[Piece]:
        for tail in self.operands[-1].earlier(before_ns, from_ns):
            bound_ns = self.from_ns(tail.last_ns, from_ns)
            if tail.first_ns >= bound_ns:
                yield from self._extended(tail, len(self.operands) - 2, bound_ns)

    def _extended(self, tail: Piece, operand: int, from_ns: int) -> Iterator[Piece]:
        """The tail, with all that can stand before it."""
        spend = self.budget.spend
        for head in self.operands[operand].earlier(tail.first_ns, from_ns):
            spend()
            joined = Piece(head.first_ns, tail.last_ns, head.components + tail.components)
            if operand:
                yield from self._extended(joined, operand - 1, from_ns)
            else:
                yield joined


class _And(_Joined):
    def __init__(
        self, operands: list[_Node], within_ns: int | None, budget: _Budget, *, another: bool
    ) -> None:
        super().__init__(operands, within_ns, budget)
        self.another = another

    def ending(self, piece: Piece, places: frozenset[int], from_ns: int) -> Iterator[Piece]:
        from_ns = self.from_ns(piece.last_ns, from_ns)
        with_it = [list(each.ending(piece, places, from_ns)) for each in self.operands]
        if not any(with_it):
            return
        without = [list(self._spent(each.earlier(FOREVER_NS, from_ns))) for each in self.operands]
        # The first operand that has the message in it; those before it do without.
        for first in range(len(self.operands)):
            if with_it[first]:
                either = [a + b for a, b in zip(with_it[first + 1 :], without[first + 1 :], strict=True)]
                yield from self._combined([*without[:first], with_it[first], *either])

    def earlier(self, before_ns: int, from_ns: int) -> Iterator[Piece]:
        yield from self._combined([list(self._spent(e.earlier(before_ns, from_ns))) for e in self.operands])

    def _spent(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self.budget.spend()
            yield piece

    def _combined(self, choices: list[list[Piece]]) -> Iterator[Piece]:
        """One of each, within the window."""
        if not all(choices):
            return
        yield from self._onward(choices, 1, choices[0])

    def _onward(self, choices: list[list[Piece]], at: int, pieces: list[Piece]) -> Iterator[Piece]:
        if at == len(choices):
            yield from pieces
            return
        for one in pieces:
            joined = [each for other in choices[at] if (each := self._both(one, other)) is not None]
            yield from self._onward(choices, at + 1, joined)

    def _both(self, one: Piece, other: Piece) -> Piece | None:
        self.budget.spend()
        first_ns, last_ns = min(one.first_ns, other.first_ns), max(one.last_ns, other.last_ns)
        if self.within_ns is not None and last_ns - first_ns > self.within_ns:
            return None
        if self.another and not set(one.components).isdisjoint(other.components):
            return None
        return Piece(first_ns, last_ns, one.components + other.components)


class _Or(_Joined):
    def keeping(self) -> Iterator[_Leaf]:
        for operand in self.operands:
            yield from operand.keeping()

    def ending(self, piece: Piece, places: frozenset[int], from_ns: int) -> Iterator[Piece]:
        from_ns = self.from_ns(piece.last_ns, from_ns)
        for operand in self.operands:
            yield from operand.ending(piece, places, from_ns)

    def earlier(self, before_ns: int, from_ns: int) -> Iterator[Piece]:
        for operand in self.operands:
            for piece in operand.earlier(before_ns, from_ns):
                if self.within_ns is None or piece.last_ns - piece.first_ns <= self.within_ns:
                    yield piece


_Node = _Leaf | _Then | _And | _Or


class _Build:
    """Makes nodes of an expression."""

    def __init__(self, places: tuple[Expression, ...], budget: _Budget) -> None:
        self._places = places
        self._budget = budget
        self._next = count()
        self.leaves: list[_Leaf] = []
        self.has_or = False

    def node(self, expression: Expression) -> _Node:
        # Places are fed in their order, so the next one is either here or to the right of here.
        at = len(self.leaves)
        if at < len(self._places) and self._places[at] is expression:
            leaf = _Leaf(next(self._next))
            self.leaves.append(leaf)
            return leaf
        assert isinstance(expression, Composed), "all parts are places, or within one"
        operands = [self.node(each) for each in expression.operands]
        match expression.joint:
            case Joint.THEN:
                return _Then(operands, expression.within_ns, self._budget)
            case Joint.OR:
                self.has_or = True
                return _Or(operands, expression.within_ns, self._budget)
        another = expression.joint is Joint.AND_ANOTHER
        return _And(operands, expression.within_ns, self._budget, another=another)


def _reach(node: _Node, around_ns: int) -> None:
    """Note at each place how long it is of use: as long as the outermost window around it."""
    if isinstance(node, _Leaf):
        node.reach_ns = around_ns
    else:
        for operand in node.operands:
            _reach(operand, around_ns or node.within_ns or 0)
