"""Programs that are clients of a network on several machines: each runs where its client was placed.

What a machine does with them is in `testbed.emu.programs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.live.fabric import Status
from testbed.plan.model import Plan

Ask = Callable[[str, Sequence[str]], Mapping[str, Any]]
"""Makes a request of the machines of some nodes; the results, by machine."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A program has ended by itself."""

    name: str
    said: str
    abrupt: bool
    at_ns: int


class ClusterPrograms:
    """The programs of one network, by the names of the clients that they are.

    Args:
        plan: whose clients they are.
        ask: makes a request.
        offsets_ns: how much each machine's clock is ahead of the controller's.
        folder: where the run's files are on a machine; they come home.
    """

    def __init__(self, plan: Plan, ask: Ask, offsets_ns: Mapping[str, int], folder: Path) -> None:
        self.going: list[str] = []
        """Those that run, or are paused."""
        self.lent: list[str] = []
        """Clients whose place a program has taken that is not ours (`cbn exec`)."""
        self._own = [node.name for node in plan.programs]
        self._ask = ask
        self._offsets_ns = offsets_ns
        self._folder = folder
        self._ended: list[Ended] = []

    def __contains__(self, name: str) -> bool:
        return name in self._own

    @property
    def names(self) -> list[str]:
        """All, whether they run or not, and those that have taken a client's place."""
        return [*self._own, *self.lent]

    def note_start(self, name: str) -> None:
        """One has been started."""
        self.going.append(name)

    def note_end(self, name: str) -> None:
        """One was ended."""
        if name in self.going:
            self.going.remove(name)

    def statuses(self) -> dict[str, Status]:
        """Of those that run and are clients of the network now."""
        found: dict[str, Status] = {}
        for machine, known in self._look().items():
            found |= known["statuses"]
            self._ended += [self.ended_there(machine, row) for row in known["ended"]]
        return found

    def ended(self) -> Iterator[Ended]:
        """Those that have ended by themselves since the last call."""
        self.statuses()
        ended, self._ended = self._ended, []
        for each in ended:
            self.note_end(each.name)
            yield each

    def ended_there(self, machine: str, row: Mapping[str, Any]) -> Ended:
        """What a machine said of an end, in the controller's time."""
        at_ns = row["at_ns"] - self._offsets_ns[machine]
        said = row["said"] and f"{machine}: {row['said']}".replace(f"{self._folder}/", "")
        return Ended(row["name"], said, row["abrupt"], at_ns)

    def _look(self) -> Mapping[str, Any]:
        there = [*self.going, *self.lent]
        return self._ask("programs", there) if there else {}
