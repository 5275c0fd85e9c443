"""The compromised nodes of a network in real time: which of them attack, and asking them to.

What they then do is in `nodes.attacks.daemon`. Not here: who attacks links (`fabric.Attackers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.live.fabric import FaultError, Life
from testbed.plan.model import Attack, Fault, Plan
from testbed.runs.faults import compromised


@dataclass(slots=True)
class Flood:
    """One that goes on."""

    fault: Fault
    acts: int = 0
    """As far as is known."""


class CompromisedNodes:
    """See the module.

    Args:
        plan: Of the network.
        ask: Asks a node, by name (`testbed.live.live.Live.ask`).
        life: How each node is.
    """

    def __init__(self, plan: Plan, ask: Callable[..., Any], life: Mapping[str, Life]) -> None:
        self._seed = plan.seed
        self._names = compromised(plan)
        self._ask = ask
        self._life = life
        self._turned: dict[tuple[str, str], Fault] = {}
        """What routers do until they behave, by kind and router."""
        self._floods: dict[int, Flood] = {}
        self._count = 0
        self._ended: list[tuple[Fault, int]] = []

    @property
    def flooding(self) -> bool:
        """Whether a flood goes on, as far as is known."""
        return bool(self._floods)

    def turn(self, fault: Fault) -> None:
        """A router begins to lie, or falls silent.

        Raises:
            FaultError: It does not run, or cannot attack.
        """
        attack = self._attacker(fault)
        self._ask(fault.target, "attack", what=fault.do, by=[*attack.by], share=attack.share)
        self._turned[fault.do, fault.target] = fault

    def turn_back(self, do: str, target: str) -> None:
        """It is honest again in this; once it has crashed it is so anyhow.

        Raises:
            FaultError: It does not run.
        """
        fault = self._turned.pop((do, target), None)
        if fault is not None:
            self._ended.append((fault, int(self._ask(target, "behave", what=do)["acts"])))

    def flood(self, fault: Fault) -> None:
        """A node begins to send more than anybody needs.

        Raises:
            FaultError: It does not run, or cannot attack.
        """
        attack = self._attacker(fault)
        self._count += 1
        seed = f"{self._seed}/attack/{self._count}/{fault.do}/{fault.target}"
        about = {"by": [*attack.by], "times": attack.times, "every_ns": attack.every_ns, "seed": seed}
        self._ask(fault.target, "flood", number=self._count, **about)
        self._floods[self._count] = Flood(fault)

    def forget(self, target: str) -> None:
        """It crashes now, and so ends what it does; of what it has not told of, nobody knows."""
        for number in [n for n, flood in self._floods.items() if flood.fault.target == target]:
            flood = self._floods.pop(number)
            self._ended.append((flood.fault, flood.acts))
        for do in [do for do, name in self._turned if name == target]:
            if self._life[target] is Life.RUNNING:
                self.turn_back(do, target)
            else:
                self._ended.append((self._turned.pop((do, target)), 0))

    def end(self) -> None:
        """All routers are honest again; floods end by themselves.

        Raises:
            FaultError: One of them does not run.
        """
        for do, target in [*self._turned]:
            self.turn_back(do, target)

    def ended(self) -> list[tuple[Fault, int]]:
        """The attacks that have ended since this was asked before, and how many acts they had."""
        for name in {flood.fault.target for flood in self._floods.values()}:
            if self._life[name] is Life.RUNNING:  # one that is paused goes on with it later
                self._look(name)
        ended, self._ended = self._ended, []
        return ended

    def _look(self, name: str) -> None:
        for row in self._ask(name, "floods")["floods"]:
            flood = self._floods.get(row["number"])
            if flood is None:
                continue
            flood.acts = row["acts"]
            if row["over"]:
                self._ended.append((flood.fault, flood.acts))
                del self._floods[row["number"]]

    def _attacker(self, fault: Fault) -> Attack:
        """How it attacks."""
        if fault.attack is None or fault.target not in self._names:
            raise FaultError(f"{fault.do} {fault.target}: it is no compromised node of the scenario")
        return fault.attack
