"""The comparison of two run directories: analyses them if need be, and puts the parts together.

Among them, what was different before they began: plan, versions, machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis import AnalysisError
from analysis.diff.differences import (
    Analysed,
    client_texts,
    compare_losses,
    compare_times,
    control_rows,
    convergence_rows,
    count_texts,
    deliveries_json,
    drop_rows,
    loss_texts,
    message_texts,
    time_texts,
    verdict_rows,
)
from analysis.diff.model import Comparison, CountRow, Limits
from analysis.diff.tables import Client, Side, collect_series, compare_deliveries, compare_messages
from analysis.diff.worlds import unsure_ns, world_notes
from analysis.pieces import captured_bytes
from analysis.pipeline import SPARK_LOG, Progress, Silence, analyze
from analysis.rundir import Run, load_run
from analysis.session import GIVEN_UP, start_session
from analysis.settings import Asked
from analysis.verdict import FORMAT
from nodes.records import to_plain
from testbed.plan.model import Fault, Plan
from testbed.plan.recorded import VERDICT
from topologies.quantities import duration_text, listed

SIM_SHIFT_NS = 100_000
REAL_SHIFT_NS = 1_000_000
"""What a median may move by where time is simulated in both runs, and where it is not."""
NEEDED = ("link_delays", "deliveries", "verdicts", "hops", "publications", "control")


def compare(
    before: Path,
    after: Path,
    *,
    shift_ns: int | None = None,
    progress: Progress | None = None,
    asked: Asked | None = None,
) -> Comparison:
    """Compare the run `after` with the run `before`.

    Args:
        before: A run directory; analysed first if it is not yet.
        after: Another.
        shift_ns: By how much a median latency must move to count; None: by what the worlds are.
        progress: Is shown how far the work is.
        asked: What a person asks of Spark.

    Raises:
        AnalysisError: One is no run, or cannot be analysed.
    """
    progress = progress or Silence()
    sides = (_analysed(before, progress, asked), _analysed(after, progress, asked))
    limits = _limits(sides[0], sides[1], shift_ns)
    progress.phase("compare")
    runs = (sides[0].run, sides[1].run)
    spark = start_session(sum(map(captured_bytes, runs)), asked, runs[1].path / SPARK_LOG)
    names = sorted({*runs[0].names.values(), *runs[1].names.values()})
    tables = (Side(spark, runs[0], names, 0), Side(spark, runs[1], names, 1))
    try:
        messages = compare_messages(*tables)
        clients, examples = compare_deliveries(*tables)
        series = [collect_series(side) for side in tables]
    except GIVEN_UP as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise AnalysisError(f"Spark gave up: {first} (more in {runs[1].path / SPARK_LOG})") from error
    plans = (runs[0].plan, runs[1].plan)
    by_chance = all(map(loses_by_plan, plans))
    times = compare_times(series[0], series[1], limits)
    losses = compare_losses(series[0], series[1], limits, by_chance)
    counts = _counts(*sides, limits, by_chance)
    differences = [
        *message_texts(messages),
        *client_texts(clients, limits, by_chance),
        *loss_texts(losses),
        *time_texts(times),
        *count_texts(counts),
    ]
    return Comparison(
        str(before),
        str(after),
        tuple(differences),
        (*world_notes(*runs, times), *_notes(sides, clients, by_chance)),
        (*plan_differences(*plans), *manifest_differences(*runs)),
        {which: run.manifest.get("fidelity") for which, run in zip(("before", "after"), runs, strict=True)},
        limits,
        deliveries_json(messages, clients, examples),
        tuple(times),
        tuple(losses),
        tuple(counts),
    )


def _analysed(path: Path, progress: Progress, asked: Asked | None) -> Analysed:
    run = load_run(path)
    verdict = path / VERDICT
    try:
        found = json.loads(verdict.read_text(encoding="utf-8")) if verdict.is_file() else {}
    except (OSError, ValueError) as error:
        raise AnalysisError(f"{verdict}: {error}; `cbn analyze {path}` makes it anew") from error
    complete = all((path / "tables" / f"{name}.parquet").is_dir() for name in NEEDED)
    if complete and found.get("format") == FORMAT:
        return Analysed(run, found)
    progress.say(f"{path} is not analysed yet, or by an earlier version: analysing it")
    return Analysed(run, analyze(path, progress=progress, asked=asked))


def _limits(before: Analysed, after: Analysed, shift_ns: int | None) -> Limits:
    """Simulated times are exact: chance enters by what the plan draws, not by what the machine does."""
    if all(side.run.manifest["world"] == "sim" for side in (before, after)):
        return Limits(SIM_SHIFT_NS if shift_ns is None else shift_ns, time_ns=50_000_000)
    unsure = max(unsure_ns(side.run) for side in (before, after))
    return Limits(max(REAL_SHIFT_NS, unsure) if shift_ns is None else shift_ns)


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


SHOWN = 8
"""Differences of one kind that are listed one by one."""

Plain = Mapping[str, Any]

_SETTINGS = ("name", "seed", "scheme", "scheme_options", "hop_limit", "timing", "timers", "limits", "record")
_MANIFEST = ("world", "overrides", "kernel", "machine", "versions", "implementation", "dilate")


def plan_differences(before: Plan, after: Plan) -> list[str]:
    """What the two plans differ in."""
    first, second = to_plain(before), to_plain(after)
    texts = [text for key in _SETTINGS for text in _values(key, first[key], second[key])]
    for kind in ("nodes", "links"):
        texts += _shown(_members(kind[:-1], _named(first[kind]), _named(second[kind])))
    texts += _shown(_scripts(before, after))
    for kind in ("faults", "traces"):
        what = {"faults": "fault", "traces": "change by a trace"}[kind]
        lists = ([_fault(f) for f in getattr(plan, kind)] for plan in (before, after))
        texts += _shown(_lists(what, *lists))

    return texts


def manifest_differences(before: Run, after: Run) -> list[str]:
    """Worlds, versions, machines; and runs that did not end well."""
    first, second = before.manifest, after.manifest
    texts = [text for key in _MANIFEST for text in _values(key, first.get(key), second.get(key))]
    for which, run in (("before", before), ("after", after)):
        if not run.complete:
            texts.append(f"the run {which} is {run.manifest['outcome']}: {run.manifest.get('message')}")
    return texts


def _values(key: str, before: Any, after: Any) -> Iterator[str]:
    """Differences down to the single key."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _values(f"{key}.{name}", before.get(name), after.get(name))
    elif before != after:
        yield f"{key}: {_told(key, before)} before, {_told(key, after)} after"


