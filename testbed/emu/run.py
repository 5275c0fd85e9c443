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

from nodes.daemon.clock import Clock
from testbed.emu.background import Background
from testbed.emu.children import Watch
from testbed.emu.interruption import Shield
from testbed.emu.measuring import Measuring
from testbed.emu.network import CbnNet, EmulatedLive
from testbed.emu.nodes import NodeFiles
from testbed.emu.options import EmuOptions
from testbed.emu.preflight import raise_descriptor_limit
from testbed.emu.recorder import Recorder
from testbed.live.clients import AdminError
from testbed.live.fabric import NetworkError, NotReadyError, ProcessDiedError
from testbed.live.faults import LiveFaults
from testbed.live.live import FaultError
from testbed.live.registry import Registration, RegistryError, register
from testbed.live.stages import Stages
from testbed.live.traffic import scripted_actions
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
        # The run waits for two kinds of things (decision 15). Of the emulation (a script to be over, messages
        # to come to rest): that takes the clock's time. Of the machine (a process to start, to answer, to
        # end): those are real seconds, however slow the run's time goes.
        self._clock = Clock.starting_now(self._options.dilate)
        self._directory = directory
        self._progress = progress
        self._watch = Watch()
        capture = "af_packet" if plan.record.captures else "none"
        self._implementation = {"codec": "fastpath", "links": "none", "capture": capture}
        slowed = self._clock.dilate, self._clock.dilate_from_ns
        self._recorder = Recorder(plan, directory, *slowed)
        self._background = Background(plan, directory, *slowed)
        self._measuring = Measuring(plan, self._options.dilate)
        self._phases: dict[str, float] = {}
        self._remarks: list[str] = []
        """What a person should know of a run that went well all the same."""
        self._defects: list[str] = []
        """What went wrong while stopping; a run cannot be complete with any."""
        self._end_ns = 0
        self._faults: LiveFaults | None = None
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
            implementation=self._implementation,
            captured_frames=self._recorder.frames,
            capture_drops=self._recorder.drops,
            convergence=tuple(self._faults.tracker.history) if self._faults else (),
            fidelity=self._measuring.fidelity(self._recorder.frames, self._recorder.drops),
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
                network = self._network(made, registration)
                made.callback(lambda: self._remarks.extend(self._measuring.stop()))
                self._measuring.start(registration.environment(), self._directory.logs)
                network.build()
                self._implementation |= network.implementation()
            self._measuring.probe(network)
            with shield.hold():
                self._record(made, registration, network)
            if self._recorder.child is not None:
                self._recorder.await_ready()
            with shield.hold():
                began_ns = self._clock.now_ns()
                made.callback(lambda: self._defects.extend(network.stop_nodes()))
                network.start()
        assert network.live is not None
        self._conduct(made, network.live, began_ns)

    def _conduct(self, made: ExitStack, live: EmulatedLive, began_ns: int) -> None:
        """What happens to the network once its nodes have been started, at that time."""
        files = live.nodes.files
        faults = self._faults = LiveFaults(live, files.events(""), began_ns)
        stages = self._stages = self._staged(live, faults)
        stages.at_start = self._background.begin
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

    def _staged(self, live: EmulatedLive, faults: LiveFaults) -> Stages:
        return Stages(self._plan, live, faults, self._progress)

    def _network(self, made: ExitStack, registration: Registration) -> CbnNet:
        """The network, to be undone however the run ends; what takes long to start is started."""
        network = CbnNet(
            self._plan,
            registration,
            self._directory,
            options=self._options,
            clock=self._clock,
            watch=self._watch,
        )
        made.callback(lambda: self._defects.extend(network.stop()))
        network.prepare()
        return network

    def _record(self, made: ExitStack, registration: Registration, network: CbnNet) -> None:
        """Before any node is started: the captures are to hold the first packet of the first."""
        made.callback(self._merge_events)
        made.callback(self._watch.close)
        if self._plan.record.captures:
            made.callback(self._stop_recorder)
            self._recorder.start(network.pid, registration.environment(), self._watch)
        if self._plan.background:
            made.callback(self._stop_background)
            self._background.start(network.pid, registration.environment(), self._watch)

    def _stop_background(self) -> None:
        defects, remarks = self._background.stop()
        self._defects.extend(defects)
        self._remarks.extend(remarks)

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

    @contextmanager
    def _phase(self, name: str, total: int | None = None) -> Iterator[None]:
        self._progress.phase(name, total)
        now_s = time.monotonic if name in REAL_PHASES else self._clock.now_s
        began = now_s()
        try:
            yield
        finally:
            self._phases[f"{name}_s"] = round(now_s() - began, 4)
