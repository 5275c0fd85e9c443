"""Patterns of several messages, and which messages make a match (M9, decision 30).

Here: what a pattern consists of, and the reference: the matches of a pattern in all that was published, in
plain Python. Every recogniser is compared with it, and the oracle uses it. Not here: text
(`pattern_syntax`), arrival, memory (`nodes/patterns`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from nodes.model.filters import Predicate, matches
from nodes.model.values import UsageError, Value

SECOND_NS = 1_000_000_000
WINDOW_MAX_NS = 24 * 3600 * SECOND_NS
PARTS_MAX = 32
"""Elementary parts of one pattern."""
DEPTH_MAX = 16
"""How deep expressions may be nested."""
KEEP_DEFAULT = 1_000
KEEP_MAX = 1_000_000
WAIT_DEFAULT_NS = 100_000_000
WAIT_MAX_NS = 60 * SECOND_NS


class TooManyMatchesError(ValueError):
    """There are more matches, or parts of matches, than were asked for."""


class Occurrence(NamedTuple):
    """One published message: its place in the order, which is also its identity."""

    time_ns: int
    """When it was published."""
    source: int
    sequence: int


Components = tuple[Occurrence, ...]
"""A match: the occurrences in the places of the pattern, from left to right."""


class Joint(Enum):
    """How the operands of an expression belong together; the value is the word for it."""

    THEN = "then"
    AND = "and"
    AND_ANOTHER = "and another"
    OR = "or"


class Pairing(Enum):
    """Which matches are told; the value is the word for it."""

    EVERY = "every"
    FIRST = "first"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Part:
    """An elementary part: one message that a predicate matches."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Composed:
    """Operands and how they belong together; operands of the same joint without a window become its own.

    Args:
        joint: Of all operands.
        operands: At least two.
        within_ns: The window; None: none.
    """

    joint: Joint
    operands: tuple[Expression, ...]
    within_ns: int | None = None

    def __post_init__(self) -> None:
        flat: list[Expression] = []
        for operand in self.operands:
            same = isinstance(operand, Composed) and (operand.joint, operand.within_ns) == (self.joint, None)
            flat += operand.operands if isinstance(operand, Composed) and same else (operand,)
        object.__setattr__(self, "operands", tuple(flat))
        if len(flat) < 2:
            raise UsageError(f"{self.joint.value} joins at least two operands")
        _check_window(self.within_ns)


Expression = Part | Composed


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a client seeks. Checked when made: its matches have a bound in time.

    Args:
        expression: Which tuples of messages are matches.
        pairing: Which of them are told.
        keep: How many occurrences a recogniser keeps for each part.
        wait_ns: How long it waits for messages that come late.
    """

    expression: Expression
    pairing: Pairing = Pairing.EVERY
    keep: int = KEEP_DEFAULT
    wait_ns: int = WAIT_DEFAULT_NS
    parts: tuple[Part, ...] = field(init=False, compare=False, repr=False)
    """From left to right."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(parts_of(self.expression)))
        if len(self.parts) > PARTS_MAX:
            raise UsageError(f"a pattern has at most {PARTS_MAX} parts; this has {len(self.parts)}")
        if depth_of(self.expression) > DEPTH_MAX:
            raise UsageError(f"a pattern is nested at most {DEPTH_MAX} deep")
        if not 1 <= self.keep <= KEEP_MAX:
            raise UsageError(f"keep is 1 to {KEEP_MAX} messages a part; got {self.keep}")
        if not 0 <= self.wait_ns <= WAIT_MAX_NS:
            raise UsageError("wait is at most 1 minute")
        if not is_bounded(self.expression):
            raise UsageError("nothing bounds the time between its messages")

    @property
    def union(self) -> Predicate:
        """What matches any of its parts: what has to reach whoever recognises it."""
        return Predicate(filter_ for part in self.parts for filter_ in part.predicate.filters)


def _check_window(within_ns: int | None) -> None:
    if within_ns is None:
        return
    if within_ns == 0:
        raise UsageError("a window of zero: only messages of the same nanosecond would be in it")
    if not 0 < within_ns <= WINDOW_MAX_NS:
        raise UsageError("a window is at most 24 hours")


def parts_of(expression: Expression) -> Iterator[Part]:
    """Its elementary parts, from left to right."""
    if isinstance(expression, Part):
        yield expression
    else:
        for operand in expression.operands:
            yield from parts_of(operand)


