"""One run on several machines: what is built is built by agents, and fetched from them at the end.

The rest is `testbed.live.run`.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from nodes.daemon.clock import Clock
from nodes.records import from_plain
from nodes.wire.seal import KEY_BYTES
from testbed.cluster.agents import Agent, Beats, together
from testbed.cluster.attackers import ClusterAttackers
from testbed.cluster.collect import collect, write_index
from testbed.cluster.fabric import Cluster
from testbed.cluster.hosts import Machine
from testbed.cluster.placement import Placement
from testbed.cluster.program_files import TooMuchError, pack
from testbed.cluster.protocol import KINDS
from testbed.emu.options import EmuOptions
from testbed.emu.programs import folder_of
from testbed.live.fabric import NetworkError
from testbed.live.faults import LiveFaults
from testbed.live.interruption import Shield
from testbed.live.live import Live
from testbed.live.registry import Registration
from testbed.live.run import LiveRun, Results
from testbed.live.stages import Stages
from testbed.plan.model import Plan
from testbed.plan.recorded import ClockReading, MachineRecord, plan_to_json
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import Fidelity
from testbed.runs.judgement import judge
from testbed.runs.measures import Evidence, Measured
from testbed.runs.world import Progress

CARRIERS = ("veth", "netem", "wire", "tunnel")
"""What may carry links, in the order in which they are named."""
FIRST_PORT = 20_000
"""Of UDP; a link between machines takes this one and its number."""


class ClusterRun(LiveRun[Live]):
    """See `LiveRun`.

    Args:
        plan: What is run.
        machines: Those there are; the ones without nodes are left alone.
        placement: Which node is where.
        directory: Where what it leaves goes.
        progress: Where it says how far it is.
        bring_captures: Bring captures home as they are, and not as tables.
        options: What carries links inside machines, and how slow time goes.
    """

    def __init__(
        self,
        plan: Plan,
        machines: Sequence[Machine],
        placement: Placement,
        directory: RunDirectory,
        progress: Progress,
        *,
        bring_captures: bool = False,
        options: EmuOptions,
    ) -> None:
        super().__init__(plan, directory, progress, dilate=options.dilate)
        self._options = options
        self._placement = placement
        self._bring_captures = bring_captures
        used = set(placement.machine_of.values())
        self._machines = [machine for machine in machines if machine.name in used]
        self._agents: dict[str, Agent] = {}
        self._readings: dict[str, list[ClockReading]] = {}
        """Of the machines' clocks, before the workload and after it, in real time."""
        self._frames, self._drops = 0, 0
        self._evidence: Evidence | None = None
        self._crossing_ns: dict[str, int] = {}
        self._cluster: Cluster | None = None
        """Once its nodes have been started."""
        self._carriers: dict[str, str] = {}
        """What carries each link, by its name."""

    def _results(self) -> Results:
        return Results(
            self._implementation(), self._frames, self._drops, self._fidelity(), machines=self._records()
        )

    def _at_start(self, start_ns: int) -> None:
        if self._plan.background:
            times = {name: {"at_ns": start_ns + ahead_ns} for name, ahead_ns in self._offsets_ns().items()}
            together(self._agents.values(), "begin_background", times)

    def _workload_begins(self, live: Live) -> None:
        del live
        together(self._agents.values(), "begin_measuring")

    def _workload_arrived(self, live: Live, stages: Stages, faults: LiveFaults) -> None:
        answers = together(self._agents.values(), "end_measuring")
        measured = {name: from_plain(Measured, answer) for name, answer in answers.items()}
        self._evidence = Evidence(
            plan=self._plan,
            dilate=self._clock.dilate,
            machines={name: each.machine for name, each in measured.items()},
            nodes=tuple(node for each in measured.values() for node in each.nodes),
            links=tuple(link for each in measured.values() for link in each.links),
            crossing_ns=self._crossing_ns,
            late_starts=tuple(stages.late_starts),
            late_faults=tuple(faults.late),
            faults=tuple(live.applied),
        )

    def _fidelity(self) -> Fidelity | None:
        if self._evidence is None:
            return None
        counted = replace(self._evidence, captured_frames=self._frames, capture_drops=self._drops)
        return judge(counted)

    def _build(
        self,
        made: ExitStack,
        shield: Shield,  # noqa: ARG002 - what an agent makes, it undoes by itself
        registration: Registration,  # noqa: ARG002
    ) -> tuple[Live, int]:
        """Each machine makes its share."""
        beats = Beats(self._agents.values())
        made.callback(beats.stop)
        made.callback(self._stop_agents)
        self._log_in()
        prepared = together(self._agents.values(), "prepare", self._orders())
        carriers = {link: carrier for of_machine in prepared.values() for link, carrier in of_machine.items()}
        self._carriers = {link.name: carriers[link.name] for link in self._plan.links}
        self._crossing_ns = self._measured_crossings()
        together(self._agents.values(), "leave_out", self._to_all(crossing_ns=self._crossing_ns))
        began_ns = self._clock.now_ns()
        together(self._agents.values(), "start_nodes")
        cluster = self._cluster = Cluster(
            self._plan, self._placement, self._agents, self._offsets_ns(), self._directory.run_id
        )
        live = Live(self._plan, cluster, cluster, self._clock)
        live.attackers = ClusterAttackers(self._plan, self._placement, self._agents)
        return live, began_ns

    def _measured_crossings(self) -> dict[str, int]:
        """What the network between machines adds to each link over it, in the run's time."""
        addresses = {machine.name: machine.address for machine in self._machines}
        pairs = {
            link.name: (self._placement.machine_of[link.a], self._placement.machine_of[link.b])
            for link in self._placement.links_between(self._plan)
        }
        asked = {
            name: {"to": {there: addresses[there] for here, there in {*pairs.values()} if here == name}}
            for name in addresses
        }
        trips = together(self._agents.values(), "round_trips", asked)
        silent = sorted(f"{a} to {b}" for a, b in {*pairs.values()} if trips[a][b] is None)
        if silent:
            self._remarks.append(f"the delay between machines is not known ({', '.join(silent)}): no echo")
        ways = {link: trips[a][b] for link, (a, b) in pairs.items()}
        return {link: ns // 2 // self._clock.dilate for link, ns in ways.items() if ns is not None}

    def _to_all(self, **arguments: object) -> dict[str, dict[str, object]]:
        """The same request for every machine."""
        return dict.fromkeys(self._agents, arguments)

    def _log_in(self) -> None:
        for machine in self._machines:
            self._agents[machine.name] = Agent(machine, self._directory.run_id, self._directory.logs)
        refused = []
        for agent in self._agents.values():
            try:
                agent.await_ready()
            except NetworkError as error:
                refused.append(str(error))
        if refused:
            raise NetworkError("; ".join(refused))
        self._readings = {name: [agent.read_clock()] for name, agent in self._agents.items()}

    def _offsets_ns(self) -> dict[str, int]:
        """How much each machine's clock is ahead of the controller's; slowed, it is ahead by as much."""
        return {name: readings[0].ahead_ns for name, readings in self._readings.items()}

    def _orders(self) -> dict[str, dict[str, object]]:
        """What each agent is to prepare."""
        plan = plan_to_json(self._plan)
        addresses = {machine.name: machine.address for machine in self._machines}
        tunnels: dict[str, dict[str, tuple[str, int]]] = {name: {} for name in addresses}
        for number, link in enumerate(self._plan.links):
            if self._placement.crosses(link):
                a, b = (self._placement.machine_of[node] for node in (link.a, link.b))
                tunnels[a][link.name] = addresses[b], FIRST_PORT + number
                tunnels[b][link.name] = addresses[a], FIRST_PORT + number
        offsets_ns = self._offsets_ns()
        secret = secrets.token_bytes(KEY_BYTES)  # Orders go over ssh, and no agent writes them down.
        with_programs = {self._placement.machine_of[node.name] for node in self._plan.programs}
        files = self._program_files() if with_programs else ""
        return {
            name: {
                "plan": plan,
                "secret": secret.hex(),
                "dilate": self._clock.dilate,
                "dilate_from_ns": self._clock.dilate_from_ns + offsets_ns[name],
                "links": self._options.links,
                "adjustable": self._options.adjustable,
                "own": self._placement.nodes_on(name),
                "tunnels": tunnels[name],
                "programs": files if name in with_programs else "",
            }
            for name in addresses
        }

    def _program_files(self) -> str:
        folder = folder_of(self._plan.scenario_path)
        try:
            return pack(folder)
        except (TooMuchError, OSError) as error:
            raise NetworkError(f"the scenario's programs cannot be sent: {error}") from error

    def _stop_agents(self) -> None:
        """End what runs on the machines, fetch its files, leave nothing there."""
        answering = [agent for agent in self._agents.values() if agent.ready]
        for agent in answering:
            with suppress(*KINDS.values()):  # who asks it to stop finds out what is wrong with it
                self._readings.setdefault(agent.machine.name, []).append(agent.read_clock())
        asked = [agent for agent in answering if self._try(agent.post, "stop") is not None]
        told = {agent.machine.name: self._try(agent.answer) for agent in asked}
        stopped = [agent for agent in asked if told[agent.machine.name]]
        captured: dict[str, Mapping[str, Any]] = {}
        for agent in stopped:
            name, said = agent.machine.name, told[agent.machine.name]
            self._defects += [f"{name}: {problem}" for problem in said["problems"]]
            self._remarks += [f"{name}: {remark}" for remark in said["remarks"]]
            captured |= said["captured"]
        decoded = [] if self._bring_captures or not captured else self._decode(stopped)
        leaving = [agent for agent in stopped if told[agent.machine.name]["files"]]
        self._defects += collect(leaving, self._directory, self._placement)
        for agent in stopped:
            self._try(agent.ask, "remove")
        for agent in self._agents.values():
            self._remarks += agent.remarks
            if agent.ready:
                self._defects += agent.close()
            else:
                agent.abandon()
        if captured:
            in_tables = {router: name for name in decoded for router in self._placement.nodes_on(name)}
            found = write_index(self._plan, self._directory, self._start_ns, captured, in_tables)
            self._frames, self._drops = found

    def _decode(self, agents: Sequence[Agent]) -> list[str]:
        """Let machines make tables of what they have captured; returns those that have."""
        decoded = []
        asked = [agent for agent in agents if self._try(agent.post, "decode") is not None]
        for agent in asked:
            try:
                agent.answer()
                decoded.append(agent.machine.name)
            except NetworkError as error:
                self._remarks.append(str(error))
            except tuple(KINDS.values()) as error:
                self._defects.append(str(error))
        return decoded

    def _try(self, call: Callable[..., Any], *arguments: object) -> Any:
        """What a call to an agent returns, True for nothing; None if it failed, which is noted."""
        try:
            result = call(*arguments)
        except tuple(KINDS.values()) as error:
            self._defects.append(str(error))
            return None
        return True if result is None else result

    def _implementation(self) -> dict[str, str]:
        counts = Counter(self._carriers.values())
        shares = (f"{m.name} {len(self._placement.nodes_on(m.name))}" for m in self._machines)
        return {
            "codec": "fastpath",
            "links": ", ".join(f"{kind} {counts[kind]}" for kind in CARRIERS if counts[kind]) or "none",
            "capture": "af_packet" if self._plan.record.captures else "none",
            "machines": ", ".join(shares),
        }

    def _records(self) -> dict[str, MachineRecord]:
        return {
            machine.name: MachineRecord(
                tuple(self._placement.nodes_on(machine.name)), tuple(self._shown_readings(machine.name))
            )
            for machine in self._machines
        }

    def _shown_readings(self, name: str) -> Iterator[ClockReading]:
        """The readings of a machine's clock in the run's time, which captures and events are in."""
        for reading in self._readings.get(name, ()):
            theirs = Clock(self._clock.dilate, self._clock.dilate_from_ns + self._offsets_ns()[name])
            yield ClockReading(
                self._clock.shown_at_ns(reading.asked_ns),
                theirs.shown_at_ns(reading.said_ns),
                self._clock.shown_at_ns(reading.answered_ns),
            )
