"""Who wants what: the predicates of all routers, and the subscriptions of our own clients.

A router floods one predicate, the union of what its clients subscribed to,
reduced (M6: subscriptions of a predicate at an interface; RTE 2: pred(v)).
Predicates stay encoded: one bytes object an origin or subscription.

Not here: flooding (`flooding`), what is done with predicates (`schemes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from nodes.routing.predicates import COUNT, NOTHING, filter_count, filters_of, reduced_union
from nodes.routing.records import HEAD, Records
from nodes.wire.packets import Kind


class InterestDatabase:
    """What the clients of every router want."""

    def __init__(self, node: int) -> None:
        self.records = Records(Kind.INTEREST, node, NOTHING)
        self._digests: dict[int, tuple[memoryview, bytes]] = {}

    def originate(self, predicate: bytes) -> bytes | None:
        """Say what our clients want: the payload to flood, or None if nothing changed."""
        return self.records.originate(predicate)

    def store(self, payload: bytes) -> None:
        """Keep a record that `records.consider` found newer.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        filters_of(memoryview(payload)[HEAD.size :])
        self.records.store(payload)

    def wanted(self, origins: Iterable[int]) -> dict[int, memoryview]:
        """The encoded predicate of each of these routers that wants anything."""
        bodies = ((origin, self.records.body(origin)) for origin in origins)
        return {origin: body for origin, body in bodies if body is not None and filter_count(body)}

    def digest(self, origins: Iterable[int]) -> str:
        """SHA-256 over what these routers want, in the order given."""
        whole = hashlib.sha256()
        for origin, body in self.wanted(origins).items():
            whole.update(COUNT.pack(origin) + self._body_digest(origin, body))
        return whole.hexdigest()

    def _body_digest(self, origin: int, body: memoryview) -> bytes:
        held = self._digests.get(origin)
        if held is None or held[0].obj is not body.obj:
            held = self._digests[origin] = (body, hashlib.sha256(body).digest())
        return held[1]


class Subscriptions:
    """What the client at one interface subscribed to, by its own ids."""

    def __init__(self) -> None:
        self._predicates: dict[int, bytes] = {}
        self._union: bytes | None = None
        self._digest: str | None = None

    def __len__(self) -> int:
        return len(self._predicates)

    def set(self, subscription: int, predicate: bytes) -> None:
        """Add or replace one.

        Raises:
            WireError: The predicate is malformed; nothing was changed.
        """
        filters_of(predicate)
        self._predicates[subscription] = predicate
        self._changed()

    def discard(self, subscription: int) -> bool:
        """Withdraw one; False if there is none of this id."""
        self._changed()
        return self._predicates.pop(subscription, None) is not None

    def clear(self) -> None:
        """The client is gone, and what it wanted with it."""
        self._predicates.clear()
        self._changed()

    def filters_with(self, subscription: int, predicate: bytes) -> int:
        """How many filters there would be with this subscription; one without any counts as one."""
        others = (p for i, p in self._predicates.items() if i != subscription)
        return sum(max(1, filter_count(p)) for p in (*others, predicate))

    def predicate(self) -> bytes:
        """The union of all, reduced."""
        if self._union is None:
            self._union = reduced_union(self._predicates.values())
        return self._union

    def digest(self) -> str:
        """What client and router compare to know that they agree."""
        if self._digest is None:
            self._digest = subscriptions_digest(self._predicates)
        return self._digest

    def _changed(self) -> None:
        self._union = self._digest = None


def subscriptions_digest(predicates: Mapping[int, bytes]) -> str:
    """SHA-256 over subscription ids and encoded predicates."""
    whole = hashlib.sha256()
    for subscription, predicate in sorted(predicates.items()):
        whole.update(COUNT.pack(subscription) + hashlib.sha256(predicate).digest())
    return whole.hexdigest()
