"""How much of a neighbour's control traffic is looked at: its share of a router's time (decision 39).

Two buckets of tokens for each link: one for control packets, and one for what comes in them. What is beyond
its share is dropped before it is read, and comes again, as what a link loses does. So a neighbour that sends
more than its share is slowed down, and one that keeps within it notices nothing. HELLOs are not counted: a
share ends no adjacency.

Not here: how much a neighbour may make us hold (`holdings`).
"""

from __future__ import annotations

from nodes.config import LimitConfig

SECOND_NS = 1_000_000_000
CHANGE_BYTES = 1_024
"""A payload counts as one change, and as one more for each further part of this size."""


class Bucket:
    """Tokens that come back with time, up to those of one second; without a rate there are always some.

    What is taken beyond them is owed, up to those of another second.
    """

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._most = per_second * SECOND_NS
        self._left = self._most
        self._since_ns = 0

    def has_some(self, now_ns: int) -> bool:
        """Whether there is a token now."""
        if not self._per_second:
            return True
        back = (now_ns - self._since_ns) * self._per_second
        self._left, self._since_ns = min(self._most, self._left + back), now_ns
        return self._left >= SECOND_NS

    def take(self, tokens: int) -> None:
        """Take some, whether they are there or not."""
        self._left = max(-self._most, self._left - tokens * SECOND_NS)


class Share:
    """The share of the neighbour at one link."""

    def __init__(self, limits: LimitConfig) -> None:
        self._packets = Bucket(limits.control_packets_per_second)
        self._changes = Bucket(limits.changes_per_second)
        self.is_limited = bool(limits.control_packets_per_second or limits.changes_per_second)
        """Whether it has to be asked at all."""

    def refusal(self, now_ns: int) -> str | None:
        """The setting by which one more packet is beyond the share; None: it is not, and is counted."""
        if not self._packets.has_some(now_ns):
            return "limits.control_packets_per_second"
        if not self._changes.has_some(now_ns):
            return "limits.changes_per_second"
        self._packets.take(1)
        return None

    def count_payload(self, size_bytes: int) -> None:
        """A control payload of this size has come."""
        self._changes.take(1 + size_bytes // CHANGE_BYTES)
