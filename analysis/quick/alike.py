"""Which messages no predicate can tell apart, so that one of them is matched for all.

A value is compared with the constants of constraints: of two values of one type with no constant between
them, and neither equal to one, every comparison says the same. Patterns on strings look at the whole
string, so there each string is of its own. What matches is left to the reference model.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from nodes.model import Op, Predicate, Value

_PATTERNS = (Op.PREFIX, Op.SUFFIX, Op.SUBSTRING)
Key = tuple[object, ...]


class Alike:
    """Keys of messages: those with one key match the same of these predicates."""

    def __init__(self, predicates: Iterable[Predicate]) -> None:
        constants: dict[str, dict[type, set[Any]]] = {}
        self._whole: set[str] = set()
        for constraint in (c for p in predicates for f in p.filters for c in f.constraints):
            by_type = constants.setdefault(constraint.name, {})
            if constraint.op in _PATTERNS:
                self._whole.add(constraint.name)
            elif constraint.value is not None:
                by_type.setdefault(type(constraint.value), set()).add(constraint.value)
        self._constants = {
            name: {kind: sorted(values) for kind, values in by_type.items()}
            for name, by_type in sorted(constants.items())
        }

    def key(self, message: Mapping[str, Value]) -> Key:
        """The same for messages that no predicate tells apart."""
        found: list[object] = []
        for name, by_type in self._constants.items():
            value = message.get(name)
            kind = type(value)
            found.append(kind)
            if kind is str and name in self._whole:
                found.append(value)
            elif kind in by_type:
                constants = by_type[kind]
                found.append(bisect_left(constants, value) + bisect_right(constants, value))
        return tuple(found)
