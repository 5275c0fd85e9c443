"""One run in the emulated world, stage by stage, and its undoing.

    build     namespaces and links, captures running, node processes started
    ready     the network agrees with itself
    workload  the clients do what their scripts say
    drain     everything sent has arrived
    stop      nodes, captures, events, namespaces: also when a stage has failed

Whatever is made is entered on a stack when it is made and undone from there in
reverse, so that a failure, an interruption or a defect at any point leaves
nothing behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from testbed.emu.admin import AdminError
from testbed.emu.cgroups import Shares
from testbed.emu.clock import EmulatedClock
from testbed.emu.commands import NetworkError
from testbed.emu.faults import EmulatedFaults
from testbed.emu.interruption import Shield
from testbed.emu.links.cabling import Cabling
from testbed.emu.links.site import Site
from testbed.emu.live import FaultError, Live
from testbed.emu.measuring import Measuring
from testbed.emu.network import Network
from testbed.emu.node_files import NodeFiles
from testbed.emu.nodes import Nodes, NotReadyError
from testbed.emu.nursery import Nursery
from testbed.emu.options import EmuOptions
from testbed.emu.preflight import raise_descriptor_limit
from testbed.emu.processes import ProcessDiedError, Watch
from testbed.emu.recorder import Recorder
from testbed.emu.registry import Registration, RegistryError, register
from testbed.emu.scripts import scripted_actions
from testbed.emu.stages import Stages
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.events import merge_event_logs
from testbed.runs.world import Outcome, Progress

REAL_PHASES = ("build",)
"""Besides `stop`, what takes real seconds; the other phases are timed in the run's own."""

Ending = Literal["complete", "failed", "interrupted"]
Failures = (ProcessDiedError, NotReadyError, NetworkError, AdminError, RegistryError, FaultError)
"""What may go wrong with a run without anything being wrong with the testbed."""


