"""How long a round trip takes and how long to wait for an acknowledgement (RFC 6298, in integers)."""

from __future__ import annotations

from nodes.config import TimerConfig

MILLISECOND_NS = 1_000_000


class RoundTrip:
    """Smoothed round-trip time, its variation, and the time-out they make."""

    def __init__(self, timers: TimerConfig) -> None:
        self._initial_ns = timers.retransmit_ms * MILLISECOND_NS
        self._least_ns = self._initial_ns // 4
        self._most_ns = max(timers.retransmit_max_ms * MILLISECOND_NS, self._initial_ns)
        self._smoothed_ns: int | None = None
        self._variation_ns = 0
        self._doublings = 0

    @property
    def timeout_ns(self) -> int:
        """How long to wait before the first outstanding packet is taken for lost."""
        return min(self._base_ns << self._doublings, self._most_ns)

    @property
    def typical_ns(self) -> int:
        """Within this time after sending, no acknowledgement says nothing yet."""
        smoothed = self._initial_ns if self._smoothed_ns is None else self._smoothed_ns
        return smoothed + smoothed // 4

    def sample(self, taken_ns: int) -> None:
        """A packet sent once was acknowledged after this time."""
        if self._smoothed_ns is None:
            self._smoothed_ns, self._variation_ns = taken_ns, taken_ns // 2
            return
        self._variation_ns += (abs(self._smoothed_ns - taken_ns) - self._variation_ns) // 4
        self._smoothed_ns += (taken_ns - self._smoothed_ns) // 8

    def sample_resent(self, taken_ns: int) -> None:
        """The same of a packet sent again; it may be the first copy that was acknowledged (Karn)."""
        if self._smoothed_ns is None or 2 * taken_ns >= self._smoothed_ns:
            self.sample(taken_ns)

    def back_off(self) -> None:
        """A time-out, and not a word from the neighbour since the last: wait twice as long."""
        if self.timeout_ns < self._most_ns:
            self._doublings += 1

    def progress(self) -> None:
        """Something new was acknowledged: the path works."""
        self._doublings = 0

    @property
    def _base_ns(self) -> int:
        if self._smoothed_ns is None:
            return self._initial_ns
        return max(self._smoothed_ns + 4 * self._variation_ns, self._least_ns)
