"""How much of a neighbour's control traffic is looked at: its share of a router's time (decision 39).

Two buckets of tokens for each link: one for control packets, and one for what comes in them. When one of them
is empty the link is shut: what counts is dropped before it is read, until a tenth of a second's tokens are
back. What was dropped comes again, as what a link loses does. So a neighbour that sends more than its share
is slowed down, and one within it notices nothing. HELLOs are not counted: a share ends no adjacency.

Who shuts a link is told so (`nodes.routing.effects.Shut`), and drops there what would be dropped here.

Not here: how much a neighbour may make us hold (`holdings`).
"""

from __future__ import annotations

from nodes.config import LimitConfig

SECOND_NS = 1_000_000_000
OPENS_WITH = 10
"""A link that was shut opens with the tokens of this part of a second."""
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

    def filled_at(self) -> int:
        """When there will be those of a tenth of a second, but at least one."""
        lacking = max(SECOND_NS, self._most // OPENS_WITH) - self._left
        return self._since_ns + -(-lacking // self._per_second) if lacking > 0 else self._since_ns

    def take(self, tokens: int) -> None:
        """Take some, whether they are there or not."""
        self._left = max(-self._most, self._left - tokens * SECOND_NS)


class Share:
    """The share of the neighbour at one link."""

    def __init__(self, limits: LimitConfig) -> None:
        self._buckets = {
            "limits.control_packets_per_second": Bucket(limits.control_packets_per_second),
            "limits.changes_per_second": Bucket(limits.changes_per_second),
        }
        self._packets, self._changes = self._buckets.values()
        self.is_limited = bool(limits.control_packets_per_second or limits.changes_per_second)
        """Whether it has to be asked at all."""
        self.shut_by: str | None = None
        """The setting by which the link is shut, if so."""
        self.opens_at: int | None = None

    def count_packet(self) -> None:
        """A packet that counts has come, and is the neighbour's."""
        self._packets.take(1)

    def count_payload(self, size_bytes: int) -> None:
        """A control payload of this size has come."""
        self._changes.take(1 + size_bytes // CHANGE_BYTES)

    def look(self, now_ns: int) -> bool:
        """Shut the link if a bucket is empty, or open it if its time has come; whether that is a change."""
        if self.opens_at is not None and now_ns < self.opens_at:
            return False
        was, self.shut_by, self.opens_at = self.shut_by, None, None
        for setting, bucket in self._buckets.items():
            if not bucket.has_some(now_ns):
                self.shut_by, self.opens_at = setting, bucket.filled_at()
        return (was is None) != (self.shut_by is None)
