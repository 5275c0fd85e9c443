"""A soak in the simulator: days of a large network in one process, which is watched for what it holds."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from analysis.oracle import oracle_of
from testbed.plan.load import plan_of
from testbed.plan.model import Plan
from testbed.runs.world import Progress
from testbed.sim.network import Network
from testbed.sim.scheduler import SimulationStuckError
from testbed.sim.simulation import Simulation, SimulationFailedError
from tests.faults.trial import Score, TableCheck, judge
from tests.soak.drawing import CALM, Soak, scenario
from tests.soak.findings import MESSAGE, SAMPLES_FILE, Findings, counts_of_faults, last_message
from tests.soak.trend import Bound
from tests.soak.watching import Bounds, Samples

NAME = "simulation"
BOUNDS = Bounds(memory=Bound(a_day=1.0, in_all=2.0), descriptors=Bound(a_day=1.0, in_all=1.0))
"""Of the whole simulation, which keeps how long each fixpoint took: some 100 bytes a fault."""
SAMPLES = 40
"""At least."""


class Watched:
    """A simulation whose events go into a file, so that nothing of the past is held but by what is tried."""

    def __init__(self, soak: Soak, plan: Plan, file: TextIO, samples: Samples, progress: Progress) -> None:
        self._samples = samples
        self.tables = TableCheck(plan)
        self.problems: list[str] = []
        self._soak = soak
        self._file = file
        self._progress = progress
        self.simulation = Simulation(plan, "soak", self._note, on_converged=self.tables.look)

    def run(self) -> None:
        """All of it."""
        simulation, progress = self.simulation, self._progress
        try:
            progress.phase("ready")
            simulation.get_ready()
            for at_ms in sample_times_ms(self._soak):
                simulation.scheduler.at(simulation.start_ns + at_ms * 1_000_000, self._sample, at_ms)
            progress.phase("workload", self._soak.lasts_ms // 1000)
            simulation.work()
            progress.phase("drain")
            simulation.drain()
        except (SimulationFailedError, SimulationStuckError, AssertionError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")

    def _note(self, event: dict[str, Any]) -> None:
        self.tables.take(event)
        self._file.write(json.dumps(event) + "\n")

    def _sample(self, at_ms: int, _: None) -> None:
        gc.collect()  # what waits for the search for cycles is no leak
        self._samples.take(at_ms / 1000, [(NAME, os.getpid())])
        self._progress.advance(at_ms // 1000)


def sample_times_ms(soak: Soak) -> Iterator[int]:
    """In the calm of each round, once or several times."""
    each = max(1, -(-SAMPLES // soak.rounds))
    begins, ends = CALM * soak.hold_ms, soak.round_ms
    for number in range(soak.rounds):
        for sample in range(each):
            yield number * soak.round_ms + begins + (ends - begins) * (sample + 1) // (each + 1)


def bounds_of(_: str) -> Bounds:
    """Of the one process that there is."""
    return BOUNDS


def soaked(soak: Soak, folder: Path, progress: Progress) -> Findings:
    """Run it, and say what was found."""
    plan = plan_of(scenario(soak))
    path, samples = folder / "events.jsonl", Samples(folder / SAMPLES_FILE)
    with path.open("w", encoding="utf-8") as file:
        watched = Watched(soak, plan, file, samples, progress)
        watched.run()
    progress.phase("judge")
    tables = watched.tables
    found = Findings(lasted_s=soak.lasts_ms / 1e3, faults=counts_of_faults(plan.faults))
    found.series, found.problems = samples.series(), watched.problems
    found.fixpoints, found.drifted = tables.fixpoints, tables.problems
    score = Score()
    with path.open(encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    found.highest = {**highest_numbers(watched.simulation.network), MESSAGE: last_message(events)}
    ids = {node.name: node.node_id for node in plan.nodes}
    judge(score, oracle_of(plan, events, watched.simulation.start_ns), events, ids)
    found.judged = {
        name: getattr(score, name) for name in ("owed", "missing", "duplicate", "spurious", "allowed")
    }
    return found


def highest_numbers(network: Network) -> dict[str, int]:
    """The highest of the numbers that routers count with."""
    cores = network.cores.values()
    return {
        "FIB of a router": max(core.installer.serial for core in cores),
        "number of links announced": max(core.linkstate.database.records.own.value for core in cores),
        "retransmissions on a link": max(link.retransmissions for core in cores for link in core.links),
    }
