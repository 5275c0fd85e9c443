"""Measures an experiment: generates each table's workload, builds it by every algorithm, times them in turns.

The machine's disturbances fall on all algorithms alike that way, and what is
compared was measured side by side.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastpath.bench import Bench, BenchTable
from fastpath.fib import ForwardingTable
from fastpath.workload import FilterList, Generator, MessageList
from testbed.experiments.forwarding.rows import Measured, Row
from testbed.experiments.forwarding.tables import Table, Tables
from testbed.experiments.kind import DisagreementError
from testbed.experiments.machine import machine
from testbed.experiments.results import finished

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress

COLD_SHARE = 5
"""To flush the caches takes far longer than a message: cold tables are measured so many times less."""
PLAIN, PRESELECTING, OURS = "counting", "selective", "fast"


@dataclass(frozen=True, slots=True)
class Workload:
    """The filters of a table and the messages matched against it."""

    filters: FilterList
    messages: MessageList


@dataclass(frozen=True, slots=True)
class Built:
    """A table by one algorithm, ready to be measured."""

    table: BenchTable
    rounds: int
    build_s: float


def measure(experiment: Experiment, seed: int, shown: Progress) -> Measured:
    """Measure every table.

    Raises:
        DisagreementError: The algorithms do not agree on who gets a message.
    """
    started, measured_on = time.monotonic(), machine()
    sweep: Tables = experiment.sweep
    rows: list[Row] = []
    for at, table in enumerate(sweep.tables, 1):
        shown.phase(f"{experiment.name}, table {at} of {len(sweep.tables)}: {table}")
        rows += _measure_table(table, _workload(table, sweep.messages, seed), sweep.repeat, shown)
    return finished(experiment, seed, started, measured_on, rows, repeat=sweep.repeat)


def _workload(table: Table, messages: int, seed: int) -> Workload:
    generator = Generator(table.recipe(seed))
    with tempfile.TemporaryDirectory(prefix="cbn-reproduce-") as folder:
        filters = _written(Path(folder, "filters.txt"), generator.filters())
        sent = _written(Path(folder, "messages.txt"), generator.messages(messages))
        return Workload(FilterList(filters), MessageList(sent))


def _written(path: Path, pieces: Iterable[bytes]) -> Path:
    with path.open("wb") as out:
        out.writelines(pieces)
    return path


def _measure_table(table: Table, workload: Workload, repeat: int, shown: Progress) -> list[Row]:
    plain, ours = _build(PLAIN, workload.filters), _build(OURS, workload.filters)
    beside: list[Row] = []
    preselecting: list[Row] = []
    for done, rounds in enumerate(table.rounds, 1):
        preselected = _build(PRESELECTING, workload.filters, rounds)
        # With the first rounds all three take turns; with further ones only the two that the gain is of.
        tried = [plain, preselected, ours] if done == 1 else [plain, preselected]
        first, second, *third = _compare(tried, table, workload, repeat)
        preselecting.append(second)
        beside = beside or [first, *third]
        shown.advance(done)
    return [beside[0], *preselecting, *beside[1:]]


def _build(algorithm: str, filters: FilterList, rounds: int | None = None) -> Built:
    table = BenchTable(algorithm, rounds)
    seconds = table.build(filters)
    return Built(table, rounds or 0, seconds)


def _compare(tried: list[Built], table: Table, workload: Workload, repeat: int) -> list[Row]:
    """Measure in turns; the first of those tried is what the others are compared with."""
    benches = [Bench(t.table, workload.filters, workload.messages, cold=table.cold) for t in tried]
    counts = _agreed(tried, benches, table)
    for _ in range(max(1, repeat // COLD_SHARE) if table.cold else repeat):
        for bench in benches:
            bench.repeat()
    times = [bench.result() for bench in benches]
    plain_us = times[0]["undisturbed_us"]
    return [
        _row(built, table, workload, counts, figures | {PLAIN: plain_us})
        for built, figures in zip(tried, times, strict=True)
    ]


def _agreed(tried: list[Built], benches: list[Bench], table: Table) -> int:
    """The matches of one pass over the messages, on which all agree."""
    expected, *others = [bench.answers() for bench in benches]
    for built, answers in zip(tried[1:], others, strict=True):
        wrong = [at for at, pair in enumerate(zip(expected, answers, strict=True)) if pair[0] != pair[1]]
        if wrong:
            raise DisagreementError(
                f"{table}: {built.table.algorithm} with {built.rounds} rounds and {PLAIN} answer "
                f"{len(wrong)} messages differently, first message {wrong[0]}"
            )
    return sum(count for count, _ in expected)


def _row(built: Built, table: Table, workload: Workload, matches: int, figures: Mapping[str, float]) -> Row:
    stats, written, messages = built.table.stats(), workload.filters.constraints, len(workload.messages)
    count = table.eliminations and built.table.algorithm == PRESELECTING
    return Row(
        algorithm=built.table.algorithm,
        rounds=built.rounds,
        interfaces=stats["interfaces"],
        filters=len(workload.filters),
        constraints=written,
        constraints_low=table.constraints[0],
        cold=table.cold,
        messages=messages,
        matched_mean=matches / messages,
        eliminated_mean=_eliminated(workload, built.rounds) if count else None,
        build_s=_short(built.build_s),
        bytes_per_constraint=_short(stats["bytes"] / max(1, written)),
        time_us=_short(figures["undisturbed_us"]),
        counting_us=_short(figures[PLAIN]),
        mean_us=_short(figures["mean_us"]),
        p99_us=_short(figures["p99_us"]),
        max_us=_short(figures["max_us"]),
    )


def _eliminated(workload: Workload, rounds: int) -> float:
    """How many interfaces the rounds rule out, on average over the messages (F6)."""
    table = ForwardingTable(PRESELECTING, rounds)
    for at in range(len(workload.filters)):
        table.add(*workload.filters[at])
    table.commit()
    packets = [workload.messages[at] for at in range(len(workload.messages))]
    return sum(table.eliminated(packet) for packet in packets) / len(packets)


def _short(value: float) -> float:
    """Four digits: no measurement here has more."""
    return float(f"{value:.4g}")
