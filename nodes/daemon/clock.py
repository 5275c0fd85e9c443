"""The one clock of a node process: nanoseconds since 1970, never going backwards.

Here also: slowed time (decision 15). Everything a node reads, waits for and
writes is in the run's time; only what the kernel is asked to wait is real.
"""

from __future__ import annotations

import time

NS = 1_000_000_000


class Clock:
    """The machine's real time at the start, carried on by its monotonic clock.

    A step of the machine's clock during a run therefore cannot turn an order of
    events around. Processes of one machine agree with each other to within
    what reading two clocks one after the other costs, about a microsecond.
    """

    def __init__(self, dilate: int = 1, dilate_from_ns: int = 0) -> None:
        """Make a clock.

        Args:
            dilate: how many times slower than real time it goes.
            dilate_from_ns: when it showed real time, in nanoseconds since 1970.
        """
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self.dilate = dilate
        self.dilate_from_ns = dilate_from_ns

    @classmethod
    def starting_now(cls, dilate: int = 1) -> Clock:
        """A clock that shows real time now; others that are given its `dilate_from_ns` agree with it."""
        return cls(dilate, time.time_ns())

    def now_ns(self) -> int:
        """The time, in nanoseconds since 1970-01-01 UTC."""
        real_ns = time.monotonic_ns() + self._offset_ns
        if self.dilate == 1:
            return real_ns
        return self.dilate_from_ns + (real_ns - self.dilate_from_ns) // self.dilate

    def now_s(self) -> float:
        """The time in seconds, for measuring what takes long."""
        return self.now_ns() / NS

    def real_wait_s(self, duration_ns: int) -> float:
        """How many real seconds it takes until so much of this clock's time has passed."""
        return duration_ns * self.dilate / NS
