"""One run on several machines, stage by stage, and its undoing.

As in `testbed.emu.run`, whose stages and faults it shares; but what is built is built by agents,
and what it leaves is fetched from them, also when it has failed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from nodes.daemon.clock import Clock
from testbed.cluster.agents import Agent, together
from testbed.cluster.collect import collect, write_index
from testbed.cluster.fabric import Cluster
from testbed.cluster.hosts import Machine
from testbed.cluster.placement import Placement
from testbed.cluster.protocol import KINDS
from testbed.emu.interruption import Shield
from testbed.emu.nodes import NodeFiles
from testbed.emu.run import Ending, Failures
from testbed.live.faults import LiveFaults
from testbed.live.live import Live
from testbed.live.registry import register
from testbed.live.stages import Stages
from testbed.live.traffic import scripted_actions
from testbed.plan.model import Plan
from testbed.plan.recorded import plan_to_json
from testbed.runs.directory import RunDirectory
from testbed.runs.events import merge_event_logs
from testbed.runs.world import Outcome, Progress

FIRST_PORT = 20_000
"""Of UDP; a link between machines takes this one and its number."""
REAL_PHASES = ("build",)


class ClusterRun:
    """The stages of one run. Use `outcome` once."""

    def __init__(
        self,
        plan: Plan,
        machines: Sequence[Machine],
        placement: Placement,
        directory: RunDirectory,
        progress: Progress,
    ) -> None:
        self._plan = plan
        self._placement = placement
        used = set(placement.machine_of.values())
        self._machines = [machine for machine in machines if machine.name in used]
        self._directory = directory
        self._progress = progress
        self._clock = Clock.starting_now()
        self._agents: dict[str, Agent] = {}
        self._offsets: dict[str, tuple[int, int]] = {}
        self._phases: dict[str, float] = {}
        self._remarks: list[str] = []
        self._defects: list[str] = []
        self._end_ns = 0
        self._frames, self._drops = 0, 0
        self._faults: LiveFaults | None = None
        self._stages: Stages | None = None

    def outcome(self) -> Outcome:
        """Run all stages, fetch what they left, and say how it went."""
        with Shield() as shield:
            ending, message = self._guarded(shield)
        if ending == "complete" and self._defects:
            ending, message = "failed", "; ".join(self._defects)
        for remark in (*self._defects, *self._remarks):
            if remark not in message:
                self._progress.say(remark)
        return Outcome(
            outcome=ending,
            message=message,
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            phases=self._phases,
            implementation=self._implementation(),
            captured_frames=self._frames,
            capture_drops=self._drops,
            convergence=tuple(self._faults.tracker.history) if self._faults else (),
        )

    @property
    def _start_ns(self) -> int:
        return self._stages.start_ns if self._stages else 0

    def _guarded(self, shield: Shield) -> tuple[Ending, str]:
        made = ExitStack()
        try:
            try:
                self._go(made)
                return "complete", ""
            finally:
                shield.closing = True
        except Failures as error:
            return "failed", str(error)
        except KeyboardInterrupt as error:
            return "interrupted", str(error) or "interrupted by SIGINT"
        finally:
            with self._phase("stop"):
                made.close()
                self._end_ns = self._end_ns or (self._clock.now_ns() if self._start_ns else 0)

    def _go(self, made: ExitStack) -> None:
        with self._phase("build"):
            registration = register(self._directory.run_id, self._directory.path)
            made.callback(registration.remove)
            registration.note(kind="run", scenario=self._plan.name, started_ns=time.time_ns())
            made.callback(self._merge_events)
            made.callback(self._stop_agents)
            self._log_in()
            together(self._agents.values(), "prepare", self._orders())
            began_ns = self._clock.now_ns()
            together(self._agents.values(), "start_nodes")
        offsets = {name: offset for name, (offset, _) in self._offsets.items()}
        cluster = Cluster(self._plan, self._placement, self._agents, offsets)
        self._conduct(made, Live(self._plan, cluster, cluster, self._clock), began_ns)

    def _conduct(self, made: ExitStack, live: Live, began_ns: int) -> None:
        """As in the emulated world: ready, workload, drain."""
        events = NodeFiles(self._plan, self._directory, self._clock).events("")
        faults = self._faults = LiveFaults(live, events, began_ns)
        stages = self._stages = Stages(self._plan, live, faults, self._progress)
        made.callback(faults.tracker.give_up)
        made.callback(lambda: self._remarks.extend(stages.remarks))
        with self._phase("ready"):
            stages.get_ready()
        with self._phase("workload", scripted_actions(self._plan)):
            stages.work()
        with self._phase("drain"):
            stages.drain()
        self._end_ns = self._clock.now_ns()

    def _log_in(self) -> None:
        for machine in self._machines:
            self._agents[machine.name] = Agent(machine, self._directory.logs)
        for name, agent in self._agents.items():
            agent.await_ready()
            self._offsets[name] = agent.offset_ns()

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
        return {
            name: {
                "run_id": self._directory.run_id,
                "plan": plan,
                "own": self._placement.nodes_on(name),
                "tunnels": tunnels[name],
            }
            for name in addresses
        }

    def _stop_agents(self) -> None:
        """End what runs on the machines, fetch its files, leave nothing there."""
        answering = [agent for agent in self._agents.values() if agent.machine.name in self._offsets]
        asked = [agent for agent in answering if self._try(agent.post, "stop") is not None]
        told = {agent.machine.name: self._try(agent.answer) for agent in asked}
        stopped = [agent for agent in asked if told[agent.machine.name]]
        captured: dict[str, Mapping[str, Any]] = {}
        for agent in stopped:
            name, said = agent.machine.name, told[agent.machine.name]
            self._defects += [f"{name}: {problem}" for problem in said["problems"]]
            self._remarks += [f"{name}: {remark}" for remark in said["remarks"]]
            captured |= said["captured"]
        self._defects += collect(stopped, self._directory, self._placement)
        for agent in stopped:
            self._try(agent.ask, "remove")
        for agent in self._agents.values():
            self._defects += agent.close()
        if captured:
            found = write_index(self._plan, self._directory, self._start_ns, captured)
            self._frames, self._drops = found

    def _try(self, call: Callable[..., Any], *arguments: object) -> Any:
        """What a call to an agent returns, True for nothing; None if it failed, which is noted."""
        try:
            result = call(*arguments)
        except tuple(KINDS.values()) as error:
            self._defects.append(str(error))
            return None
        return True if result is None else result

    def _merge_events(self) -> None:
        files = NodeFiles(self._plan, self._directory, self._clock)
        logs = [files.events(name) for name in ("", *(client.name for client in self._plan.clients))]
        sources = [log for log in logs if log.exists()]
        report = merge_event_logs(sources, self._directory.path / "events.jsonl")
        self._remarks += [f"the event log {where} is cut off" for where in report.cut_off]
        for source in sources:
            source.unlink()

    def _implementation(self) -> dict[str, str]:
        inside = len(self._plan.links) - len(self._placement.links_between(self._plan))
        tunnels = len(self._plan.links) - inside
        shares = (f"{m.name} {len(self._placement.nodes_on(m.name))}" for m in self._machines)
        clocks = (f"{name} {offset:+} ns ± {half}" for name, (offset, half) in self._offsets.items())
        return {
            "codec": "fastpath",
            "links": f"wire {inside}, tunnel {tunnels}",
            "capture": "af_packet" if self._plan.record.captures else "none",
            "machines": ", ".join(shares),
            "clocks": ", ".join(clocks),
        }

    @contextmanager
    def _phase(self, name: str, total: int | None = None) -> Iterator[None]:
        self._progress.phase(name, total)
        began = time.monotonic()
        try:
            yield
        finally:
            self._phases[f"{name}_s"] = round(time.monotonic() - began, 4)
