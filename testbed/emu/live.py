"""A running emulated network, and what can be done to it: the one way in for faults and for people.

Here: how a fault is carried out, who is down because of it, and whether the
network agrees with itself as it is meant to be now. Not here: when faults
happen (`timeline`), how nodes and links are made (`nodes`, `links`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nodes.convergence import unconverged
from testbed.emu.clock import EmulatedClock
from testbed.emu.drain import Status
from testbed.emu.links.base import Links
from testbed.emu.network import Network
from testbed.emu.nodes import Life, Nodes
from testbed.plan.model import Fault, LinkPlan, Plan


class FaultError(RuntimeError):
    """A fault cannot be carried out on the network as it is; the text says why."""


class Live:
    """A network whose nodes and links run.

    Args:
        plan: What was built.
        network: Namespaces and Mininet's view of them.
        links: What carries the links.
        nodes: The node processes.
        clock: The run's.
    """

    def __init__(
        self, plan: Plan, network: Network, links: Links | None, nodes: Nodes, clock: EmulatedClock
    ) -> None:
        self.plan = plan
        self.network = network
        self.links = links
        self.nodes = nodes
        self.clock = clock
        self._links = {link.name: link for link in plan.links}
        self.struck: list[Fault] = []
        """What has happened to it, whoever wanted it."""
        self._down_links: dict[str, LinkPlan] = {}
        self._mended: dict[str, int] = {}

    @property
    def down(self) -> set[str]:
        """Nodes that do not run, and interfaces whose link is down, by name."""
        still = {name for name, life in self.nodes.life.items() if life in (Life.PAUSED, Life.CRASHED)}
        links = self._down_links.values()
        return still | {name for link in links for name in (link.a_interface, link.b_interface)}

    @property
    def mended(self) -> Mapping[str, int]:
        """When interfaces came back over which nothing was heard for a while."""
        return self._mended

    @property
    def links_down(self) -> list[str]:
        """The links that are cut, by name."""
        return list(self._down_links)

    def statuses(self) -> dict[str, Status]:
        """The account of itself of every node that runs and is not paused."""
        return self.nodes.statuses()

    def unconverged(self, *, thorough: bool = False) -> list[str]:
        """Why the network, as it is meant to be now, has not converged; empty: it has.

        As long as somebody is busy that is all there is to say, unless it is to be `thorough`.
        """
        starting = self.nodes.starting()
        if not thorough and (busy := [*starting, *self.nodes.unsettled()]):
            return [f"{name} is {'starting' if name in starting else 'not settled'}" for name in busy]
        cores = {name: status["core"] for name, status in self.statuses().items()}
        return [*(f"{name} is starting" for name in starting), *unconverged(cores, self.down, self._mended)]

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
        """See whether a fault can happen now.

        Raises:
            FaultError: there is no such target, or it is in no state for that; the text says what is.
        """
        wrong = self._wrong(fault)
        if wrong:
            raise FaultError(f"{fault.do} {fault.target}: {wrong}")
        self.struck.append(fault)

    def strike(self, fault: Fault) -> None:
        """Let a fault happen, now.

        Raises:
            FaultError: there is no such target, or it is in no state for that; the text says what is.
        """
        self.check(fault)
        match fault.do:
            case "link_down" | "link_up" | "impair":
                self._strike_link(fault, self._links[fault.target])
            case _:
                self._strike_node(fault.do, fault.target)

    def _strike_link(self, fault: Fault, link: LinkPlan) -> None:
        if self.links is None:
            raise FaultError(f"{fault.do} {fault.target}: the links of this network cannot change")
        match fault.do:
            case "link_down":
                self._down_links[link.name] = link
                self.links.cut(link)
            case "link_up":
                self.links.mend(link)
                del self._down_links[link.name]
                self._note_mended([link])
            case "impair":
                there = fault.impairment or link.impairment
                self.links.impair(link, there, fault.back or there)

    def _strike_node(self, do: str, name: str) -> None:
        match do:
            case "crash":
                self.nodes.crash(name)
            case "start":
                self.nodes.restart(name)
            case "pause":
                self.nodes.hold(name)
            case "resume":
                self.nodes.resume(name)
        if do in ("start", "resume"):
            self._note_mended(link for link in self.plan.links if name in (link.a, link.b))

    def _note_mended(self, links: Iterable[LinkPlan]) -> None:
        """Who was silent for a while may be taken for dead still, until something is heard."""
        for link in links:
            self._mended |= dict.fromkeys((link.a_interface, link.b_interface), self.clock.now_ns())

    def _wrong(self, fault: Fault) -> str | None:
        """Why a fault makes no sense now; plans are checked before, people at a terminal are not."""
        if fault.do in ("link_down", "link_up", "impair"):
            if fault.target not in self._links:
                return "there is no such link"
            is_down = fault.target in self._down_links
            expected = {"link_down": False, "link_up": True}.get(fault.do, is_down)
            return None if is_down == expected else f"it is {'down' if is_down else 'up'} already"
        life = self.nodes.life.get(fault.target)
        if life is None:
            return "there is no such node"
        if fault.do in ("crash", "start") and fault.target in {c.name for c in self.plan.clients}:
            return "it is a client: only routers crash"
        allowed = {
            "crash": (Life.STARTING, Life.RUNNING, Life.PAUSED),
            "start": (Life.CRASHED,),
            "pause": (Life.STARTING, Life.RUNNING),
            "resume": (Life.PAUSED,),
        }[fault.do]
        return None if life in allowed else f"it is {life.value}"
