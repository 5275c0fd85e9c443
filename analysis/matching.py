"""Which predicates many messages match, found for all of them at once over columns.

A value of an attribute has a place among the constants of all constraints on that name and type: at one of
them, or between two. A comparison holds for a range of places, so that all comparisons with all values are
comparisons of small integers. What prefixes, suffixes and substrings a string has is looked up by their
lengths. Of each filter only those messages are looked at that satisfy its most selective constraint: the work
grows with what almost matches, and not with filters times messages.

No code is shared with the forwarding engine. Nothing is asked of the reference model here: `dues` and tests
hold what is found to it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Lists, Numbers, ranges
from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, Value

Flags = NDArray[np.bool_]
_NOWHERE, _ABSENT, _UNORDERED = -3, -2, -1
"""Places that nothing has, of what is not there, and of what no constant compares with: a NaN."""
_LAST = 2**31 - 1
_PATTERNS = (Op.PREFIX, Op.SUFFIX, Op.SUBSTRING)
_CLASSES: dict[Type, type] = {
    Type.STRING: str, Type.INTEGER: int, Type.FLOAT: float, Type.BOOLEAN: bool, Type.TIME: Time
}  # fmt: skip
PLACES_AT_ONCE = 1 << 25
"""So many places are kept: messages at once, times columns."""
MOST_AT_ONCE = 1 << 14
"""Messages."""
CANDIDATES_AT_ONCE = 1 << 20
"""Pairs of a message and a filter that may match."""
MOST_KEPT = 1 << 16
"""Strings of a column of which it is remembered where they stand."""


class TooMuchError(Exception):
    """More pairs of a message and a filter would have to be looked at than was allowed."""


class _Column:
    """The values of one name and type, and the constraints on them, which have numbers."""

    def __init__(self, kind: Type, constraints: Sequence[tuple[int, Constraint]]) -> None:
        self.kind = kind
        compared = (c.value for _, c in constraints if c.op not in _PATTERNS and c.value is not None)
        self._constants = sorted({*map(_comparable, compared)})
        self._array: NDArray[Any] = np.array(() if kind is Type.STRING else self._constants, _dtype(kind))
        self._patterns: dict[tuple[Op, int], dict[str, int]] = {}
        for number, constraint in constraints:
            if constraint.op in _PATTERNS:
                text = str(constraint.value)
                self._patterns.setdefault((constraint.op, len(text)), {})[text] = number
        self._known: dict[str, tuple[int, tuple[int, ...]]] = {}

    def range_of(self, constraint: Constraint) -> tuple[int, int, int]:
        """The first and the last place for which it holds, and one between them for which it does not."""
        if constraint.op in _PATTERNS or constraint.value is None:
            return _UNORDERED, _LAST, _NOWHERE
        at = 2 * bisect_left(self._constants, _comparable(constraint.value)) + 1
        ranges: dict[Op, tuple[int, int, int]] = {
            Op.EQ: (at, at, _NOWHERE),
            Op.NE: (_UNORDERED, _LAST, at),
            Op.LT: (0, at - 1, _NOWHERE),
            Op.LE: (0, at, _NOWHERE),
            Op.GT: (at + 1, _LAST, _NOWHERE),
            Op.GE: (at, _LAST, _NOWHERE),
        }
        return ranges[constraint.op]

    def places(self, values: Sequence[Any]) -> tuple[NDArray[Any], Sequence[tuple[int, ...]]]:
        """Of each value its place; of each string the patterns that it has."""
        if self.kind is Type.STRING:
            found = [self._of_string(value) for value in values]
            return np.array([place for place, _ in found]), [held for _, held in found]
        numbers = [value.ns for value in values] if self.kind is Type.TIME else values
        array: NDArray[Any] = np.array(numbers, _dtype(self.kind))
        places = np.searchsorted(self._array, array, "left") + np.searchsorted(self._array, array, "right")
        return np.where(array == array, places, _UNORDERED), ()  # noqa: PLR0124 (NaN is not equal to itself)

    def _of_string(self, text: str) -> tuple[int, tuple[int, ...]]:
        found = self._known.get(text)
        if found is None:
            if len(self._known) == MOST_KEPT:
                self._known.clear()
            place = bisect_left(self._constants, text) + bisect_right(self._constants, text)
            found = self._known[text] = (place, tuple(self._held(text)))
        return found

    def _held(self, text: str) -> set[int]:
        """The patterns that a string has."""
        return {
            numbers[part]
            for (op, length), numbers in self._patterns.items()
            for part in _parts(op, text, length)
            if part in numbers
        }


def _parts(op: Op, text: str, length: int) -> Iterable[str]:
    """The parts of that length where a pattern may stand; shorter ones if there are none."""
    if op is Op.PREFIX:
        return (text[:length],)
    if op is Op.SUFFIX:
        return (text[max(0, len(text) - length) :],)
    return (text[begin : begin + length] for begin in range(len(text) - length + 1))


def _comparable(value: Any) -> Any:
    return value.ns if isinstance(value, Time) else value


def _dtype(kind: Type) -> type:
    return np.float64 if kind is Type.FLOAT else np.int64


class _Filters:
    """Filters that are not empty: the numbers of their constraints, in a table for each size."""

    def __init__(self, constraints: Sequence[Sequence[int]]) -> None:
        sizes = np.array([len(each) for each in constraints], np.int64)
        self._by_size = [np.flatnonzero(sizes == size) for size in np.unique(sizes).tolist()]
        self._rows = [np.array([constraints[at] for at in of.tolist()], np.int64) for of in self._by_size]

    def possible(self, hits: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Filters of which every constraint holds of some message; their constraints, those of fewest first.

        Args:
            hits: Of how many messages each constraint holds.
        """
        for filters, rows in zip(self._by_size, self._rows, strict=True):
            some = hits[rows].min(axis=1) > 0
            constraints = rows[some]
            order = np.argsort(hits[constraints], axis=1, kind="stable")
            yield filters[some], np.take_along_axis(constraints, order, axis=1)


