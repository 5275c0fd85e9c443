"""Carries out Fig. 5: for each universe, distribution and reading, many unions of growing size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

from testbed.experiments.alpha_general.draws import Urn, alphas, expected_alpha
from testbed.experiments.alpha_general.rows import DRAWS, SETS, UNIFORM, ZIPF, Measured, Row
from testbed.experiments.alpha_general.sweep import Universes
from testbed.experiments.machine import machine
from testbed.experiments.results import finished

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


@dataclass(frozen=True, slots=True)
class _Case:
    universe: int
    distribution: str
    reading: str

    def __str__(self) -> str:
        return f"{self.universe:,} messages, {self.distribution}, predicates as {self.reading}"


def measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    """Draw all unions."""
    started, measured_on = time.monotonic(), machine()
    sweep: Universes = experiment.sweep
    cases = [_Case(*each) for each in product(sweep.universes, (UNIFORM, ZIPF), (SETS, DRAWS))]
    rows: list[Row] = []
    for at, case in enumerate(cases, 1):
        shown.phase(f"{experiment.name}, curve {at} of {len(cases)}: {case}", sweep.repeat)
        rows += _rows(case, sweep, seed, shown)
    return finished(experiment, seed, started, measured_on, rows, repeat=sweep.repeat)


def _rows(case: _Case, sweep: Universes, seed: int, shown: Progress) -> Iterator[Row]:
    size, numbers = case.universe // sweep.one_in, sorted(sweep.numbers)
    found: list[list[float]] = []
    for done in range(1, sweep.repeat + 1):
        urn = Urn(
            case.universe,
            case.distribution,
            f"{seed}/{case.universe}/{case.distribution}/{case.reading}/{done}",
        )
        found.append(list(alphas(urn, case.reading, size, numbers)))
        shown.advance(done)
    for number, values in zip(numbers, zip(*found, strict=True), strict=True):
        yield Row(
            universe=case.universe,
            distribution=case.distribution,
            reading=case.reading,
            size=size,
            number=number,
            repeat=sweep.repeat,
            expected=round(expected_alpha(case.universe, size, number), 5),
            alpha_mean=round(fmean(values), 5),
            alpha_min=round(min(values), 5),
            alpha_max=round(max(values), 5),
        )
