"""A running network, and what can be done to it: the one way in for faults and for people.

Here: how a fault is applied, which nodes are down because of it, and whether the
network agrees with itself as it is meant to be now. Not here: when faults
happen (`faults`), how nodes and links are made (`testbed.emu`).
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from nodes.config import LinkKey
from nodes.convergence import unconverged
from nodes.daemon.clock import Clock
from nodes.wire.seal import KEY_BYTES
from nodes.wire.signature import SEED_BYTES, Signer
from testbed.live.compromised import CompromisedNodes
from testbed.live.fabric import Attackers, FaultError, Life, Links, Nodes, Status
from testbed.plan.keys import number_after
from testbed.plan.model import Fault, LinkPlan, Plan
from testbed.runs.faults import FaultState
from topologies.fault_kinds import KINDS


class Live:
    """A network whose nodes and links run.

    Args:
        plan: What was built.
        network: Its links.
        nodes: The node processes.
        clock: The run's.
    """

    def __init__(self, plan: Plan, network: Links, nodes: Nodes, clock: Clock) -> None:
        self.plan = plan
        self.network = network
        self.nodes = nodes
        self.clock = clock
        self.state = FaultState(plan)
        self.attackers: Attackers | None = None
        """Who attacks links; None: nobody."""
        self._compromised = CompromisedNodes(plan, self.ask, nodes.life)
        self.applied: list[Fault] = []
        """All faults so far, of the plan or by hand."""
        self._links = {link.name: link for link in plan.links}
        self._rekeyed: Counter[str] = Counter()

    def statuses(self) -> dict[str, Status]:
        """The account of itself of every node that runs and is not paused."""
        return self.nodes.statuses()

    def unconverged(self, *, thorough: bool = False) -> list[str]:
        """Why the network, as it is meant to be now, has not converged; empty: it has.

        As long as a node is busy that is the only answer, unless it is to be `thorough`.
        """
        starting = self.nodes.starting()
        if not thorough and (busy := [*starting, *self.nodes.unsettled()]):
            return [f"{name} is {'starting' if name in starting else 'not settled'}" for name in busy]
        cores = {name: status["core"] for name, status in self.statuses().items()}
        programs = self.nodes.programs.statuses()
        absent = {*self.nodes.programs.names} - {*programs}
        still = unconverged({**cores, **programs}, self.state.down, self.state.repaired_ns, absent)
        return [*(f"{name} is starting" for name in starting), *still]

    def ask(self, node: str, do: str, **arguments: object) -> Any:
        """Make a request of a node over its admin socket; returns its result.

        Raises:
            FaultError: it does not run.
            AdminError: it refused, or does not answer.
        """
        self.nodes.starting()
        life = self.nodes.life.get(node)
        if life is not Life.RUNNING:
            raise FaultError(f"{node} is {life.value if life else 'not a node of this network'}")
        return self.nodes.ask(node, do, **arguments)

    def check(self, fault: Fault) -> None:
        """See whether a fault can happen now; plans are checked before, people at a terminal are not.

        Raises:
            FaultError: there is no such target, or it is in no state for that; the text says what is.
        """
        wrong = self._no_target(fault) or self._no_keys(fault) or self._obstacle(fault)
        if wrong:
            raise FaultError(f"{fault.do} {fault.target}: {wrong}")

    def apply(self, fault: Fault) -> None:
        """Let a fault happen, now.

        Raises:
            FaultError: there is no such target, or it is in no state for that; the text says what is.
        """
        self.check(fault)
        ACTIONS[fault.do](self, fault)
        self.applied.append(fault)
        self.state.note(fault, self.clock.now_ns())

    def _no_target(self, fault: Fault) -> str | None:
        kind = KINDS[fault.do]
        if kind.target == "link":
            return None if fault.target in self._links else "there is no such link"
        if fault.target not in self.nodes.life:
            return "there is no such node"
        if kind.target == "router" and fault.target in {client.name for client in self.plan.clients}:
            if not kind.programs:
                return f"it is a client: only routers {kind.name}"
            if fault.target not in self.nodes.programs:
                return f"it is a client that runs no program: only routers and programs {kind.name}"
        return None

    def _no_keys(self, fault: Fault) -> str | None:
        if KINDS[fault.do].needs_signatures and not self.plan.security.signs:
            return "routers have no keys to sign with, as security.records is off"
        if not KINDS[fault.do].needs_keys:
            return None
        if not self.plan.security.seals:
            return "links have no keys, as security.neighbours is off"
        link = self._links[fault.target]
        program = next((end for end in (link.a, link.b) if end in self.nodes.programs.names), None)
        return f"{program} is a program, which reads keys only when it starts" if program else None

    def _obstacle(self, fault: Fault) -> str | None:
        if self.nodes.life.get(fault.target) is Life.LENT:
            return f"it is {Life.LENT.value} (`cbn exec`), which has to end first"
        obstacle = self.state.failures.obstacle(fault.do, fault.target)
        if obstacle is None or self._has_ended(fault):
            return None
        if fault.target in self.nodes.life:
            return f"it is {self.nodes.life[fault.target].value}"
        has, state = obstacle.state.split()
        return f"it {has} not {state}" if KINDS[fault.do].repairs else f"it {has} {state} already"

    def _has_ended(self, fault: Fault) -> bool:
        """Whether it is the crash of a program that has ended by itself before."""
        return fault.do == "crash" and self.nodes.life.get(fault.target) is Life.ENDED

    def _link_down(self, fault: Fault) -> None:
        self.network.take_down(self._links[fault.target])

    def _link_up(self, fault: Fault) -> None:
        self.network.bring_up(self._links[fault.target])

    def _impair(self, fault: Fault) -> None:
        link = self._links[fault.target]
        there = fault.impairment or link.impairment
        self.network.impair(link, there, fault.back or there)

    def _attack_link(self, fault: Fault) -> None:
        if self.attackers is None:
            raise FaultError(f"{fault.do} {fault.target}: nobody here attacks links")
        self.attackers.begin(fault)

    def _crash(self, fault: Fault) -> None:
        self._compromised.forget(fault.target)
        self.nodes.crash(fault.target)

    def _turn_back(self, fault: Fault) -> None:
        repairs = KINDS[fault.do].repairs
        assert repairs is not None
        self._compromised.turn_back(repairs.name, fault.target)

    def end_attacks(self) -> None:
        """The workload is over: routers that attack are honest again.

        Raises:
            FaultError: One of them does not run.
        """
        self._compromised.end()

    @property
    def attacking(self) -> bool:
        """Whether an attack of single acts goes on, as far as is known."""
        return self._compromised.flooding or (self.attackers is not None and self.attackers.going)

    def ended_attacks(self) -> list[tuple[Fault, int]]:
        """The attacks that have ended since this was asked before, and how many acts they had."""
        return self._compromised.ended() + (self.attackers.ended() if self.attackers is not None else [])

    def key_number(self, link: LinkPlan) -> int | None:
        """The number of the key that a link's ends use; None if they have none."""
        return number_after(self._rekeyed[link.name]) if self.plan.security.seals else None

    def _rekey(self, fault: Fault) -> None:
        """Both ends know the key before one of them uses it."""
        self._rekeyed[fault.target] += 1
        key = LinkKey(number_after(self._rekeyed[fault.target]), secrets.token_bytes(KEY_BYTES))
        for used in (False, True):
            self.nodes.give_key(self._links[fault.target], key, used=used)

    def _rekey_router(self, fault: Fault) -> None:
        """What it has signed so far, others hold on to until it says what is newer, which it does at once."""
        seed = secrets.token_bytes(SEED_BYTES)
        self._crash(fault)
        self.nodes.give_signer(fault.target, Signer(seed).public, seed)
        self.nodes.restart(fault.target)


def attack_problems(plan: Plan) -> list[str]:
    """What attacks a plan asks for that are carried out in the simulator alone."""
    programs = {node.name for node in plan.programs}
    floods = sorted({fault.target for fault in plan.faults if fault.attack and fault.target in programs})
    return [
        f"{name} is a client that is a program, which does what it was written to do: only others flood"
        for name in floods
    ]


ACTIONS: Mapping[str, Callable[[Live, Fault], None]] = {
    "link_down": Live._link_down,
    "link_up": Live._link_up,
    "impair": Live._impair,
    "crash": Live._crash,
    "start": lambda live, fault: live.nodes.restart(fault.target),
    "pause": lambda live, fault: live.nodes.hold(fault.target),
    "resume": lambda live, fault: live.nodes.resume(fault.target),
    "rekey": Live._rekey,
    "rekey_router": Live._rekey_router,
    "replay": Live._attack_link,
    "forge": Live._attack_link,
    **dict.fromkeys(("mute", "lie"), lambda live, fault: live._compromised.turn(fault)),
    "flood": lambda live, fault: live._compromised.flood(fault),
    **dict.fromkeys(("speak", "behave"), Live._turn_back),
}
"""What each kind of fault does."""
