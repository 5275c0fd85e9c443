"""The simulated world: runs a plan's phases on simulated time.

Phases are those of every world: build, ready (the network converges), workload
(the scripts run, and things break), drain (until no message is on its way), stop.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.events import EventLog
from testbed.runs.faults import Convergence
from testbed.runs.fidelity import EXACT
from testbed.runs.world import Outcome, Progress, not_carried_out
from testbed.sim.recording import Recording
from testbed.sim.scheduler import SimulationStuckError
from testbed.sim.simulation import EPOCH_NS, Simulation, SimulationFailedError

_SECOND = 1_000_000_000
IMPLEMENTATION = {
    "codec": "fastpath",
    "forwarding": "fastpath",
    "links": "simulated",
    "capture": "simulated",
    "clock": "simulated",
}


class SimulatedWorld:
    """Deterministic, in process, without root: the same plan and seed give the same bytes."""

    name = "sim"

    def problems(self, plan: Plan) -> list[str]:
        """Whatever can be planned can be simulated, but for programs, whose time is real."""
        return [
            f"{plan.scenario_path}: clients.{client.name}.run: the simulator cannot run a program "
            f"(`{shlex.join(client.run)}`), since its time is not real: use `--world emu`"
            for client in plan.programs
        ]

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Run the plan to its end, or to where it fails or is interrupted."""
        run = _Run(plan, directory, progress)
        try:
            run.perform()
            return run.outcome("complete", "")
        except (SimulationFailedError, SimulationStuckError) as error:
            return run.outcome("failed", str(error))
        except OSError as error:
            return run.outcome("failed", f"cannot write {error.filename or directory.path}: {error.strerror}")
        except KeyboardInterrupt as interruption:
            return run.outcome("interrupted", str(interruption) or "interrupted")


class _Run:
    """One run and how far it has come."""

    def __init__(self, plan: Plan, directory: RunDirectory, progress: Progress) -> None:
        self._plan = plan
        self._directory = directory
        self._progress = progress
        self._phases: dict[str, float] = {}
        self._start_ns, self._end_ns = 0, EPOCH_NS
        self._convergence: tuple[Convergence, ...] = ()
        self._packets = 0

    def perform(self) -> None:
        """Go through the phases; whatever happens, what was recorded is written."""
        self._progress.phase("build")
        self._phases["build_s"] = 0.0
        with EventLog(self._directory.events) as events:
            recording = Recording(self._plan, self._directory)
            simulation = Simulation(
                self._plan,
                self._directory.run_id,
                events.add,
                log_of=recording.log_of,
                captures=recording.captures,
            )
            try:
                self._conduct(simulation)
            finally:
                self._progress.phase("stop")
                self._phases["stop_s"] = 0.0
                self._note(simulation, recording)
                recording.finish(simulation.network.nodes, simulation.start_ns)

    def outcome(self, how: str, message: str) -> Outcome:
        """How the run ended."""
        assert how in {"complete", "failed", "interrupted"}
        return Outcome(
            outcome=how,  # type: ignore[arg-type]
            message=message,
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            phases=self._phases,
            implementation=IMPLEMENTATION,
            captured_frames=self._packets,
            convergence=self._convergence,
            fidelity=EXACT if how == "complete" else None,
        )

    def _conduct(self, simulation: Simulation) -> None:
        total = sum(len(node.script) for node in self._plan.clients)
        self._timed(simulation, "ready", None, simulation.get_ready)
        self._timed(simulation, "workload", total, lambda: simulation.work(self._progress.advance))
        self._timed(simulation, "drain", None, simulation.drain)
        self._report_failed_actions(simulation)

    def _timed(
        self, simulation: Simulation, phase: str, total: int | None, perform: Callable[[], None]
    ) -> None:
        """Perform a phase and note the simulated seconds it took."""
        self._progress.phase(phase, total)
        before_ns = simulation.scheduler.now_ns
        perform()
        self._phases[f"{phase}_s"] = (simulation.scheduler.now_ns - before_ns) / _SECOND

    def _note(self, simulation: Simulation, recording: Recording) -> None:
        self._start_ns, self._end_ns = simulation.start_ns, simulation.scheduler.now_ns
        self._convergence = tuple(simulation.faults.tracker.history)
        self._packets = recording.packets

    def _report_failed_actions(self, simulation: Simulation) -> None:
        statuses = simulation.network.statuses()
        failed = {name: int(str(status.get("script_failed", 0))) for name, status in statuses.items()}
        for line in not_carried_out(failed):
            self._progress.say(line)
