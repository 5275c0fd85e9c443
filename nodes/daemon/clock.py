"""The one clock of a node process: nanoseconds since 1970, never going backwards."""

from __future__ import annotations

import time


class Clock:
    """The machine's real time at the start, carried on by its monotonic clock.

    A step of the machine's clock during a run therefore cannot turn an order of
    events around. Processes of one machine agree with each other to within
    what reading two clocks one after the other costs, about a microsecond.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """The time, in nanoseconds since 1970-01-01 UTC."""
        return time.monotonic_ns() + self._offset_ns
