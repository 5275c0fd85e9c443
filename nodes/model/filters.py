"""Filters and predicates as canonical sets, and what they match (M3-M6, E5).

What matches is the definition that every faster matcher is compared with. Two filters
with the same constraints are equal and have the same hash, however they were written.
Not here: how filters relate to each other (`covering`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nodes.model.constraints import Constraint
from nodes.model.values import UsageError, Value

CONSTRAINTS_MAX = 65_535


def _constraint_key(constraint: Constraint) -> tuple[Any, ...]:
    # The type comes before the value: values are compared only with their like.
    return constraint.name, constraint.type, constraint.op, constraint.value


def _filter_key(filter_: Filter) -> tuple[Any, ...]:
    return tuple(_constraint_key(c) for c in filter_.constraints)


@dataclass(frozen=True, slots=True, init=False)
class Filter:
    """A set of constraints: a conjunction in subscriptions, alternatives in advertisements."""

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
        """The predicate that matches what this or the other matches."""
        return Predicate(self.filters + other.filters)


EVERYTHING = Predicate([Filter()])
NOTHING = Predicate()


def matches_filter(filter_: Filter, message: Mapping[str, Value]) -> bool:
    """Whether every constraint of a subscription's filter holds for an attribute (M4)."""
    return all(c.name in message and c.matches(message[c.name]) for c in filter_.constraints)


def matches(predicate: Predicate | Filter, message: Mapping[str, Value]) -> bool:
    """Whether some filter of a predicate matches (M6)."""
    filters = (predicate,) if isinstance(predicate, Filter) else predicate.filters
    return any(matches_filter(f, message) for f in filters)


def advertisement_matches(filter_: Filter, message: Mapping[str, Value]) -> bool:
    """Whether every attribute satisfies a constraint of a filter, as an advertisement (M5)."""
    return all(
        any(c.name == name and c.matches(value) for c in filter_.constraints)
        for name, value in message.items()
    )


def advertised(advertisements: Predicate, message: Mapping[str, Value]) -> bool:
    """Whether a message is within one of several advertisements."""
    return any(advertisement_matches(f, message) for f in advertisements.filters)


def declares_nothing(advertisements: Predicate) -> bool:
    """Whether no message but the empty one is within one of these advertisements, or there are none."""
    return not all(f.constraints for f in advertisements.filters or [Filter()])
