"""Attacks in the simulator: who hears a link, and when acts happen.

Not here: what an act is (`nodes.attacks`), which faults are attacks (`topologies.fault_kinds`). Draws come
from streams of their own, so an attack changes nothing that others draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fastpath.fib import count_messages
from nodes.attacks.compromised import CompromisedCore
from nodes.attacks.flooding import Flooding
from nodes.attacks.heard import Heard
from nodes.attacks.on_path import OnPath
from nodes.client.script import ScriptedClient
from nodes.routing.router import Router
from testbed.plan.model import Attack, Fault, Plan
from testbed.sim.frames import Watch
from testbed.sim.link import Channel
from testbed.sim.node import Life, SimulatedNode, SimulatedRouter
from testbed.sim.scheduler import Scheduler
from topologies.fault_kinds import KINDS

Ended = Callable[[Fault, int, int], None]
"""Is told of an attack that has ended, when it began, and how many acts there were."""


@dataclass(slots=True)
class Going:
    """An attack that goes on."""

    fault: Fault
    attack: Attack
    began_ns: int
    act: Callable[[], bool]
    """Does one act; whether there was anything to do."""
    left: int
    done: int = 0


class Attacks:
    """The attacks of a plan.

    Args:
        plan: Of the run.
        scheduler: The clock.
        ended: See there.
    """

    def __init__(self, plan: Plan, scheduler: Scheduler, ended: Ended) -> None:
        self._scheduler = scheduler
        self._ended = ended
        self._seed = plan.seed
        self._count = 0
        self.going = 0
        """How many attacks go on."""
        self._turned: dict[tuple[str, str], tuple[Fault, int, SimulatedRouter]] = {}
        attacked = {f.target for f in plan.faults if f.attack and not _compromised(f)}
        self._heard = {link.name: Heard() for link in plan.links if link.name in attacked}
        self._listening = {
            name: (self._heard[link.name], way)
            for link in plan.links
            if link.name in attacked
            for way, name in enumerate((link.a_interface, link.b_interface))
        }

    def watch(self, interface: str, others: Watch | None) -> Watch | None:
        """Who is shown what leaves by an interface: the attacker on the link too, if there is one."""
        found = self._listening.get(interface)
        if found is None:
            return others
        heard, way = found

        def both(time_ns: int, datagram: bytes) -> None:
            heard.note(way, datagram)
            if others is not None:
                others(time_ns, datagram)

        return both

    def on_link(self, fault: Fault, channels: tuple[Channel, Channel]) -> None:
        """Somebody on a link begins to attack."""
        assert fault.attack is not None
        attacker = OnPath(fault.do, fault.attack.by, self._heard[fault.target], self._rng(fault))

        def act() -> bool:
            made = attacker.act()
            if made is not None:
                way, packet = made
                channels[way].send(packet, count_messages(packet) > 0)
            return made is not None

        self._begin(Going(fault, fault.attack, self._scheduler.now_ns, act, fault.attack.times))

    def flood(self, fault: Fault, node: SimulatedNode) -> None:
        """A node begins to send more than anybody needs."""
        assert fault.attack is not None
        flooding = Flooding(fault.attack.by, self._rng(fault))

        def act() -> bool:
            core = node.core.core if isinstance(node.core, ScriptedClient) else node.core
            done = node.life is Life.RUNNING and flooding.act(core, self._scheduler.now_ns)
            node.look_again()
            return done

        self._begin(Going(fault, fault.attack, self._scheduler.now_ns, act, fault.attack.times))

    def turn(self, fault: Fault, router: SimulatedRouter, core: Router) -> None:
        """A router begins to lie, or falls silent."""
        attack = fault.attack
        assert attack is not None
        if router.compromised is None:
            router.turn(CompromisedCore(core, self._rng(fault)))
        turned = router.compromised
        assert turned is not None
        turned.begin(self._scheduler.now_ns, fault.do, attack.by, attack.share)
        router.look_again()
        self._turned[fault.do, fault.target] = (fault, self._scheduler.now_ns, router)

    def turn_back(self, do: str, target: str) -> None:
        """It is honest again in this."""
        fault, began_ns, router = self._turned.pop((do, target))
        acts = router.compromised.end(self._scheduler.now_ns, do) if router.compromised is not None else 0
        router.look_again()
        self._ended(fault, began_ns, acts)

    def end(self) -> None:
        """The workload is over: what goes on ends."""
        for do, target in [*self._turned]:
            self.turn_back(do, target)

    def _rng(self, fault: Fault) -> Random:
        self._count += 1
        return Random(f"{self._seed}/attack/{self._count}/{fault.do}/{fault.target}")

    def _begin(self, going: Going) -> None:
        self.going += 1
        self._next(going, None)

    def _next(self, going: Going, _: None) -> None:
        if not going.left:
            self.going -= 1
            self._ended(going.fault, going.began_ns, going.done)
            return
        going.left -= 1
        going.done += going.act()
        self._scheduler.at(self._scheduler.now_ns + going.attack.every_ns, self._next, going)


def _compromised(fault: Fault) -> bool:
    about = KINDS[fault.do].attacking
    return about is not None and about.compromised
