"""A network over several machines, as what decides about networks asks for it (`testbed.live.fabric`).

Every question goes to the agents whose nodes or links it is about, to all at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodes.config import LinkKey
from testbed.cluster.agents import Agent, AgentsWatch, together
from testbed.cluster.placement import Placement
from testbed.cluster.programs import ClusterPrograms, Ended
from testbed.cluster.protocol import RUNS
from testbed.live.fabric import POLL_S, Life, NotReadyError, ProcessRow, Status
from testbed.plan.model import Impairment, LinkPlan, Plan


class Cluster:
    """The links and nodes of a plan, each on the machine where it was placed.

    Args:
        plan: what was built.
        placement: which node is where.
        agents: by the machine's name.
        offsets_ns: how much each machine's clock is ahead of the controller's.
        run_id: of the run that it is.
    """

    def __init__(
        self,
        plan: Plan,
        placement: Placement,
        agents: Mapping[str, Agent],
        offsets_ns: Mapping[str, int],
        run_id: str,
    ) -> None:
        self.life = {node.name: Life.WAITING if node.run else Life.STARTING for node in plan.nodes}
        self._folder = RUNS / run_id
        self.programs = ClusterPrograms(plan, self._ask_all, offsets_ns, self._folder)
        self.watch = AgentsWatch(agents.values())
        self._plan = plan
        self._placement = placement
        self._agents = agents
        self._offsets_ns = offsets_ns
        self._poll_took_s = 0.0

    def take_down(self, link: LinkPlan) -> None:
        """See `testbed.live.fabric.Links`, as for the next two."""
        self._of_link(link, "take_down")

    def bring_up(self, link: LinkPlan) -> None:
        """Carry again."""
        self._of_link(link, "bring_up")

    def impair(self, link: LinkPlan, impairment: Impairment, back: Impairment) -> None:
        """Both machines of a link are told both ways."""
        self._of_link(link, "impair", impairment=asdict(impairment), back=asdict(back))

    @property
    def running(self) -> list[str]:
        """See `testbed.live.fabric.Nodes`, as for all that follows."""
        return [name for name, life in self.life.items() if life is Life.RUNNING]

    def starting(self) -> list[str]:
        """Only machines on which some are starting are asked."""
        names = [name for name, life in self.life.items() if life is Life.STARTING]
        if not names:
            return []
        still = {name for found in self._ask_all("starting", names).values() for name in found}
        self.life |= {name: Life.RUNNING for name in names if name not in still}
        return [name for name in names if name in still]

    def await_listening(self, deadline: float) -> None:
        """Wait until every node answers."""
        while waiting := self.starting():
            if time.monotonic() > deadline:
                raise NotReadyError(f"no answer from {', '.join(waiting)}")
            self.watch.wait(POLL_S)

    def statuses(self) -> dict[str, Status]:
        """Of all that run, in the plan's order."""
        return self._statuses("statuses", self.running)

    def client_statuses(self) -> dict[str, Status]:
        """Of the clients that run."""
        running = {*self.running}
        return self._statuses("client_statuses", [c.name for c in self._plan.clients if c.name in running])

    def unsettled(self) -> list[str]:
        """Of the routers that run."""
        began = time.monotonic()
        answers = self._ask_all("unsettled", self.running)
        self._poll_took_s = time.monotonic() - began
        return [name for found in answers.values() for name in found]

    def ask(self, name: str, do: str, **arguments: object) -> Any:
        """The agent asks the node."""
        return self._agent_of(name).ask("ask", node=name, what=do, arguments=arguments)

    def processes(self) -> dict[str, ProcessRow]:
        """On all machines, in the plan's order."""
        found = {name: row for rows in self._ask_all("processes").values() for name, row in rows.items()}
        return {name: found[name] for name in self.life if name in found}

    def deaths(self) -> dict[str, str]:
        """On all machines."""
        found = self._ask_all("deaths")
        return {name: f"{machine}: {why}" for machine, died in found.items() for name, why in died.items()}

    def check(self) -> None:
        """Ask every machine."""
        self._ask_all("check")

    def pause(self, seconds: float = POLL_S) -> None:
        """Wait between two polls."""
        self.watch.wait(self.rest_s(seconds))

    def rest_s(self, seconds: float) -> float:
        """So long that polling takes a tenth of the time at most."""
        return max(seconds, POLL_S, 9 * self._poll_took_s)

    def start_scripts(self, start_ns: int) -> list[str]:
        """Time zero in the time of each machine."""
        clients = [client.name for client in self._plan.clients]
        times = {name: {"at_ns": start_ns + offset} for name, offset in self._offsets_ns.items()}
        return [name for late in self._ask_all("start_scripts", clients, times).values() for name in late]

    def start_programs(self) -> None:
        """Each on its client's machine."""
        names = [node.name for node in self._plan.programs]
        self._ask_all("start_programs", names)
        for name in names:
            self._note_program(name)

    def end_programs(self) -> list[str]:
        """On all machines that have some."""
        for name in self.programs.lent:
            self.life[name] = Life.RUNNING
        told = self._ask_all("end_programs", self.programs.names)
        self.programs.going.clear()
        self.programs.lent.clear()
        self.life |= dict.fromkeys(self.programs.names, Life.ENDED)
        return [f"{machine}: {said}" for machine, sayings in told.items() for said in sayings]

    @property
    def lent(self) -> list[str]:
        """See `testbed.live.control.Lender`, as for the next three."""
        return list(self.programs.lent)

    def config_of(self, name: str) -> Path:
        """On the client's machine."""
        return self._folder / "config" / f"{name}.toml"

    def lend(self, name: str) -> str:
        """The client's machine lets it step aside."""
        mark = str(self._agent_of(name).ask("lend", node=name))
        self.programs.lent.append(name)
        self.life[name] = Life.LENT
        return mark

    def take_back(self, name: str, status: int) -> Ended:
        """The client goes on; one that is a program of the scenario does not."""
        self.programs.lent.remove(name)
        row = self._agent_of(name).ask("take_back", node=name, status=status)
        self.life[name] = Life.ENDED if name in self.programs else Life.RUNNING
        return self.programs.ended_there(self._placement.machine_of[name], row)

    def give_key(self, link: LinkPlan, key: LinkKey, *, used: bool) -> None:
        """Both machines of a link, over ssh; both have done it when this returns."""
        self._of_link(link, "give_key", key_id=key.key_id, secret=key.secret.hex(), used=used)

    def give_signer(self, name: str, public: bytes, seed: bytes) -> None:
        """All machines are told the public half; the other goes over ssh to the router's own."""
        here = self._placement.machine_of[name]
        told = {"node": name, "public": public.hex()}
        arguments = {at: {**told, "seed": seed.hex() if at == here else ""} for at in self._agents}
        self._ask_all("give_signer", arguments=arguments)

    def crash(self, name: str) -> None:
        """End a node."""
        self._agent_of(name).ask("crash", node=name)
        self.programs.note_end(name)
        self.life[name] = Life.CRASHED

    def restart(self, name: str) -> None:
        """Start it anew."""
        self._agent_of(name).ask("restart", node=name)
        if name in self.programs:
            self._note_program(name)
        else:
            self.life[name] = Life.STARTING

    def hold(self, name: str) -> None:
        """Let it stand still."""
        self._agent_of(name).ask("hold", node=name)
        self.life[name] = Life.PAUSED

    def resume(self, name: str) -> None:
        """Let it go on."""
        self._agent_of(name).ask("resume", node=name)
        self.life[name] = Life.PROGRAM if name in self.programs else Life.RUNNING

    def _note_program(self, name: str) -> None:
        self.programs.note_start(name)
        self.life[name] = Life.PROGRAM

    def _agent_of(self, node: str) -> Agent:
        return self._agents[self._placement.machine_of[node]]

    def _of(self, nodes: Iterable[str]) -> list[Agent]:
        machines = dict.fromkeys(self._placement.machine_of[node] for node in nodes)
        return [self._agents[machine] for machine in machines]

    def _of_link(self, link: LinkPlan, do: str, **arguments: object) -> None:
        agents = self._of((link.a, link.b))
        together(agents, do, {a.machine.name: {"link": link.name, **arguments} for a in agents})

    def _ask_all(
        self,
        do: str,
        nodes: Iterable[str] | None = None,
        arguments: Mapping[str, Mapping[str, object]] | None = None,
    ) -> dict[str, Any]:
        """Ask the machines of these nodes, or all."""
        return together(self._agents.values() if nodes is None else self._of(nodes), do, arguments)

    def _statuses(self, do: str, names: Sequence[str]) -> dict[str, Status]:
        began = time.monotonic()
        answers = self._ask_all(do, names)
        self._poll_took_s = time.monotonic() - began
        found = {name: status for of_machine in answers.values() for name, status in of_machine.items()}
        return {name: found[name] for name in names if name in found}
