"""Who wants what: the predicates of all routers.

A router floods one predicate, the union of what its clients subscribed to,
reduced (M6: subscriptions of a predicate at an interface; RTE 2: pred(v)).
Predicates stay encoded: one bytes object an origin or subscription.

Not here: flooding (`flooding`), what is done with predicates (`schemes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from nodes.routing.predicates import COUNT, NOTHING, filter_count, filters_of
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
