"""What all routers publish and want, as records that are flooded: COST_ANNOUNCE (MM 5.2; decision 31).

A record says whether a router publishes and subscribes at all, how often its descriptors change, and which
of its links it prefers as s-links. Records go by the rules of all records (`numbers`, `records`).

Not here: how our own rates are measured (`matchmaker_rates`), what is decided by all (`matchmaker_marks`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from nodes.routing.numbers import Order
from nodes.routing.pending import earlier
from nodes.routing.records import HEAD, Records, head
from nodes.routing.schemes.base import Talk
from nodes.wire.matchmaker_payloads import CostAnnounce
from nodes.wire.packets import Kind


class Answer(NamedTuple):
    """What follows of a record that came."""

    spread: bytes | None
    """To be sent to the other neighbours."""
    back: bytes | None
    """To be sent to who sent it."""
    renew: bool
    """Whether somebody else speaks in our name, so that our own has to be made anew."""


class Costs:
    """The records of all routers."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._records = Records(Kind.COST_ANNOUNCE, talk.node, b"", talk.timers.renumber_ms, talk.signatures)
        self._known: dict[int, CostAnnounce] = {}
        self._early: dict[int, bytes] = {}
        self.version = 0
        """Counts all changes."""
        self.ends_version = 0
        """Counts those of who publishes and who subscribes."""
        self.causes_version = 0
        """Counts those of causes."""

    @property
    def settled(self) -> bool:
        """Whether nothing is contradicted, and nothing known that is not taken yet."""
        return self._records.settled

    def next_deadline(self) -> int | None:
        """When `take_due` has something to do."""
        returns_at, early_at = self._records.own.returns_at, self._records.numbering.next_deadline()
        return earlier(returns_at, early_at)

    def take_due(self, now_ns: int) -> tuple[list[bytes], bool]:
        """Records that came early, which are taken now, and whether ours has to be made anew."""
        due = self._records.numbering.take_due(now_ns)
        early = [self._early.pop(origin) for origin in due if origin in self._early]
        returned = self._records.own.go_back(now_ns)
        if returned:
            self._records.withdraw()
        for payload in early:
            self._store(now_ns, payload)
        return early, returned

    def announce(self, now_ns: int, record: CostAnnounce) -> bytes | None:
        """Make our own record: the payload to flood, or None if it says what it said."""
        payload = self._records.originate(now_ns, record.encode()[HEAD.size :])
        if payload is not None:
            self._learn(payload)
        return payload

    def of(self, router: int) -> CostAnnounce | None:
        """What is known of a router."""
        return self._known.get(router)

    def payloads(self) -> list[bytes]:
        """All records, for a new neighbour."""
        return [payload for _, payload in self._records.payloads()]

    def payload(self, origin: int) -> bytes | None:
        """The record of a router."""
        return self._records.payload(origin)

    def origins(self) -> Collection[int]:
        """The other routers whose records are held."""
        return self._known.keys() - {self._talk.node}

    def forget(self, origin: int) -> None:
        """A router is gone for good."""
        self._records.forget(origin)
        self._early.pop(origin, None)
        if self._known.pop(origin, None) is not None:
            self.version += 1
            self.ends_version += 1
            self.causes_version += 1

    def digest(self, routers: Iterable[int]) -> str:
        """Over the records of these routers."""
        whole = hashlib.sha256()
        for router in routers:
            whole.update(self._records.payload(router) or b"")
        return whole.hexdigest()[:16]

    def take(self, now_ns: int, interface: int, sender: int, payload: bytes) -> Answer:
        """A record has come.

        Raises:
            WireError: It is malformed; nothing was changed.
        """
        CostAnnounce.decode(self._talk.signatures.record(payload))
        origin, _ = head(payload)
        proved = (interface, Kind.COST_ANNOUNCE, origin, payload)
        if self._records.may_be_news(payload) and not self._talk.admits(*proved):
            return Answer(None, None, renew=False)
        order = self._records.consider(now_ns, payload)
        if origin == self._talk.node:
            return self._take_ours(order)
        if order is Order.NEWER:
            return self._take_newer(now_ns, interface, payload)
        if order is Order.EARLY:
            self._early[origin] = max(payload, self._early.get(origin, b""))
        unusual = origin == sender or self._records.numbering.is_unusual(origin)
        may_lack = unusual or self._talk.may_be_forgotten(now_ns, origin)
        lacks = order is Order.STALE or (order is Order.OLDER and may_lack)
        return Answer(None, self._records.payload(origin) if lacks else None, renew=False)

    def _take_ours(self, order: Order) -> Answer:
        if order is Order.NEWER:
            self._records.withdraw()
        back = self._records.payload(self._talk.node) if order is Order.STALE else None
        return Answer(None, back, renew=order is Order.NEWER)

    def _take_newer(self, now_ns: int, interface: int, payload: bytes) -> Answer:
        origin, _ = head(payload)
        if not self._talk.hold(now_ns, interface, Kind.COST_ANNOUNCE, origin, len(payload)):
            return Answer(None, None, renew=False)
        returned = self._store(now_ns, payload)
        return Answer(payload, payload if returned else None, renew=False)

    def _store(self, now_ns: int, payload: bytes) -> bool:
        self._learn(payload)
        self._early.pop(head(payload)[0], None)
        return self._records.store(now_ns, payload)

    def _learn(self, payload: bytes) -> None:
        record = CostAnnounce.decode(self._talk.signatures.record(payload))
        before = self._known.get(record.origin)
        self._known[record.origin] = record
        self.version += 1
        ends = record.publishes, record.subscribes
        self.ends_version += before is None or (before.publishes, before.subscribes) != ends
        self.causes_version += before is None or before.causes != record.causes