class EmulatedRun:
    """The stages of one run. Use `outcome` once."""

    def __init__(
        self, plan: Plan, directory: RunDirectory, progress: Progress, options: EmuOptions | None = None
    ) -> None:
        self._plan = plan
        self._options = options or EmuOptions()
        self._clock = EmulatedClock(self._options.dilate)
        self._directory = directory
        self._progress = progress
        self._watch = Watch()
        self._links: Cabling | None = None
        slowed = self._clock.dilate, self._clock.dilate_from_ns
        self._recorder = Recorder(plan, directory, *slowed)
        self._measuring = Measuring(plan, self._options.dilate)
        self._phases: dict[str, float] = {}
        self._remarks: list[str] = []
        """What a person should know of a run that went well all the same."""
        self._defects: list[str] = []
        """What went wrong while stopping; a run cannot be complete with any."""
        self._end_ns = 0
        self._faults: EmulatedFaults | None = None
        self._stages: Stages | None = None

    def outcome(self) -> Outcome:
        """Run all stages, clean up, and say how it went."""
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
            start_ns=self._start_ns(),
            end_ns=self._end_ns,
            phases=self._phases,
            implementation=self._implementation(),
            capture_packets=self._recorder.packets,
            capture_drops=self._recorder.drops,
            convergence=tuple(self._faults.tracker.history) if self._faults else (),
            fidelity=self._measuring.fidelity(self._recorder.packets, self._recorder.drops),
            dilate=self._options.dilate,
        )

    def _start_ns(self) -> int:
        return self._stages.start_ns if self._stages else 0

    def _guarded(self, shield: Shield) -> tuple[Ending, str]:
        """The stages, then the undoing of what they made, which no signal interrupts."""
        made = ExitStack()
        try:
            try:
                self._go(made, shield)
                return "complete", ""
            finally:
                shield.closing = True
        except Failures as error:
            return "failed", str(error)
        except KeyboardInterrupt as error:
            return "interrupted", str(error) or "interrupted by SIGINT"
        finally:
            self._stop(made)

    def _stop(self, made: ExitStack) -> None:
        began = time.monotonic()
        try:
            self._progress.phase("stop")
        finally:
            made.close()
            self._end_ns = self._end_ns or (self._clock.now_ns() if self._start_ns() else 0)
            self._phases["stop_s"] = round(time.monotonic() - began, 4)

    def _go(self, made: ExitStack, shield: Shield) -> None:
        raise_descriptor_limit(self._plan)
        with self._phase("build"):
            with shield.hold():
                registration = register(self._directory.run_id, self._directory.path)
                made.callback(registration.remove)
                registration.note(**self._facts())
                nursery = self._prepare(made, registration)
                made.callback(lambda: self._remarks.extend(self._measuring.stop()))
                self._measuring.start(registration.environment(), self._directory.logs)
                network = self._build(made, registration)
            self._measuring.probe(network.pid, self._links)
            with shield.hold():
                self._record(made, registration, network)
            if self._recorder.child is not None:
                self._recorder.await_ready(self._watch)
            with shield.hold():
                began_ns = self._clock.now_ns()
                nodes = self._populate(made, registration, network, nursery)
        self._conduct(made, Live(self._plan, network, self._links, nodes, self._clock), began_ns)

    def _conduct(self, made: ExitStack, live: Live, began_ns: int) -> None:
        """What happens to the network once its nodes have been started, at that time."""
        files = live.nodes.files
        faults = self._faults = EmulatedFaults(live, files.events(""), began_ns)
        stages = self._stages = self._staged(live, faults)
        made.callback(faults.tracker.give_up)
        made.callback(lambda: self._remarks.extend(stages.remarks))
        with self._phase("ready"):
            stages.get_ready()
        self._measuring.begin(live)
        with self._phase("workload", scripted_actions(self._plan)):
            stages.work()
        with self._phase("drain"):
            stages.drain()
            live.nodes.weigh()
        self._end_ns = self._clock.now_ns()
        self._measuring.end(live, stages.late_starts, faults.late)

    def _facts(self) -> dict[str, object]:
        """What `cbn ps` says of the run."""
        return {
            "kind": "run",
            "scenario": self._plan.name,
            "started_ns": time.time_ns(),
            "node_count": len(self._plan.nodes),
        }

    def _staged(self, live: Live, faults: EmulatedFaults) -> Stages:
        return Stages(self._plan, live, faults, self._progress)

    def _prepare(self, made: ExitStack, registration: Registration) -> Nursery:
        """Let what the nodes are forked from get warm while the network is built."""
        nursery = Nursery(registration.environment(), self._directory.logs / "nursery.log")
        made.callback(lambda: self._defects.extend(nursery.stop()))
        self._watch.add(nursery.child)
        return nursery

    def _build(self, made: ExitStack, registration: Registration) -> Network:
        environment = registration.environment()
        network = Network(self._plan, environment, self._directory.logs)
        made.callback(lambda: self._defects.extend(network.stop()))
        folders = self._directory.config, self._directory.logs
        site = Site(self._plan, network.pid, network.inside, environment, *folders, self._options.dilate)
        links = self._links = Cabling(site, self._options)
        made.callback(lambda: self._defects.extend(links.stop()))
        network.build(links.build)
        for child in links.children:
            self._watch.add(child)
        return network

    def _record(self, made: ExitStack, registration: Registration, network: Network) -> None:
        """Before any node is started: the captures are to hold the first packet of the first."""
        made.callback(self._merge_events)
        made.callback(self._watch.close)
        if self._plan.record.captures:
            made.callback(self._stop_recorder)
            self._recorder.start(network.pid, registration.environment(), self._watch)

    def _populate(
        self, made: ExitStack, registration: Registration, network: Network, nursery: Nursery
    ) -> Nodes:
        files = NodeFiles(self._plan, self._directory, self._clock)
        shares = Shares(self._plan, self._directory.run_id)
        made.callback(shares.remove)
        shares.make()
        nodes = Nodes(self._plan, files, registration, self._watch, nursery, network.pid, shares)
        made.callback(lambda: nodes.resources.write(self._directory, nodes.children))
        made.callback(lambda: self._defects.extend(nodes.stop()))
        nodes.start()
        return nodes

    def _stop_recorder(self) -> None:
        self._defects.extend(self._recorder.stop())
        self._remarks.extend(self._recorder.losses())
        if self._recorder.counters:
            self._defects.extend(self._recorder.write_index(self._start_ns()))

    def _merge_events(self) -> None:
        files = NodeFiles(self._plan, self._directory, self._clock)
        logs = [files.events(name) for name in ("", *(client.name for client in self._plan.clients))]
        sources = [log for log in logs if log.exists()]
        report = merge_event_logs(sources, self._directory.path / "events.jsonl")
        self._remarks += [f"the event log {where} is cut off" for where in report.cut_off]
        for source in sources:
            source.unlink()

    def _implementation(self) -> dict[str, str]:
        capture = "af_packet" if self._plan.record.captures else "none"
        links = self._links.told() if self._links is not None else {"links": "none"}
        return {"codec": "fastpath", **links, "capture": capture}

    @contextmanager
    def _phase(self, name: str, total: int | None = None) -> Iterator[None]:
        self._progress.phase(name, total)
        now_s = time.monotonic if name in REAL_PHASES else self._clock.now_s
        began = now_s()
        try:
            yield
        finally:
            self._phases[f"{name}_s"] = round(now_s() - began, 4)