class Matcher:
    """Finds the predicates that messages match.

    Args:
        predicates: Which are named by their positions.
        most_candidates: How many pairs of a message and a filter may be looked at; None: any number.
    """

    def __init__(self, predicates: Sequence[Predicate], most_candidates: int | None = None) -> None:
        numbers: dict[Filter, int] = {}
        for each in sorted({f for p in predicates for f in p.filters}, key=lambda f: not f.constraints):
            numbers[each] = len(numbers)
        owners = [(numbers[f], at) for at, p in enumerate(predicates) for f in p.filters]
        self._owners = Lists.of_pairs(owners, len(numbers))
        self._predicates = max(1, len(predicates))
        self._left = most_candidates
        known: dict[Constraint, int] = {}
        filters = [[known.setdefault(c, len(known)) for c in f.constraints] for f in numbers if f.constraints]
        self._everything = np.arange(len(filters), len(numbers))
        self._filters = _Filters(filters)
        self._index(known)

    def _index(self, known: Mapping[Constraint, int]) -> None:
        """Of each constraint: its column, and the places for which it holds."""
        columns: dict[tuple[str, Type], list[tuple[int, Constraint]]] = {}
        for constraint, number in known.items():
            columns.setdefault((constraint.name, constraint.type), []).append((number, constraint))
        self._columns: dict[tuple[str, type], tuple[int, _Column]] = {}
        self._test = np.zeros((len(known), 4), np.int32)
        for at, ((name, kind), of) in enumerate(columns.items()):
            column = _Column(kind, of)
            self._columns[name, _CLASSES[kind]] = (at, column)
            for number, constraint in of:
                self._test[number] = (at, *column.range_of(constraint))
        self._pattern = np.array([c.op in _PATTERNS for c in known], bool)

    @property
    def at_once(self) -> int:
        """How many messages are best looked at together."""
        return max(1, min(MOST_AT_ONCE, PLACES_AT_ONCE // max(1, len(self._columns))))

    def pairs(self, messages: Sequence[Mapping[str, Value] | None]) -> tuple[Numbers, Numbers]:
        """Positions of messages and of predicates that they match, ascending; None matches nothing.

        Raises:
            TooMuchError: It has become too much work.
        """
        found = [
            (begin + rows, predicates)
            for begin in range(0, len(messages), self.at_once)
            for rows, predicates in (self._pairs(messages[begin : begin + self.at_once]),)
        ]
        none = np.empty(0, np.int64)
        rows, predicates = zip(*found, strict=True) if found else ((none,), (none,))
        return np.concatenate(rows), np.concatenate(predicates)

    def _pairs(self, messages: Sequence[Mapping[str, Value] | None]) -> tuple[Numbers, Numbers]:
        table = self._table(messages)
        any_message = np.array([at for at, message in enumerate(messages) if message is not None], np.int64)
        of_everything = np.repeat(self._everything, len(any_message))
        matched = [(np.tile(any_message, len(self._everything)), of_everything), *self._matched(table)]
        rows, filters = (np.concatenate(columns) for columns in zip(*matched, strict=True))
        at, predicates = self._owners.expand(filters)
        both: Numbers = np.unique(rows[at] * self._predicates + predicates)
        return both // self._predicates, both % self._predicates

    def _table(self, messages: Sequence[Mapping[str, Value] | None]) -> _Table:
        """The places of all values, and who has them."""
        found: list[tuple[list[int], list[Value]]] = [([], []) for _ in self._columns]
        columns = {key: found[at] for key, (at, _) in self._columns.items()}
        for row, message in enumerate(messages):
            for name, value in () if message is None else message.items():
                column = columns.get((name, type(value)))
                if column is not None:
                    column[0].append(row)
                    column[1].append(value)
        table = _Table(len(self._columns), len(messages))
        for (at, column_of), (rows, values) in zip(self._columns.values(), found, strict=True):
            if rows:
                table.put(at, np.array(rows), *column_of.places(values))
        table.close()
        return table

    def _matched(self, table: _Table) -> Iterator[tuple[Numbers, Numbers]]:
        """Rows and filters, those that match."""
        column, low, high, _ = self._test.T.astype(np.int64)
        begin, end = table.slices(column, low, high)
        of_patterns = np.flatnonzero(self._pattern)
        begin[of_patterns], end[of_patterns] = table.pattern_slices(of_patterns)
        hits = end - begin
        for filters, constraints in self._filters.possible(hits):
            sizes = hits[constraints[:, 0]]
            for some in _of_bounded_sum(sizes, CANDIDATES_AT_ONCE):
                self._spend(int(sizes[some].sum()))
                rows = table.who(ranges(begin[constraints[some, 0]], sizes[some]))
                at, rows = self._tested(table, constraints[some], rows, sizes[some])
                yield rows, filters[some][at]

    def _tested(
        self, table: _Table, constraints: Numbers, rows: Numbers, sizes: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Of candidates, so many for each row of constraints, those of which every constraint holds."""
        at = np.repeat(np.arange(len(sizes)), sizes)
        for nth in range(constraints.shape[1]):
            # The first was chosen by its range alone.
            if nth or (self._test[constraints[:, 0], 3] != _NOWHERE).any():
                kept = self._holds(table, constraints[:, nth][at], rows)
                at, rows = at[kept], rows[kept]
        return at, rows

    def _holds(self, table: _Table, constraints: Numbers, rows: Numbers) -> Flags:
        column, low, high, hole = self._test[constraints].T
        places = table.places[column, rows]
        holds: Flags = (low <= places) & (places <= high) & (places != hole)
        patterns = np.flatnonzero(self._pattern[constraints] & holds)
        holds[patterns] = table.has_patterns(constraints[patterns], rows[patterns])
        return holds

    def _spend(self, candidates: int) -> None:
        if self._left is not None:
            self._left -= candidates
            if self._left < 0:
                raise TooMuchError


class _Table:
    """The places of the values of some messages, by column and message; and who has what, for searching."""

    def __init__(self, columns: int, messages: int) -> None:
        self.places = np.full((columns, messages), _ABSENT, np.int32)
        self._messages = messages
        self._found: list[tuple[Numbers, Numbers]] = []
        self._patterns: list[Numbers] = []

    def put(
        self, column: int, rows: Numbers, places: NDArray[Any], patterns: Sequence[tuple[int, ...]]
    ) -> None:
        """The values of one column."""
        self.places[column, rows] = places
        self._found.append((_ordinal(column, places), rows))
        counts = [len(each) for each in patterns]
        if any(counts):
            held = np.fromiter(chain.from_iterable(patterns), np.int64)
            self._patterns.append(held * self._messages + np.repeat(rows, counts))

    def close(self) -> None:
        """All has been put: make it searchable."""
        none = np.empty(0, np.int64)
        ordinals, rows = zip(*self._found, strict=True) if self._found else ((none,), (none,))
        of_values = np.concatenate(ordinals)
        order = np.argsort(of_values, kind="stable")
        self._ordinals = of_values[order]
        self._held = np.sort(np.concatenate([none, *self._patterns]))
        self._who = np.concatenate([np.concatenate(rows)[order], self._held % max(1, self._messages)])

    def slices(self, column: Numbers, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
        """Where in `who` those are whose places in a column are in a range."""
        return (
            np.searchsorted(self._ordinals, _ordinal(column, low), "left"),
            np.searchsorted(self._ordinals, _ordinal(column, high), "right"),
        )

    def pattern_slices(self, constraints: Numbers) -> tuple[Numbers, Numbers]:
        """The same for patterns."""
        bounds = (constraints * self._messages, (constraints + 1) * self._messages)
        begin, end = (len(self._ordinals) + np.searchsorted(self._held, bound, "left") for bound in bounds)
        return begin, end

    def who(self, at: Numbers) -> Numbers:
        """The messages at some positions of slices."""
        return self._who[at]

    def has_patterns(self, constraints: Numbers, rows: Numbers) -> Flags:
        """Whether each message has a pattern."""
        if not len(self._held):
            return np.zeros(len(rows), bool)
        wanted = constraints * self._messages + rows
        at = np.minimum(np.searchsorted(self._held, wanted), len(self._held) - 1)
        has: Flags = self._held[at] == wanted
        return has


def _ordinal(column: Numbers | int, place: NDArray[Any]) -> Numbers:
    """A number by which places are in order, column by column."""
    ordinal: Numbers = (np.asarray(column, np.int64) << 32) + place
    return ordinal


def _of_bounded_sum(sizes: Numbers, most: int) -> Iterator[slice]:
    """Slices of which each comes to no more than `most`, or has one element."""
    ends, begin = np.cumsum(sizes), 0
    while begin < len(sizes):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, "right")))
        yield slice(begin, end)
        begin = end
