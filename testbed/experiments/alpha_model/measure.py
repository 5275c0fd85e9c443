"""Carries out Figs. 6 and 7: many disjunctions over each set of names, grown and reduced by both rules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from statistics import quantiles
from typing import TYPE_CHECKING

from fastpath.cover import PredicateSet, count
from nodes.model import Filter
from nodes.wire.codec import encode_filter
from testbed.experiments.alpha_model.predicates import Vocabulary
from testbed.experiments.alpha_model.reduction import Disjunction
from testbed.experiments.alpha_model.rows import KERNEL, PAIRS, Measured, Row
from testbed.experiments.alpha_model.sweep import Disjunctions, Names
from testbed.experiments.machine import machine
from testbed.experiments.results import finished

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress


def measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    """Grow all disjunctions."""
    started, measured_on = time.monotonic(), machine()
    sweep: Disjunctions = experiment.sweep
    rows: list[Row] = []
    for names in sweep.names:
        shown.phase(f"{experiment.name}, {names}", sweep.repeat)
        rows += _rows(names, sweep, seed, shown)
    return finished(experiment, seed, started, measured_on, rows, repeat=sweep.repeat)


def alphas(names: Names, numbers: list[int], rng: Random) -> Iterator[dict[str, float]]:
    """The advantage by either rule of one growing disjunction, at each of the ascending numbers."""
    vocabulary = Vocabulary(names, rng)
    pairs, kernel = Disjunction(), PredicateSet()
    drawn = done = 0
    for number in numbers:
        for conjunction in vocabulary.conjunctions(number - done):
            pairs.add(conjunction)
            kernel.add(encode_filter(Filter(conjunction)))
            drawn += len(conjunction)
        done = number
        yield {PAIRS: pairs.constraints / drawn, KERNEL: count(kernel.roots())[1] / drawn}


def _rows(names: Names, sweep: Disjunctions, seed: int, shown: Progress) -> Iterator[Row]:
    numbers = sorted(sweep.numbers)
    found: list[list[dict[str, float]]] = []
    for done in range(1, sweep.repeat + 1):
        found.append(list(alphas(names, numbers, Random(f"{seed}/{names}/{done}"))))
        shown.advance(done)
    for number, values in zip(numbers, zip(*found, strict=True), strict=True):
        for rule in (PAIRS, KERNEL):
            yield _row(names, rule, number, [each[rule] for each in values])


def _row(names: Names, rule: str, number: int, values: list[float]) -> Row:
    twentieths = quantiles(values, n=20, method="inclusive")
    shown = (min(values), twentieths[0], twentieths[9], twentieths[18], max(values))
    least, p5, median, p95, most = (round(value, 5) for value in shown)
    return Row(names.distribution, names.count, rule, number, len(values), least, p5, median, p95, most)
