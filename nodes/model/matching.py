"""What matches what: the definition every faster matcher is held to (M3-M6)."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model.filters import Filter, Predicate
from nodes.model.values import Value


def matches_filter(filter_: Filter, message: Mapping[str, Value]) -> bool:
    """A subscription's filter: every constraint holds for some attribute (M4)."""
    return all(c.name in message and c.matches(message[c.name]) for c in filter_.constraints)


def matches(predicate: Predicate | Filter, message: Mapping[str, Value]) -> bool:
    """A predicate: some filter of it matches (M6)."""
    filters = (predicate,) if isinstance(predicate, Filter) else predicate.filters
    return any(matches_filter(f, message) for f in filters)


def advertisement_matches(filter_: Filter, message: Mapping[str, Value]) -> bool:
    """A filter read as an advertisement: every attribute satisfies some constraint (M5)."""
    return all(
        any(c.name == name and c.matches(value) for c in filter_.constraints)
        for name, value in message.items()
    )
