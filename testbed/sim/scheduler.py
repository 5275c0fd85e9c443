"""The event queue and the clock of the simulator.

An event is a tuple `(time_ns, sequence, action, a, b)`: the sequence makes
the order total, so two events of one instant happen in the order in which they
were asked for, and the heap never compares actions.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from mypy_extensions import mypyc_attr

Action = Callable[[Any, Any], None]
Event = tuple[int, int, Action, Any, Any]

EVENTS_PER_INSTANT = 1_000_000
"""More events than this without the clock moving is taken for a livelock."""


@mypyc_attr(native_class=False)
class SimulationStuckError(RuntimeError):
    """The simulated clock stands still: events keep making events of the same instant."""


class Scheduler:
    """Simulated time, and what is to happen in it."""

    __slots__ = ("_heap", "_instant_bound", "_instant_left", "_sequence", "now_ns")

    def __init__(self, start_ns: int, instant_bound: int = EVENTS_PER_INSTANT) -> None:
        self.now_ns = start_ns
        self._heap: list[Event] = []
        self._sequence = 0
        self._instant_bound = instant_bound
        self._instant_left = instant_bound

    def at(self, time_ns: int, action: Action, a: Any = None, b: Any = None) -> None:
        """Do `action(a, b)` at `time_ns`, after all that was asked for that instant before."""
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (time_ns, sequence, action, a, b))

    def withdraw(self, owner: object) -> list[Event]:
        """Take back, in order, all that is to happen to one object: the actions that are its methods."""
        gone = sorted(event for event in self._heap if getattr(event[2], "__self__", None) is owner)
        if gone:
            kept = (event for event in self._heap if getattr(event[2], "__self__", None) is not owner)
            self._heap[:] = kept  # in place: `run` holds the list
            heapify(self._heap)
        return gone

    @property
    def next_ns(self) -> int | None:
        """When the next event is due."""
        return self._heap[0][0] if self._heap else None

    def run(self, limit_ns: int, budget: int, done: Callable[[], bool] | None = None) -> bool:
        """Run the events due up to `limit_ns`, at most `budget` of them.

        Returns:
            True if nothing is left to do here: `done()` holds, or the clock
            stands at `limit_ns`. False if the budget ran out first.

        Raises:
            SimulationStuckError: too many events in one instant.
        """
        heap = self._heap
        while heap and heap[0][0] <= limit_ns:
            if done is not None and done():
                return True
            if not budget:
                return False
            budget -= 1
            time_ns, _, action, a, b = heappop(heap)
            if time_ns > self.now_ns or not self._instant_left:
                self._advance(time_ns)
            else:
                self._instant_left -= 1
            action(a, b)
        if done is None or not done():
            self._advance(limit_ns)
        return True

    def _advance(self, time_ns: int) -> None:
        if time_ns > self.now_ns:
            self.now_ns = time_ns
            self._instant_left = self._instant_bound
        self._instant_left -= 1
        if self._instant_left < 0:
            raise SimulationStuckError(
                f"more than {self._instant_bound} events at {self.now_ns} ns: "
                "the simulated clock stands still. A node asks again and again for something "
                "at the same instant; this is a defect"
            )
