"""The event queue and the clock of the simulator.

Two events of one instant happen in the order in which they were asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mypy_extensions import mypyc_attr

from fastpath.events import EventQueue

Action = Callable[[Any, Any], None]
Event = tuple[Action, Any, Any]

EVENTS_PER_INSTANT = 1_000_000
"""More events than this without the clock moving is taken for a livelock."""


@mypyc_attr(native_class=False)
class SimulationStuckError(RuntimeError):
    """The simulated clock stands still: events keep making events of the same instant."""


class Scheduler:
    """Simulated time, and what is to happen in it."""

    __slots__ = ("_events", "_instant_bound", "_instant_left", "now_ns")

    def __init__(self, start_ns: int, instant_bound: int = EVENTS_PER_INSTANT) -> None:
        self.now_ns = start_ns
        self._events = EventQueue()
        self._instant_bound = instant_bound
        self._instant_left = instant_bound

    def at(self, time_ns: int, action: Action, a: Any = None, b: Any = None) -> None:
        """Do `action(a, b)` at `time_ns`, after all that was asked for that instant before."""
        self._events.push(time_ns, action, a, b)

    def withdraw(self, owner: object) -> list[Event]:
        """Take back, in order, all that is to happen to one object: the actions that are its methods."""
        return self._events.withdraw(owner)

    @property
    def next_ns(self) -> int | None:
        """When the next event is due."""
        return self._events.first_ns() if len(self._events) else None

    def run(self, limit_ns: int, budget: int, done: Callable[[], bool] | None = None) -> bool:
        """Run the events due up to `limit_ns`, at most `budget` of them.

        Returns:
            True if nothing is left to do here: `done()` holds, or the clock
            stands at `limit_ns`. False if the budget ran out first.

        Raises:
            SimulationStuckError: too many events in one instant.
        """
        events = self._events
        while len(events):
            time_ns = events.first_ns()
            if time_ns > limit_ns:
                break
            if done is not None and done():
                return True
            if not budget:
                return False
            budget -= 1
            action, a, b = events.pop()
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
