"""What the client at one interface subscribed to.

A subscription stays as the bytes that came, by the client's own id, to be taken
back as a whole. Their union is kept in the kernel: a change costs what changed.

Not here: what all clients of a router want together, and flooding (`interest`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from fastpath.interests import FilterPool, Predicate, Union
from nodes.routing.predicates import COUNT, REDUCED_FILTERS_MAX, filter_count


class Subscriptions:
    """What the client at one interface subscribed to, by its own ids."""

    def __init__(self, pool: FilterPool) -> None:
        self._pool = pool
        self._predicates: dict[int, bytes] = {}
        self._union = Union(pool, REDUCED_FILTERS_MAX)
        self._filters = 0
        self._digest: str | None = None

    def __len__(self) -> int:
        return len(self._predicates)

    def set(self, subscription: int, predicate: bytes) -> None:
        """Add or replace one.

        Raises:
            WireError: The predicate is malformed; nothing was changed.
        """
        new = self._pool.read(predicate)
        self.discard(subscription)
        self._union.add(new)
        self._predicates[subscription] = predicate
        self._filters += _weight(predicate)
        self._digest = None

    def discard(self, subscription: int) -> bool:
        """Withdraw one; False if there is none of this id."""
        predicate = self._predicates.pop(subscription, None)
        if predicate is None:
            return False
        self._union.remove(self._pool.read(predicate))
        self._filters -= _weight(predicate)
        self._digest = None
        return True

    def clear(self) -> None:
        """The client is gone, and what it wanted with it."""
        for subscription in list(self._predicates):
            self.discard(subscription)

    def filters_with(self, subscription: int, predicate: bytes) -> int:
        """How many filters there would be with this subscription; one without any counts as one."""
        held = self._predicates.get(subscription)
        return self._filters + _weight(predicate) - (0 if held is None else _weight(held))

    def settle(self) -> tuple[Predicate, Predicate]:
        """(removed, added): how the union of all, reduced, has changed since this was last asked."""
        return self._union.settle()

    def digest(self) -> str:
        """What client and router compare to know that they agree."""
        if self._digest is None:
            self._digest = subscriptions_digest(self._predicates)
        return self._digest


def subscriptions_digest(predicates: Mapping[int, bytes]) -> str:
    """SHA-256 over subscription ids and encoded predicates."""
    whole = hashlib.sha256()
    for subscription, predicate in sorted(predicates.items()):
        whole.update(COUNT.pack(subscription) + hashlib.sha256(predicate).digest())
    return whole.hexdigest()


def _weight(predicate: bytes) -> int:
    return max(1, filter_count(predicate))
