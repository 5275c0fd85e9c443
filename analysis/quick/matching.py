"""Which predicates a message matches, asked of the reference model once for all values that are alike.

A value is compared with the constants of constraints: of two values of one type with no constant between
them, and neither equal to one, every comparison says the same. Patterns on strings look at the whole
string, so there each string is of its own. Whether a constraint holds is left to the model; that a filter
matches if all its constraints hold, and a predicate if one of its filters does, is done here by counting, and
a test holds it to the model.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis import AnalysisError
from nodes.model import Constraint, Filter, Op, Predicate, Value

_PATTERNS = (Op.PREFIX, Op.SUFFIX, Op.SUBSTRING)
MOST_EFFORT = 5_000_000
"""Times that the model may be asked whether a constraint holds, some 5 s: more is left to the analysis."""
FILTERS_AT_ONCE = 500
"""So many filters are counted in the time that the model takes for one constraint."""
MOST_KEPT = 4_096
"""Values of an attribute whose answers are remembered."""
Counts = NDArray[np.int32]


class Alike:
    """Keys of values: no constraint tells values of one key apart."""

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        self._whole = False
        constants: dict[type, set[Any]] = {}
        for constraint in constraints:
            if constraint.op in _PATTERNS:
                self._whole = True
            elif constraint.value is not None:
                constants.setdefault(type(constraint.value), set()).add(constraint.value)
        self._constants: dict[type, tuple[int, list[Any]]] = {}
        first = 0
        for kind, values in constants.items():
            self._constants[kind] = (first, sorted(values))
            first += 2 * len(values) + 1

    def key(self, value: Value) -> object:
        """The same for values that no constraint tells apart."""
        kind = type(value)
        if kind is str and self._whole:
            return value
        found = self._constants.get(kind)
        if found is None:
            return kind
        first, constants = found
        return first + bisect_left(constants, value) + bisect_right(constants, value)


class _Attribute:
    """The constraints on the attributes of one name, each with the filters that have it."""

    def __init__(self, filters_of: Mapping[Constraint, Sequence[int]], filters: int) -> None:
        self.constraints = len(filters_of)
        self._filters_of = {constraint: np.array(of, np.int64) for constraint, of in filters_of.items()}
        self.key = Alike(filters_of).key
        self._filters = filters
        self._known: dict[object, Counts] = {}

    def held(self, key: object, value: Value) -> tuple[Counts, int]:
        """How many constraints of each filter hold, and how often the model was asked."""
        found = self._known.get(key)
        if found is not None:
            return found, 0
        holding = [of for constraint, of in self._filters_of.items() if constraint.matches(value)]
        together = np.concatenate([np.empty(0, np.int64), *holding])
        counts = np.bincount(together, minlength=self._filters).astype(np.int32)
        if len(self._known) == MOST_KEPT:
            self._known.clear()
        self._known[key] = counts
        return counts, self.constraints


class Matcher:
    """Finds the predicates that messages match.

    Args:
        predicates: Which are named by their positions.
    """

    def __init__(self, predicates: Sequence[Predicate]) -> None:
        numbers: dict[Filter, int] = {}
        pairs = [
            (at, numbers.setdefault(f, len(numbers))) for at, p in enumerate(predicates) for f in p.filters
        ]
        self._predicate = np.array([at for at, _ in pairs], dtype=np.int64)
        self._filter = np.array([number for _, number in pairs], dtype=np.int64)
        self._sizes = np.array([len(each.constraints) for each in numbers], dtype=np.int32)
        by_name: dict[str, dict[Constraint, list[int]]] = {}
        for each, number in numbers.items():
            for constraint in each.constraints:
                by_name.setdefault(constraint.name, {}).setdefault(constraint, []).append(number)
        self._attributes = [(name, _Attribute(of, len(numbers))) for name, of in sorted(by_name.items())]
        self._known: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._effort = 0

    def matching(self, message: Mapping[str, Value]) -> tuple[int, ...]:
        """The positions of the predicates that match, ascending.

        Raises:
            AnalysisError: It has become too much work.
        """
        key = tuple([a.key(message[name]) if name in message else None for name, a in self._attributes])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._matched(message, key)
        return found

    def _matched(self, message: Mapping[str, Value], key: tuple[object, ...]) -> tuple[int, ...]:
        held = np.zeros(len(self._sizes), dtype=np.int32)
        for (name, attribute), of_value in zip(self._attributes, key, strict=True):
            if name in message:
                counts, asked = attribute.held(of_value, message[name])
                held += counts
                self._spend(asked)
        self._spend(1 + len(self._sizes) // FILTERS_AT_ONCE)
        matched: NDArray[np.int64] = np.unique(self._predicate[(held == self._sizes)[self._filter]])
        return tuple(matched.tolist())

    def _spend(self, effort: int) -> None:
        self._effort += effort
        if self._effort > MOST_EFFORT:
            raise AnalysisError(
                "too many different messages and predicates for a quick verdict; `cbn analyze` judges any run"
            )