def depth_of(expression: Expression) -> int:
    """How deep it is nested; 0: an elementary part."""
    return 0 if isinstance(expression, Part) else 1 + max(depth_of(each) for each in expression.operands)


def is_bounded(expression: Expression) -> bool:
    """Whether all of its matches lie within some time."""
    if isinstance(expression, Part) or expression.within_ns is not None:
        return True
    return expression.joint is Joint.OR and all(is_bounded(each) for each in expression.operands)


def longest_ns(expression: Expression) -> int:
    """The most time between the components of a match of an expression that has such a bound."""
    if isinstance(expression, Part):
        return 0
    if expression.within_ns is not None:
        return expression.within_ns
    return max(longest_ns(each) for each in expression.operands)


def matches_of(
    pattern: Pattern, published: Iterable[tuple[Occurrence, Mapping[str, Value]]]
) -> list[Components]:
    """All matches that are told, in their order, when these messages are published.

    What stands twice under one id counts once, as its earliest occurrence.
    """
    return told(pattern.pairing, every_match(pattern.expression, published))


def every_match(
    expression: Expression,
    published: Iterable[tuple[Occurrence, Mapping[str, Value]]],
    most: int | None = None,
) -> list[Components]:
    """All matches of an expression, in their order.

    Raises:
        TooManyMatchesError: There are more than `most`, or more that part of it has.
    """
    once: dict[tuple[int, int], tuple[Occurrence, Mapping[str, Value]]] = {}
    for occurrence, message in sorted(published, key=lambda each: each[0]):
        once.setdefault((occurrence.source, occurrence.sequence), (occurrence, message))
    found = _Reference(list(once.values()), most).of(expression, None)
    return sorted(set(found), key=order_of)


def told(pairing: Pairing, found: Iterable[Components]) -> list[Components]:
    """Which of all matches, in their order, are told."""
    if pairing is Pairing.EVERY:
        return list(found)
    used: set[Occurrence] = set()
    chosen = []
    for match in found:
        spent = {min(match)} if pairing is Pairing.FIRST else set(match)
        if not used & spent:
            used |= spent
            chosen.append(match)
    return chosen


def order_of(match: Components) -> tuple[Occurrence, Components, Components]:
    """What matches are ordered by: the latest component, then all in order, then by places."""
    return max(match), tuple(sorted(match)), match


class _Reference:
    """The definition, operator by operator, over all messages in order."""

    def __init__(self, published: Sequence[tuple[Occurrence, Mapping[str, Value]]], most: int | None) -> None:
        self._published = published
        self._most = most

    def of(self, expression: Expression, within_ns: int | None) -> list[Components]:
        """All matches; those that are longer than a window around the expression may be left out."""
        if isinstance(expression, Part):
            return [(found,) for found, message in self._published if matches(expression.predicate, message)]
        windows = [each for each in (within_ns, expression.within_ns) if each is not None]
        window_ns = min(windows, default=None)
        operands = (self.of(operand, window_ns) for operand in expression.operands)
        if expression.joint is Joint.OR:
            found = [match for operand in operands for match in operand]
            return [match for match in found if window_ns is None or _span_ns(match) <= window_ns]
        joined = next(operands)
        for operand in operands:
            joined = list(self._at_most(_joined(expression.joint, joined, operand, window_ns)))
        return joined

    def _at_most(self, found: Iterator[Components]) -> Iterator[Components]:
        for number, match in enumerate(found):
            if number == self._most:
                raise TooManyMatchesError(f"there are more than {self._most} matches")
            yield match


def _joined(
    joint: Joint, left: list[Components], right: list[Components], window_ns: int | None
) -> Iterator[Components]:
    # Those on the right by their first component: what is outside of a window is not looked at.
    ordered = sorted(right, key=min)
    begins = [min(match).time_ns for match in ordered]
    for one in left:
        first_ns, last_ns = min(one).time_ns, max(one).time_ns
        earliest = last_ns + 1 if joint is Joint.THEN else None if window_ns is None else last_ns - window_ns
        begin = 0 if earliest is None else bisect_left(begins, earliest)
        end = len(begins) if window_ns is None else bisect_left(begins, first_ns + window_ns + 1)
        for other in ordered[begin:end]:
            if joint is Joint.AND_ANOTHER and not set(one).isdisjoint(other):
                continue
            if window_ns is None or _span_ns(one + other) <= window_ns:
                yield one + other


def _span_ns(match: Components) -> int:
    return max(match).time_ns - min(match).time_ns
