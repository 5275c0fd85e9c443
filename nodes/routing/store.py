"""The predicates a router knows, by name, in their encoded form.

Names are `nodes.routing.schemes.base.Source`s, or anything else that can be a
key. Who holds a table made of predicates asks by version what has changed.

Not here: what the names mean (`schemes`), and flooding (`interest`).
"""

from __future__ import annotations

from collections.abc import Hashable

from nodes.routing.predicates import NOTHING, filter_count, filters_of


class PredicateStore:
    """Predicates by name. A name that nothing is known of stands for the one that matches nothing."""

    def __init__(self) -> None:
        self._filters: dict[Hashable, frozenset[bytes]] = {}
        self._predicates: dict[Hashable, bytes] = {}
        self._versions: dict[Hashable, int] = {}
        self._serial = 0

    def replace(self, name: Hashable, predicate: bytes) -> bool:
        """Let a name stand for a predicate; whether that is a change.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        if predicate == self._predicates.get(name, NOTHING):
            return False
        self._filters[name] = frozenset(filters_of(predicate))
        self._predicates[name] = predicate
        self._serial += 1
        self._versions[name] = self._serial
        return True

    def predicate(self, name: Hashable) -> bytes:
        """The encoded predicate."""
        return self._predicates.get(name, NOTHING)

    def filters(self, name: Hashable) -> frozenset[bytes]:
        """Its encoded filters."""
        return self._filters.get(name, frozenset())

    def wants(self, name: Hashable) -> bool:
        """Whether any message can match it."""
        return filter_count(self.predicate(name)) > 0

    def version(self, name: Hashable) -> int:
        """Another number after every change; 0 before the first."""
        return self._versions.get(name, 0)
