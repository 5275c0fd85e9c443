"""The simulated world: runs a plan's phases on simulated time.

Phases are those of every world: build, ready (the network converges), workload
(the scripts run), drain (until no message is on its way), stop.
"""

from __future__ import annotations

from collections.abc import Callable

from nodes.convergence import unconverged
from testbed.plan.model import Plan
from testbed.runs.directory import RunDirectory
from testbed.runs.events import EventLog
from testbed.runs.world import Outcome, Progress
from testbed.sim.network import Network
from testbed.sim.scheduler import Scheduler, SimulationStuckError

EPOCH_NS = 946_684_800 * 1_000_000_000
"""2000-01-01 UTC: where the simulated clock starts."""

READY_CHECK_NS = 10_000_000
"""How often, in simulated time, the network is asked whether it has converged."""

SLICE_EVENTS = 20_000
"""Events between two reports of progress."""

_SHOWN = 5
_SECOND = 1_000_000_000
IMPLEMENTATION = {
    "codec": "fastpath",
    "forwarding": "fastpath",
    "links": "simulated",
    "capture": "simulated",
    "clock": "simulated",
}


class _RunFailedError(Exception):
    """The run cannot go on; the text says why."""


class SimulatedWorld:
    """Deterministic, in process, without root: the same plan and seed give the same bytes."""

    name = "sim"

    def problems(self, plan: Plan) -> list[str]:
        """Whatever can be planned can be simulated."""
        del plan
        return []

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Run the plan to its end, or to where it fails or is interrupted."""
        run = _Run(plan, directory, progress)
        try:
            run.perform()
            return run.outcome("complete", "")
        except (_RunFailedError, SimulationStuckError) as error:
            return run.outcome("failed", str(error))
        except OSError as error:
            return run.outcome("failed", f"cannot write {error.filename or directory.path}: {error.strerror}")
        except KeyboardInterrupt as interruption:
            return run.outcome("interrupted", str(interruption) or "interrupted")


class _Run:
    """One run: its clock, its network and how far it has come."""

    def __init__(self, plan: Plan, directory: RunDirectory, progress: Progress) -> None:
        self._plan = plan
        self._directory = directory
        self._progress = progress
        self._scheduler = Scheduler(EPOCH_NS)
        self._start_ns = 0
        self._phases: dict[str, float] = {}
        self._packets = 0

    def perform(self) -> None:
        """Go through the phases; whatever happens, what was recorded is written."""
        self._progress.phase("build")
        self._phases["build_s"] = 0.0
        with EventLog(self._directory.events) as events:
            network = Network(self._plan, self._directory, self._scheduler, events.add)
            try:
                self._timed("ready", lambda: self._get_ready(network))
                self._timed("workload", lambda: self._work(network))
                self._timed("drain", lambda: self._drain(network))
            finally:
                self._progress.phase("stop")
                self._phases["stop_s"] = 0.0
                self._finish(network)

    def outcome(self, how: str, message: str) -> Outcome:
        """How the run ended."""
        assert how in {"complete", "failed", "interrupted"}
        return Outcome(
            outcome=how,  # type: ignore[arg-type]
            message=message,
            start_ns=self._start_ns,
            end_ns=self._scheduler.now_ns,
            phases=self._phases,
            implementation=IMPLEMENTATION,
            capture_packets=self._packets,
        )

    def _timed(self, phase: str, perform: Callable[[], None]) -> None:
        """Perform a phase and note the simulated seconds it took."""
        before_ns = self._scheduler.now_ns
        perform()
        self._phases[f"{phase}_s"] = (self._scheduler.now_ns - before_ns) / _SECOND

    def _get_ready(self, network: Network) -> None:
        self._progress.phase("ready")
        limit_ns = EPOCH_NS + self._plan.timing.ready_timeout_ns
        network.start()
        while waiting := unconverged(network.statuses()):
            if self._scheduler.now_ns >= limit_ns:
                raise _RunFailedError(_not_ready(waiting, self._plan.timing.ready_timeout_ns))
            self._run(min(self._scheduler.now_ns + READY_CHECK_NS, limit_ns))
        self._start_ns = self._scheduler.now_ns

    def _work(self, network: Network) -> None:
        actions = [action for node in self._plan.clients for action in node.script]
        end_ns = self._start_ns + max((action.at_ns for action in actions), default=0)
        self._progress.phase("workload", len(actions))
        for client in network.clients:
            client.start_script()
        self._run(end_ns, report=lambda: self._progress.advance(sum(c.acted for c in network.clients)))

    def _drain(self, network: Network) -> None:
        self._progress.phase("drain")
        limit_ns = self._scheduler.now_ns + self._plan.timing.drain_timeout_ns

        self._run(limit_ns, done=lambda: not network.flight.messages)
        if network.flight.messages:
            raise _RunFailedError(
                f"{network.flight.messages} datagrams with messages were still on their way "
                f"{self._plan.timing.drain_timeout_ns / _SECOND:g} s after the last action"
            )
        self._report_failed_actions(network)

    def _report_failed_actions(self, network: Network) -> None:
        for name, status in network.statuses().items():
            if failed := status.get("script_failed"):
                self._progress.say(
                    f"{failed} actions of {name} could not be carried out: see logs/{name}.jsonl"
                )

    def _run(
        self,
        limit_ns: int,
        done: Callable[[], bool] | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        while not self._scheduler.run(limit_ns, SLICE_EVENTS, done):
            report()
        report()

    def _finish(self, network: Network) -> None:
        network.flush()
        network.write_status()
        if self._plan.record.captures:
            network.write_index(self._start_ns)
        self._packets = sum(capture.packets for capture in network.captures.values())


def _not_ready(waiting: list[str], timeout_ns: int) -> str:
    more = [f"and {len(waiting) - _SHOWN} more"] if len(waiting) > _SHOWN else []
    reasons = "; ".join([*waiting[:_SHOWN], *more])
    return f"the network was not ready after {timeout_ns / _SECOND:g} s of simulated time: {reasons}"
