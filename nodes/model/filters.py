"""Filters and predicates as canonical sets (M4, M6, E5).

Here: their structure. Not here: what they match (`matching`) and how they
relate to each other (`covering`). Two filters of the same constraints are
equal and have the same hash, however they were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nodes.model.constraints import Constraint
from nodes.model.values import UsageError

CONSTRAINTS_MAX = 65_535


def _constraint_key(constraint: Constraint) -> tuple[Any, ...]:
    # The type comes before the value: values are compared only with their like.
    return constraint.name, constraint.type, constraint.op, constraint.value


def _filter_key(filter_: Filter) -> tuple[Any, ...]:
    return tuple(_constraint_key(c) for c in filter_.constraints)


@dataclass(frozen=True, slots=True, init=False)
class Filter:
    """A set of constraints; how they combine is for `matching` to say."""

    constraints: tuple[Constraint, ...]

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        """Deduplicate (E5) and order by name, type, operator, value."""
        ordered = tuple(sorted(set(constraints), key=_constraint_key))
        if len(ordered) > CONSTRAINTS_MAX:
            raise UsageError(f"a filter has at most {CONSTRAINTS_MAX} constraints; this has {len(ordered)}")
        object.__setattr__(self, "constraints", ordered)


@dataclass(frozen=True, slots=True, init=False)
class Predicate:
    """A set of filters: their disjunction (M6)."""

    filters: tuple[Filter, ...]

    def __init__(self, filters: Iterable[Filter] = ()) -> None:
        """Deduplicate and order."""
        object.__setattr__(self, "filters", tuple(sorted(set(filters), key=_filter_key)))

    def union(self, other: Predicate) -> Predicate:
        """What matches where this or the other does."""
        return Predicate(self.filters + other.filters)


EVERYTHING = Predicate([Filter()])
NOTHING = Predicate()