def _told(key: str, value: Any) -> str:
    if value is None or value in ({}, []):
        return "none"
    return duration_text(value) if key.endswith("_ns") and isinstance(value, int) else str(value)


def _named(entries: Iterable[Plain]) -> dict[str, Plain]:
    return {str(entry["name"]): entry for entry in entries}


def _members(kind: str, before: Mapping[str, Plain], after: Mapping[str, Plain]) -> Iterator[str]:
    yield from _lists(kind, list(before), list(after))
    ignored = ("script", "interfaces", "node_id", "a_interface", "b_interface")
    for name in (n for n in before if n in after):
        for key in (k for k in before[name] if k not in ignored):
            yield from _values(f"{kind} {name}: {key}", before[name].get(key), after[name].get(key))


def _lists(kind: str, before: list[str], after: list[str]) -> Iterator[str]:
    gone, new = [n for n in before if n not in after], [n for n in after if n not in before]
    if gone:
        yield f"{kind} before alone: {listed(gone, SHOWN)}"
    if new:
        yield f"{kind} after alone: {listed(new, SHOWN)}"


def _scripts(before: Plan, after: Plan) -> Iterator[str]:
    earlier = {client.name: client.script for client in before.clients}
    for client in after.clients:
        scripts = (earlier.get(client.name, client.script), client.script)
        if scripts[0] == scripts[1]:
            continue
        for do in ("subscribe", "unsubscribe", "advertise", "unadvertise", "publish"):
            first, second = ([action for action in script if action.do == do] for script in scripts)
            if first != second:
                counts = f"{len(first)} times {do} before, {len(second)} after"
                yield f"client {client.name}: {counts}, not the same"


def _fault(fault: Fault) -> str:
    after = "" if fault.after == "start" else f" after {fault.after}"
    return f"{fault.do} {fault.target} at {duration_text(fault.at_ns)}{after}"


def _shown(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"and {more} more of the kind"] if more > 0 else [])


def loses_by_plan(plan: Plan) -> bool:
    """Whether chance or faults decide what arrives, so that two runs of the plan may differ."""
    ways = [way for link in plan.links for way in (link.impairment, link.impairment_back)]
    ways += [way for change in plan.traces for way in (change.impairment, change.back) if way is not None]
    return bool(plan.faults) or any(way.loss or way.corrupt or way.rate_bps for way in ways)
