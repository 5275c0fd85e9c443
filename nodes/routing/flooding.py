"""Passing records on, over the reliable channels, to all neighbouring routers but the one they came from.

The channels are reliable and a new neighbour is sent everything, so a record
that was flooded once reaches every router; there is nothing to repeat.

Not here: which record is news (`records`), what it means (`linkstate`), interest (`telling`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nodes.routing.link import Link
from nodes.routing.records import Records, Verdict, head
from nodes.wire.packets import Kind, Role


class Flooding:
    """The links to routers as a medium for records."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = [link for link in links if link.interface.peer_role is Role.ROUTER]

    def exchange(self, now_ns: int, link: Link, records: Records) -> None:
        """Send a new neighbour every record; what it sends meanwhile is not sent back (`consider`)."""
        for origin, payload in records.payloads():
            link.send(now_ns, records.kind, payload, key=(records.kind, origin))

    def consider(self, link: Link, records: Records, payload: bytes) -> Verdict:
        """What an arriving record is to us; what its sender shows to know is not sent to it any more.

        Raises:
            WireError: It has no origin and sequence.
        """
        verdict = records.consider(payload)
        if verdict is not Verdict.OLDER:
            link.forget((records.kind, head(payload)[0]))
        return verdict

    def answer(self, now_ns: int, link: Link, records: Records, origin: int) -> None:
        """Send one neighbour what we hold of an origin."""
        payload = records.payload(origin)
        if payload is not None:
            link.send(now_ns, records.kind, payload, key=(records.kind, origin))

    def spread(self, now_ns: int, kind: Kind, payload: bytes, source: Link | None = None) -> None:
        """Send a record to all neighbours but its source; it replaces an older one that still waits."""
        key = (kind, head(payload)[0])
        for link in self._links:
            if link.up and link is not source:
                link.send(now_ns, kind, payload, key)
