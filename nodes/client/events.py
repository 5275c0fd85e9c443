"""The events of a client (docs/run-directory.md), as dicts with their keys in its order.

The same for scripts and for applications. Not here: writing them to files (`nodes.daemon.journal`).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.model import (
    Components,
    Pattern,
    Predicate,
    Value,
    format_message,
    format_pattern,
    format_predicate,
)

EventRecord = dict[str, object]


class Events:
    """Makes the events of one client, which are numbered.

    Args:
        node: The client's name.
        count: How many events there are of it already, from an earlier life.
    """

    def __init__(self, node: str, count: int = 0) -> None:
        self._node = node
        self._count = count
        self._made: list[EventRecord] = []

    def take(self) -> list[EventRecord]:
        """What was made since the last call."""
        made, self._made = self._made, []
        return made

    def subscribed(self, now_ns: int, subscription: int, predicate: Predicate) -> EventRecord:
        """It wants what matches from now on."""
        text = format_predicate(predicate)
        return self._make(now_ns, "subscribe", subscription=subscription, predicate=text)

    def unsubscribed(self, now_ns: int, subscription: int) -> EventRecord:
        """It has withdrawn a subscription."""
        return self._make(now_ns, "unsubscribe", subscription=subscription)

    def sought(self, now_ns: int, subscription: int, pattern: Pattern) -> EventRecord:
        """It seeks a pattern in what this subscription brings, until it withdraws that."""
        text = format_pattern(pattern)
        return self._make(now_ns, "subscribe_pattern", subscription=subscription, pattern=text)

    def recognised(self, now_ns: int, subscription: int, components: Components) -> EventRecord:
        """It has found a match of the pattern of this subscription."""
        rows = [[c.source, c.sequence, c.time_ns] for c in components]
        return self._make(now_ns, "deliver_match", subscription=subscription, components=rows)

    def advertised(self, now_ns: int, advertisement: int, advertisements: Predicate) -> EventRecord:
        """It may publish what is within these from now on."""
        text = format_predicate(advertisements)
        return self._make(now_ns, "advertise", advertisement=advertisement, predicate=text)

    def unadvertised(self, now_ns: int, advertisement: int) -> EventRecord:
        """It has withdrawn an advertisement."""
        return self._make(now_ns, "unadvertise", advertisement=advertisement)

    def published(self, now_ns: int, identity: tuple[int, int], message: Mapping[str, Value]) -> EventRecord:
        """It has sent a message, of this source and sequence."""
        source, sequence = identity
        return self._make(
            now_ns, "publish", source=source, sequence=sequence, message=format_message(message)
        )

    def delivered(
        self, now_ns: int, source: int, sequence: int, hop_count: int, publish_time_ns: int
    ) -> EventRecord:
        """It has received a message."""
        return self._make(
            now_ns,
            "deliver",
            source=source,
            sequence=sequence,
            hop_count=hop_count,
            latency_ns=now_ns - publish_time_ns,
        )

    def _make(self, now_ns: int, event: str, **fields: object) -> EventRecord:
        record = {"time_ns": now_ns, "node": self._node, "n": self._count, "event": event, **fields}
        self._made.append(record)
        self._count += 1
        return record
