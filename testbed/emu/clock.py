"""The run's own clock: the time of everything it emulates.

The run waits for two kinds of things. Of the emulation (a script to be over,
messages to come to rest): that takes `real_wait_s`. Of the machine (a process
to start, to answer, to end): those are real seconds, however slow the run's
time goes (decision 15).
"""

from __future__ import annotations

import time

from nodes.daemon.clock import NS, Clock


class EmulatedClock(Clock):
    """A clock that shows real time when it is made, and goes on `dilate` times slower.

    What else keeps the run's time (nodes, carriers of links, the capture) is
    told its `dilate` and `dilate_from_ns`, and agrees with it.
    """

    def __init__(self, dilate: int = 1) -> None:
        super().__init__(dilate, time.time_ns())

    def now_s(self) -> float:
        """The time in seconds, for measuring what takes long."""
        return self.now_ns() / NS
