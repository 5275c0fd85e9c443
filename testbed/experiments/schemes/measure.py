"""Runs every scheme over every network and load, one after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from testbed.experiments.kind import DisagreementError
from testbed.experiments.machine import machine
from testbed.experiments.results import finished
from testbed.experiments.schemes.judge import Oracle, row_of
from testbed.experiments.schemes.observed import observe
from testbed.experiments.schemes.rows import Measured, Row
from testbed.experiments.schemes.sweep import Cases
from testbed.sim.simulation import SimulationFailedError

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    """Run all of it.

    Raises:
        DisagreementError: Under some scheme a network did not converge.
    """
    started, measured_on = time.monotonic(), machine()
    sweep: Cases = experiment.sweep
    rows: list[Row] = []
    for at, case in enumerate(sweep.cases, 1):
        shown.phase(f"{experiment.name}, case {at} of {len(sweep.cases)}: {case}", len(case.schemes))
        oracle = Oracle(case, seed)
        for done, scheme in enumerate(case.schemes, 1):
            try:
                rows.append(row_of(oracle, scheme, observe(case, scheme, seed)))
            except SimulationFailedError as error:
                raise DisagreementError(f"{case}, {scheme}: {error}") from error
            shown.advance(done)
    return finished(experiment, seed, started, measured_on, rows)
