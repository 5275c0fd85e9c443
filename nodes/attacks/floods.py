"""The floods of a node that is a process: each so many acts, at equal distances, from when it was asked for.

What an act is says `flooding`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeGuard

from nodes.attacks.flooding import Flooding
from nodes.attacks.ways import FLOODS
from nodes.daemon.admin import Command, Request, RequestError
from nodes.daemon.clock import Clock
from nodes.routing.effects import Core
from nodes.routing.pending import earlier

AT_ONCE = 256
"""Acts that are late are done in a row, no more of them than this before the node does anything else."""


@dataclass(slots=True)
class Going:
    """One flood."""

    flooding: Flooding
    times: int
    every_ns: int
    began_ns: int
    turns: int = 0
    acts: int = 0

    @property
    def due_ns(self) -> int:
        """When the next act is due; after the last, when the flood is over."""
        return self.began_ns + self.turns * self.every_ns

    @property
    def over(self) -> bool:
        """Whether all turns are done."""
        return self.turns == self.times


class Floods:
    """See the module.

    Args:
        core: Which core floods, at the time.
        clock: The node's.
    """

    def __init__(self, core: Callable[[], Core], clock: Clock) -> None:
        self._core = core
        self._clock = clock
        self._floods: dict[int, Going] = {}

    def act(self) -> int:
        """Do what is due; how many turns there were."""
        core, now_ns = self._core(), self._clock.now_ns()
        done = 0
        for flood in self._floods.values():
            while not flood.over and flood.due_ns <= now_ns and done < AT_ONCE:
                flood.turns += 1
                flood.acts += flood.flooding.act(core, now_ns)
                done += 1
        return done

    def earlier(self, deadline_ns: int | None) -> int | None:
        """This deadline, or when the next act is due."""
        due = (flood.due_ns for flood in self._floods.values() if not flood.over)
        return earlier(deadline_ns, min(due, default=None))

    def commands(self) -> dict[str, Command]:
        """What a node can be asked of floods."""
        return {"flood": self._begin, "floods": self._look}

    def _begin(self, request: Request) -> object:
        number, times, every_ns = (request.get(key) for key in ("number", "times", "every_ns"))
        by = request.get("by")
        ways = [way for way in FLOODS if way in by] if isinstance(by, list) else []
        if not (_is_count(number) and _is_count(times) and _is_count(every_ns) and ways):
            raise RequestError(f"expected number, times, every_ns, seed, and by, of {', '.join(FLOODS)}")
        flooding = Flooding(ways, Random(str(request.get("seed"))))
        self._floods[number] = Going(flooding, times, every_ns, self._clock.now_ns())
        return {}

    def _look(self, _: Request) -> object:
        floods = self._floods.items()
        return {"floods": [{"number": n, "acts": flood.acts, "over": flood.over} for n, flood in floods]}


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
