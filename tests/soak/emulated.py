"""A soak in namespaces: the processes of a network for hours, watched while everything breaks around them."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.quick.judge import judge
from nodes.daemon.json_lines import RefusedError
from testbed.emu import preflight
from testbed.emu.options import EmuOptions
from testbed.live.clients import AdminClient, AdminError
from testbed.live.registry import registry_root
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome, Progress
from tests.soak.drawing import Soak, scenario
from tests.soak.expected import at_moment, drifted
from tests.soak.findings import MESSAGE, SAMPLES_FILE, Findings, counts_of_faults, last_message
from tests.soak.trend import Bound
from tests.soak.watching import CONTROLLER, Bounds, Samples, Watcher

DESCRIPTORS = Bound(a_day=12.0, in_all=1.0)
"""A connection that is looked through may be open just then."""
BOUNDS = Bounds(Bound(a_day=4.0, in_all=0.4), DESCRIPTORS)
"""Of one process of the network. An allocator takes memory in steps."""
BOUNDS_OF_CONTROLLER = Bounds(Bound(a_day=24.0, in_all=4.0), DESCRIPTORS)
"""It notes how long each fixpoint took, and computes what all tables should be."""
SAMPLES = 240
MOST_OFTEN_S = 0.5
TRY_AGAIN_S = 1.0
PATIENCE_HOLDS = 2
"""So many hold times a router may be late with its tables: a busy machine does everything later."""


@dataclass
class Looks:
    """What routers forward by, at the calm of each round, held to the computation over the whole network."""

    plan: Plan
    soak: Soak
    run_id: str
    fixpoints: int = 0
    drifted: list[str] = field(default_factory=list)
    statuses: dict[str, Any] = field(default_factory=dict)
    """Of the last look."""
    defect: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def begin(self, start_ns: int) -> None:
        """Time zero is known."""
        self._thread = threading.Thread(target=self._look_all, args=(start_ns,), name="looks", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """No more looks but one that is due; what went wrong is raised here."""
        self._over.set()
        self._thread.join()
        if self.defect is not None:
            raise self.defect

    def _look_all(self, start_ns: int) -> None:
        try:
            for at_ms in self.soak.looks_ms:
                due_ns = start_ns + at_ms * 1_000_000
                if self._over.wait(max(0.0, (due_ns - time.time_ns()) / 1e9)) and time.time_ns() < due_ns:
                    return
                self._look(at_ms)
        except BaseException as defect:
            self.defect = defect

    def _look(self, at_ms: int) -> None:
        whole = at_moment(self.plan, at_ms)
        deadline = time.monotonic() + PATIENCE_HOLDS * self.soak.hold_ms / 1e3
        while True:
            asked = self._asked()
            wrong = drifted(self.plan, whole, {name: each["tables"]["text"] for name, each in asked.items()})
            if not wrong or time.monotonic() > deadline:
                break
            time.sleep(TRY_AGAIN_S)
        self.fixpoints += 1
        self.drifted += [f"{at_ms / 1000:.0f} s: {each}" for each in wrong]
        self.statuses = {name: each["status"] for name, each in asked.items()}

    def _asked(self) -> dict[str, dict[str, Any]]:
        """The tables and the status of every router."""
        found: dict[str, dict[str, Any]] = {}
        for node in self.plan.routers:
            client = AdminClient(node.name, registry_root() / self.run_id / f"{node.node_id}.sock")
            try:
                found[node.name] = {do: client.ask(do) for do in ("tables", "status")}
            except (AdminError, RefusedError) as error:
                found[node.name] = {"tables": {"text": f"{node.name} does not answer: {error}"}, "status": {}}
            finally:
                client.close()
        return found


class WatchedWorld:
    """The emulated world, whose processes are watched; see `testbed.runs.world.World`."""

    name = "emu"

    def __init__(self, looks: Looks, watcher: Watcher) -> None:
        self._looks = looks
        self._watcher = watcher

    def problems(self, plan: Plan) -> list[str]:
        """Why this plan cannot be emulated here."""
        return preflight.problems(plan, EmuOptions())

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:
        """Run it, and watch from time zero to the end."""
        from testbed.emu.run import EmulatedRun  # Mininet is imported only where it is used

        looks, watcher = self._looks, self._watcher

        class Watched(EmulatedRun):
            """A run that says when its time zero is."""

            def _at_start(self, start_ns: int) -> None:
                super()._at_start(start_ns)
                looks.begin(start_ns)
                watcher.start()

            def _workload_arrived(self, *arguments: Any) -> None:
                watcher.stop()
                looks.end()
                super()._workload_arrived(*arguments)

        return Watched(plan, directory, progress).outcome()


def bounds_of(process: str) -> Bounds:
    """What growth of a process is noise."""
    return BOUNDS_OF_CONTROLLER if process == CONTROLLER else BOUNDS


def soaked(soak: Soak, folder: Path, run_id: str, progress: Progress) -> Findings:
    """Run it, and say what was found."""
    plan = plan_of(scenario(soak))
    every_s = max(MOST_OFTEN_S, soak.lasts_ms / 1000 / SAMPLES)
    samples = Samples(folder / SAMPLES_FILE)
    watcher, looks = Watcher(run_id, every_s, samples), Looks(plan, soak, run_id)
    world = WatchedWorld(looks, watcher)
    if problems := world.problems(plan):
        raise SystemExit("\n".join(problems))
    directory = RunDirectory.create(folder / "run", run_id)
    outcome = conduct(plan, world, directory, progress, scenario=None)
    found = Findings(lasted_s=soak.lasts_ms / 1e3, faults=counts_of_faults(plan.faults))
    found.series = samples.series()
    found.fixpoints, found.drifted = looks.fixpoints, looks.drifted
    if outcome.outcome != "complete":
        found.problems.append(f"the run is {outcome.outcome}: {outcome.message}")
        return found
    found.problems += [f"{outcome.capture_drops} frames were not captured"] * bool(outcome.capture_drops)
    if looks.fixpoints < soak.rounds:
        found.problems.append(f"{looks.fixpoints} of {soak.rounds} looks at all tables were taken")
    judged = judge(directory.path, plan)
    found.judged = {name: judged[name] for name in ("owed", "missing", "duplicate", "spurious", "allowed")}
    with (directory.path / "events.jsonl").open(encoding="utf-8") as file:
        found.highest = {**highest_numbers(looks.statuses), MESSAGE: last_message(map(json.loads, file))}
    return found


def highest_numbers(statuses: dict[str, Any]) -> dict[str, int]:
    """The highest of the numbers that routers count with."""
    cores = [status["core"] for status in statuses.values() if status]
    return {
        "FIB of a router": max((int(core["fib_serial"]) for core in cores), default=0),
        "retransmissions on a link": max(
            (int(each["retransmissions"]) for core in cores for each in core["adjacencies"]), default=0
        ),
    }
