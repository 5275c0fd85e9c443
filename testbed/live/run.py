"""The frame of one run in real time: its stages, its undoing, and what is said of it.

    build     what runs is made; its node processes are started
    ready     the network agrees with itself
    workload  the clients do what their scripts say
    drain     everything sent has arrived
    stop      what was made is undone: also when a stage has failed

Whatever is made is entered on a stack when it is made and undone from there in
reverse, so that a failure, an interruption or a defect at any point leaves
nothing behind. A world subclasses `LiveRun` and says how its networks are built.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from nodes.daemon.clock import Clock
from testbed.live.clients import AdminError
from testbed.live.fabric import FaultError, NetworkError, NotReadyError, ProcessDiedError
from testbed.live.faults import LiveFaults
from testbed.live.interruption import Shield
from testbed.live.live import Live
from testbed.live.registry import Registration, RegistryError, register
from testbed.live.stages import Stages
from testbed.live.traffic import scripted_actions
from testbed.plan.model import Plan
from testbed.plan.recorded import MachineRecord
from testbed.runs.directory import RunDirectory
from testbed.runs.events import merge_event_logs
from testbed.runs.fidelity import Fidelity
from testbed.runs.world import Outcome, Progress

REAL_PHASES = ("build",)
"""Besides `stop`, what takes real seconds; the other phases are timed in the run's own."""

Ending = Literal["complete", "failed", "interrupted"]
Failures = (ProcessDiedError, NotReadyError, NetworkError, AdminError, RegistryError, FaultError)
"""What may go wrong with a run without anything being wrong with the testbed."""

Network = TypeVar("Network", bound=Live)


@dataclass(frozen=True, slots=True)
class Results:
    """What a world knows of a run once it is stopped."""

    implementation: Mapping[str, str]
    captured_frames: int
    capture_drops: int
    fidelity: Fidelity | None = None
    machines: Mapping[str, MachineRecord] = field(default_factory=dict)
    """Of a run on several."""


class LiveRun(ABC, Generic[Network]):
    """The stages of one run. Use `outcome` once.

    Args:
        plan: What is run.
        directory: Where what it leaves goes.
        progress: Where it says how far it is.
        dilate: How many times slower than real time the run's time goes.
    """

    def __init__(self, plan: Plan, directory: RunDirectory, progress: Progress, *, dilate: int = 1) -> None:
        self._plan = plan
        # The run waits for two kinds of things (decision 15). Of the network (a script to be over, messages
        # to come to rest): that takes the clock's time. Of machines (a process to start, to answer, to
        # end): those are real seconds, however slow the run's time goes.
        self._clock = Clock.starting_now(dilate)
        self._directory = directory
        self._progress = progress
        self._phases: dict[str, float] = {}
        self._remarks: list[str] = []
        """What a person should know of a run that went well all the same."""
        self._defects: list[str] = []
        """What went wrong while stopping; a run cannot be complete with any."""
        self._end_ns = 0
        self._faults: LiveFaults | None = None
        self._stages: Stages | None = None

    @abstractmethod
    def _build(self, made: ExitStack, shield: Shield, registration: Registration) -> tuple[Network, int]:
        """Make the network and start its nodes.

        Args:
            made: Takes the undoing of whatever is made, when it is made.
            shield: Puts signals off between making a thing and noting its undoing.
            registration: Of the run.

        Returns:
            The network, and when its first node was started.
        """

    @abstractmethod
    def _results(self) -> Results:
        """What is known of the run; called once it has been stopped."""

    def _facts(self) -> dict[str, object]:
        """What `cbn ps` says of the run."""
        return {
            "kind": "run",
            "scenario": self._plan.name,
            "started_ns": time.time_ns(),
            "node_count": len(self._plan.nodes),
        }

    def _staged(self, live: Network, faults: LiveFaults) -> Stages:
        """What carries out the stages from `ready` to `drain`."""
        return Stages(self._plan, live, faults, self._progress)

    def _at_start(self, start_ns: int) -> None:
        """The scenario's time zero is known, just before it."""

    def _workload_begins(self, live: Network) -> None:
        """The network is ready."""

    def _workload_arrived(self, live: Network, stages: Stages, faults: LiveFaults) -> None:
        """Everything sent has arrived; the nodes still run."""

    def outcome(self) -> Outcome:
        """Run all stages, clean up, and say how it went."""
        with Shield() as shield:
            ending, message = self._guarded(shield)
        if ending == "complete" and self._defects:
            ending, message = "failed", "; ".join(self._defects)
        for remark in (*self._defects, *self._remarks):
            if remark not in message:
                self._progress.say(remark)
        results = self._results()
        return Outcome(
            outcome=ending,
            message=message,
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            phases=self._phases,
            implementation=results.implementation,
            captured_frames=results.captured_frames,
            capture_drops=results.capture_drops,
            convergence=tuple(self._faults.tracker.history) if self._faults else (),
            fidelity=results.fidelity,
            machines=results.machines,
            dilate=self._clock.dilate,
        )

    @property
    def _start_ns(self) -> int:
        """The scenario's time zero; 0 until it is known."""
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
            self._end_ns = self._end_ns or (self._clock.now_ns() if self._start_ns else 0)
            self._phases["stop_s"] = round(time.monotonic() - began, 4)

    def _go(self, made: ExitStack, shield: Shield) -> None:
        with self._phase("build"):
            with shield.hold():
                registration = register(self._directory.run_id, self._directory.path)
                made.callback(registration.remove)
                registration.note(**self._facts())
                made.callback(self._merge_events)
            live, began_ns = self._build(made, shield, registration)
        self._conduct(made, live, began_ns)

    def _conduct(self, made: ExitStack, live: Network, began_ns: int) -> None:
        """What happens to the network once its nodes have been started, at that time."""
        faults = self._faults = LiveFaults(live, self._directory.events_of(""), began_ns)
        stages = self._stages = self._staged(live, faults)
        stages.at_start = self._at_start
        made.callback(faults.tracker.give_up)
        made.callback(lambda: self._remarks.extend(stages.remarks))
        with self._phase("ready"):
            stages.get_ready()
        self._workload_begins(live)
        with self._phase("workload", scripted_actions(self._plan)):
            stages.work()
        with self._phase("drain"):
            stages.drain()
        self._end_ns = self._clock.now_ns()
        self._workload_arrived(live, stages, faults)

    def _merge_events(self) -> None:
        names = ("", *(client.name for client in self._plan.clients))
        sources = [log for name in names if (log := self._directory.events_of(name)).exists()]
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
