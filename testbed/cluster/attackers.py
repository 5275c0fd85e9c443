"""Attacks on links of a network on several machines: each machine attacks links that it has both ends of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nodes.records import from_plain, to_plain
from testbed.cluster.agents import Agent, together
from testbed.cluster.placement import Placement
from testbed.plan.model import Fault, Plan


class ClusterAttackers:
    """See `testbed.live.fabric.Attackers`.

    Args:
        plan: Of the run.
        placement: Which node is where.
        agents: By the machine's name.
    """

    def __init__(self, plan: Plan, placement: Placement, agents: Mapping[str, Agent]) -> None:
        self._machine_of = {link.name: placement.machine_of[link.a] for link in plan.links}
        self._agents = agents
        self._going: Counter[str] = Counter()
        """How many attacks go on, by machine."""

    @property
    def going(self) -> bool:
        """Whether an attack goes on, as far as is known."""
        return self._going.total() > 0

    def begin(self, fault: Fault) -> None:
        """Let an attack begin, now."""
        machine = self._machine_of[fault.target]
        self._agents[machine].ask("attack_link", fault=to_plain(fault))
        self._going[machine] += 1

    def ended(self) -> list[tuple[Fault, int]]:
        """The attacks that have ended since this was asked before, and how many acts they had."""
        asked = [self._agents[machine] for machine, count in self._going.items() if count]
        told = together(asked, "attacked") if asked else {}
        for machine, ended in told.items():
            self._going[machine] -= len(ended)
        return [(from_plain(Fault, fault), int(acts)) for ended in told.values() for fault, acts in ended]


def between_machines(plan: Plan, placement: Placement) -> list[str]:
    """Attacks of a plan that cannot be carried out where its nodes are."""
    attacked = {fault.target for fault in plan.faults if fault.attack is not None}
    return [
        f"link {link.a} - {link.b} is attacked, and its ends are on two machines: who is on a link has to "
        f"be at both; put them on one machine (`--put {link.a}=MACHINE --put {link.b}=MACHINE`)"
        for link in placement.links_between(plan)
        if link.name in attacked
    ]
