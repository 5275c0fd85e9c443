"""The one clock of a node process: nanoseconds since 1970, never going backwards.

Here also: slowed time (decision 15). Everything a node reads, waits for and
writes is in the run's time; only what the kernel is asked to wait is real.
"""

from __future__ import annotations

import time

NS = 1_000_000_000
CLOSE_NS = 2_000
"""Two readings of the monotonic clock this close have nothing between them but what was read there."""
READINGS = 100
"""So often, at most, the two clocks are compared at the start."""


class Clock:
    """The machine's real time at the start, carried on by its monotonic clock.

    A step of the machine's clock during a run therefore cannot turn an order of
    events around. The two clocks are read until no pause of the process lies
    between the readings, which could be many milliseconds on a busy machine. So
    processes of one machine agree with each other to within about a microsecond.
    """

    def __init__(self, dilate: int = 1, dilate_from_ns: int = 0) -> None:
        """Make a clock.

        Args:
            dilate: how many times slower than real time it goes.
            dilate_from_ns: when it showed real time, in nanoseconds since 1970.
        """
        self._offset_ns = _offset_ns()
        self.dilate = dilate
        self.dilate_from_ns = dilate_from_ns

    @classmethod
    def starting_now(cls, dilate: int = 1) -> Clock:
        """A clock that shows real time now; others that are given its `dilate_from_ns` agree with it."""
        return cls(dilate, time.time_ns())

    def now_ns(self) -> int:
        """The time, in nanoseconds since 1970-01-01 UTC."""
        return self.shown_at_ns(time.monotonic_ns() + self._offset_ns)

    def shown_at_ns(self, real_ns: int) -> int:
        """What it shows at that real time of its machine."""
        if self.dilate == 1:
            return real_ns
        return self.dilate_from_ns + (real_ns - self.dilate_from_ns) // self.dilate

    def now_s(self) -> float:
        """The time in seconds, for measuring what takes long."""
        return self.now_ns() / NS

    def real_wait_s(self, duration_ns: int) -> float:
        """How many real seconds it takes until so much of this clock's time has passed."""
        return duration_ns * self.dilate / NS


def _offset_ns() -> int:
    """How much the machine's real time is ahead of its monotonic clock, by the closest of some readings."""
    closest_ns, offset_ns = None, 0
    for _ in range(READINGS):
        before_ns, real_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if closest_ns is None or after_ns - before_ns < closest_ns:
            closest_ns, offset_ns = after_ns - before_ns, real_ns - (before_ns + after_ns) // 2
        if closest_ns < CLOSE_NS:
            break
    return offset_ns
