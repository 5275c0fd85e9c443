"""The predicates a router knows, by name.

Names are `nodes.routing.schemes.base.Source`s, or anything else that can be a
key. The filters are in the compiled kernel, each once however many predicates
have it; a predicate is a compact set of them. Whoever holds something made of
predicates is notified of the difference when one changes.

Not here: what the names mean (`schemes`), and flooding (`interest`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from fastpath.interests import FilterPool, Predicate
from nodes.routing.predicates import NOTHING, filters_of

REMEMBERED_BYTES = 65_536
"""Encoded predicates up to this size are remembered from one question to the next."""
Watcher = Callable[[Hashable, Predicate, Predicate], None]
"""Called with (name, removed, added) after every change."""


class PredicateStore:
    """Predicates by name. A name that nothing is known of stands for the one that matches nothing."""

    def __init__(self) -> None:
        self.pool = FilterPool()
        self._empty = Predicate(self.pool)
        self._predicates: dict[Hashable, Predicate] = {}
        self._encoded: dict[Hashable, bytes] = {}
        self._watchers: list[Watcher] = []

    def replace(self, name: Hashable, predicate: bytes | Predicate) -> bool:
        """Let a name stand for a predicate; whether that is a change.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        if isinstance(predicate, bytes):
            predicate = self.pool.read(predicate)
        held = self.named(name)
        return self.change(name, held.minus(predicate), predicate.minus(held))

    def change(self, name: Hashable, removed: Predicate, added: Predicate) -> bool:
        """Take filters out of a predicate and put others in; whether that is a change.

        Raises:
            UsageError: Some of `removed` is not there, or some of `added` is; nothing was changed.
        """
        if not len(removed) and not len(added):
            return False
        if name not in self._predicates:
            self._predicates[name] = Predicate(self.pool)
        self._predicates[name].change(removed, added)
        self._encoded.pop(name, None)
        for notify in self._watchers:
            notify(name, removed, added)
        return True

    def forget(self, name: Hashable) -> None:
        """The name stands for nothing again, and takes no memory."""
        self.replace(name, self._empty)
        self._predicates.pop(name, None)

    def watch(self, watcher: Watcher) -> None:
        """Let somebody know of every change from now on."""
        self._watchers.append(watcher)

    def named(self, name: Hashable) -> Predicate:
        """The predicate as the kernel has it: to read, until the next change."""
        return self._predicates.get(name, self._empty)

    def predicate(self, name: Hashable) -> bytes:
        """The encoded predicate."""
        held = self._predicates.get(name)
        if held is None:
            return NOTHING
        encoded = self._encoded.get(name)
        if encoded is None:
            encoded = held.encode()
            if len(encoded) <= REMEMBERED_BYTES:
                self._encoded[name] = encoded
        return encoded

    def filters(self, name: Hashable) -> frozenset[bytes]:
        """Its encoded filters."""
        return frozenset(filters_of(self.predicate(name)))

    def wants(self, name: Hashable) -> bool:
        """Whether any message can match it."""
        return len(self.named(name)) > 0

    def stats(self) -> dict[str, int]:
        """`predicates`, `filters` (different ones) and the `bytes` that all of it takes in the kernel."""
        pool = self.pool.stats()
        sets = sum(predicate.bytes for predicate in self._predicates.values())
        return {
            "predicates": len(self._predicates),
            "filters": pool["filters"],
            "bytes": pool["bytes"] + sets,
        }
