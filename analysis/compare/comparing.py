"""The comparison of two run directories: analyses them if need be, and puts the parts together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from analysis.compare.circumstances import loses_by_plan, manifest_differences, plan_differences
from analysis.compare.counts import (
    Analysed,
    control_rows,
    convergence_rows,
    drop_rows,
    told_counts,
    verdict_rows,
)
from analysis.compare.latencies import compare_losses, compare_times, told_losses, told_times
from analysis.compare.model import Comparison, CountRow, Limits
from analysis.compare.pairs import Client, compare_deliveries, compare_messages
from analysis.compare.samples import collect_series
from analysis.compare.side import Side
from analysis.compare.telling import deliveries_plain, told_clients, told_messages
from analysis.errors import AnalysisError
from analysis.ingest import captured_bytes
from analysis.pipeline import SPARK_LOG, analyze
from analysis.progress import Progress, Silence
from analysis.rundir import load_run
from analysis.session import start_session

SIM_SHIFT_NS = 100_000
REAL_SHIFT_NS = 1_000_000
"""What a median may move by where time is simulated in both runs, and where it is not."""
NEEDED = ("link_delays", "deliveries", "verdicts", "crossings", "publications", "control")


def compare(
    before: Path, after: Path, *, shift_ns: int | None = None, progress: Progress | None = None
) -> Comparison:
    """Say what is different in the run `after`.

    Args:
        before: A run directory; analysed first if it is not yet.
        after: Another.
        shift_ns: By how much a median latency must move to count; None: by what the worlds are.
        progress: Told how far the work is.

    Raises:
        AnalysisError: One is no run, or cannot be analysed.
    """
    progress = progress or Silence()
    sides = (_analysed(before, progress), _analysed(after, progress))
    limits = _limits(sides[0], sides[1], shift_ns)
    progress.phase("compare")
    runs = (sides[0].run, sides[1].run)
    spark = start_session(sum(map(captured_bytes, runs)), None, runs[1].path / SPARK_LOG)
    names = sorted({*runs[0].names.values(), *runs[1].names.values()})
    tables = (Side(spark, runs[0], names, 0), Side(spark, runs[1], names, 1))
    try:
        messages = compare_messages(*tables)
        clients, examples = compare_deliveries(*tables)
        series = [collect_series(side) for side in tables]
    except (PySparkException, Py4JError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise AnalysisError(f"Spark gave up: {first} (more in {runs[1].path / SPARK_LOG})") from error
    plans = (runs[0].plan, runs[1].plan)
    by_chance = all(map(loses_by_plan, plans))
    times = compare_times(series[0], series[1], limits)
    losses = compare_losses(series[0], series[1], limits, by_chance)
    counts = _counts(*sides, limits, by_chance)
    differences = [
        *told_messages(messages),
        *told_clients(clients, limits, by_chance),
        *told_losses(losses),
        *told_times(times),
        *told_counts(counts),
    ]
    return Comparison(
        str(before),
        str(after),
        tuple(differences),
        tuple(_notes(sides, clients, by_chance)),
        (*plan_differences(*plans), *manifest_differences(*runs)),
        {which: run.manifest.get("fidelity") for which, run in zip(("before", "after"), runs, strict=True)},
        limits,
        deliveries_plain(messages, clients, examples),
        tuple(times),
        tuple(losses),
        tuple(counts),
    )


def _analysed(path: Path, progress: Progress) -> Analysed:
    run = load_run(path)
    verdict = path / "verdict.json"
    complete = all((path / "tables" / f"{name}.parquet").is_dir() for name in NEEDED)
    if not (verdict.is_file() and complete):
        progress.say(f"{path} is not analysed yet, or by an earlier version: analysing it")
        return Analysed(run, analyze(path, progress=progress))
    try:
        told = json.loads(verdict.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AnalysisError(f"{verdict}: {error}; `cbn analyze {path}` makes it anew") from error
    return Analysed(run, told)


def _limits(before: Analysed, after: Analysed, shift_ns: int | None) -> Limits:
    """Simulated times are exact: chance enters by what the plan draws, not by what the machine does."""
    if all(side.run.manifest["world"] == "sim" for side in (before, after)):
        return Limits(SIM_SHIFT_NS if shift_ns is None else shift_ns, time_ns=50_000_000)
    return Limits(REAL_SHIFT_NS if shift_ns is None else shift_ns)


def _counts(before: Analysed, after: Analysed, limits: Limits, by_chance: bool) -> list[CountRow]:
    return [
        *verdict_rows(before, after, by_chance),
        *control_rows(before, after, limits),
        *drop_rows(before, after, limits),
        *convergence_rows(before, after, limits),
    ]


def _notes(sides: tuple[Analysed, Analysed], clients: list[Client], by_chance: bool) -> list[str]:
    notes = []
    if by_chance:
        notes.append(
            "both plans lose messages or break things: which are lost is chance, how many is compared"
        )
    gone, new = sum(c.may_gone for c in clients), sum(c.may_new for c in clients)
    if gone or new:
        notes.append(
            f"of deliveries that were not owed in both, {gone:,} were before alone, {new:,} after alone"
        )
    for which, side in zip(("before", "after"), sides, strict=True):
        fidelity = side.run.manifest.get("fidelity")
        if isinstance(fidelity, Mapping) and fidelity.get("verdict") == "degraded":
            affected = ", ".join(fidelity.get("affected") or ()) or "all"
            notes.append(
                f"the run {which} is degraded, do not rely on its {affected}: "
                + "; ".join(map(str, fidelity.get("reasons") or ()))
            )
        notes += [f"the verdict {which} has a problem: {p}" for p in side.verdict.get("problems", ())]
    return notes
