"""The counts of `verdict.json`, by docs/run-directory.md and docs/analysis.md."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.judge.judging.calm import Calm, calm_of
from tests.judge.judging.packets import MESSAGE, PAD, SEAL
from tests.judge.judging.permitted import Policy
from tests.judge.judging.run import FOREVER, Event, Run, read_run
from tests.judge.judging.sought import refused_patterns, sought
from tests.judge.judging.subscribing import refused_changes_of
from tests.judge.judging.tables import Delivery, Pair, Row, Tables, tables_of

ARRIVED = ("delivered", "duplicate")
Counts = dict[str, Any]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
EXACT_UP_TO = 20_000
"""Values, of which quantiles are exact."""


def judge(path: Path) -> tuple[Counts, Tables]:
    """The verdict on a run directory, and the tables behind it."""
    run = read_run(path)
    calm = calm_of(run)
    tables = tables_of(run, calm)
    whole = _counts(tables.verdicts)
    return {
        **whole,
        "publications": len(tables.publications),
        "unadvertised": len(tables.outside),
        "policy": _policy(run, tables),
        "patterns": sought(run, calm, tables.publications),
        "wasted_crossings": sum(c.copies for c in tables.crossings.values() if c.wasted),
        "delivered_digest": _digest(run, tables),
        "latency_ns": _latency(tables.deliveries.values()),
        "latency_curve_ns": _curve(tables.deliveries.values()),
        "hops": _hops(tables.deliveries.values()),
        **_traffic(run),
        "captures": _captures(run),
        "phases": [_part(tables, *part) for part in _phases(run)],
        "recovery": next((_part(tables, *part) for part in _recovery(run, calm)), None),
        "faults": [_disturbance(tables, *part) for part in _disturbances(run, calm)],
    }, tables


def _policy(run: Run, tables: Tables) -> Counts | None:
    """What the policy did not permit; None: there is none."""
    if not Policy(run).there_is:
        return None
    subscriptions, advertisements = refused_changes_of(run)
    return {
        "publications": len(tables.forbidden),
        "subscriptions": subscriptions,
        "advertisements": advertisements,
        "patterns": refused_patterns(run),
    }


def _counts(rows: Mapping[Pair, Row]) -> Counts:
    of = Counter(row.verdict for row in rows.values())
    wanted = sum(row.wanted for row in rows.values())
    owed = sum(row.owed is True for row in rows.values())
    failed = of["missing"] + of["unknown"] + of["lost"]
    arrived = [row for row in rows.values() if row.verdict in ARRIVED]
    return {
        "wanted": wanted,
        "owed": owed,
        "delivered": len(arrived),
        "allowed": sum(not row.owed for row in arrived),
        "missing": of["missing"],
        "duplicate": sum(max(0, row.copies - 1) for row in rows.values() if row.owed is not False),
        "duplicate_allowed": sum(max(0, row.copies - 1) for row in rows.values() if row.owed is False),
        "spurious": of["spurious"],
        "lost": of["lost"],
        "cut_off": sum(row.verdict == "lost" and row.reason == "cut_off" for row in rows.values()),
        "unknown": of["unknown"],
        "delivery_ratio": round((wanted - failed) / wanted, 6) if wanted else None,
        "judged": round(owed / wanted, 6) if wanted else None,
        "not_owed": dict(Counter(row.reason for row in rows.values() if row.reason)),
        "lost_by": dict(Counter(row.reason for row in rows.values() if row.verdict == "lost")),
    }


def _part(tables: Tables, name: str, from_ns: int, until_ns: int) -> Counts:
    """What was published from one moment until before another."""
    ids = {key for key, p in tables.publications.items() if from_ns <= p.published_ns < until_ns}
    rows = {pair: row for pair, row in tables.verdicts.items() if pair[:2] in ids}
    deliveries = [tables.deliveries[pair] for pair in rows if pair in tables.deliveries]
    return {
        "name": name,
        "from_ns": from_ns,
        "until_ns": None if until_ns == FOREVER else until_ns,
        "publications": len(ids),
        **_counts(rows),
        "latency_ns": _latency(deliveries),
    }


def _phases(run: Run) -> Iterator[tuple[str, int, int]]:
    for phase in run.plan["phases"]:
        yield phase["name"], run.start_ns + phase["start_ns"], run.start_ns + phase["end_ns"]


def _recovery(run: Run, calm: Calm) -> Iterator[tuple[str, int, int]]:
    """What was published after the last fixpoint, if no fault came after it."""
    several = run.plan["phases"] or run.plan["expect"] or run.plan["faults"] or len(calm.periods) > 1
    if several and calm.periods and calm.periods[-1].until_ns == FOREVER:
        yield "recovery", calm.periods[-1].after_ns + 1, FOREVER


def _disturbances(run: Run, calm: Calm) -> Iterator[tuple[int, int, list[Event]]]:
    """The times between settled periods, and the faults in each."""
    begins = [period.after_ns for period in calm.periods[1:]]
    for from_ns, until_ns in zip_longest((p.until_ns for p in calm.periods), begins, fillvalue=FOREVER):
        if from_ns != FOREVER:
            broken = [e for e in run.of("fault") if e["do"] != "rekey"]
            faults = [e for e in broken if from_ns <= e["time_ns"] <= until_ns]
            yield from_ns, until_ns, faults


def _disturbance(tables: Tables, from_ns: int, until_ns: int, faults: list[Event]) -> Counts:
    name = ", ".join(f"{fault['do']} {fault['target']}" for fault in faults)
    converged = until_ns != FOREVER
    return {
        **_part(tables, name, from_ns, until_ns + 1 if converged else FOREVER),
        "causes": [{key: fault[key] for key in ("time_ns", "do", "target")} for fault in faults],
        "converged": converged,
    }


def _digest(run: Run, tables: Tables) -> str:
    names = {node_id: name for name, node_id in run.ids.items()}
    lines = [
        f"{names.get(source, source)} {sequence} {names[client]}\n".encode()
        for (source, sequence, client), row in tables.verdicts.items()
        if row.verdict in ARRIVED
    ]
    return hashlib.sha256(b"".join(sorted(lines))).hexdigest()


@dataclass(frozen=True, slots=True)
class Between:
    """A quantile of so many values that it is not computed exactly."""

    least: int
    most: int


def _latency(deliveries: Iterable[Delivery]) -> Counts | None:
    known = sorted(d.latency_ns for d in deliveries if d.latency_ns is not None)
    if not known:
        return None
    quantiles = {name: _quantile(known, share) for name, share in QUANTILES.items()}
    return {
        "min": known[0],
        **quantiles,
        "max": known[-1],
        "mean": round(sum(known) / len(known)),
    }


def _curve(deliveries: Iterable[Delivery]) -> list[int | Between]:
    """In steps of half a per cent."""
    known = sorted(d.latency_ns for d in deliveries if d.latency_ns is not None)
    return [_quantile(known, step / 200) for step in range(201)] if known else []


def _quantile(ascending: Sequence[int], share: float) -> int | Between:
    """The value at position ceil(q * n), of many values give or take a ten-thousandth of them and 20."""
    count = len(ascending)
    position = max(1, math.ceil(share * count))
    if count <= EXACT_UP_TO:
        return ascending[position - 1]
    away = count // 10_000 + 20
    return Between(ascending[max(0, position - 1 - away)], ascending[min(count, position + away) - 1])


def _hops(deliveries: Iterable[Delivery]) -> dict[str, float] | None:
    counts = [d.hop_count for d in deliveries]
    if not counts:
        return None
    return {"min": min(counts), "mean": round(sum(counts) / len(counts), 3), "max": max(counts)}


def _traffic(run: Run) -> Counts:
    """Each packet of a link once: where a router sends it, or where a client's arrives."""
    control, messages = [], []
    for sight in run.captures.sights:
        if (sight.sent or sight.at_client) and sight.packet.type not in (PAD, SEAL):
            (messages if sight.packet.type == MESSAGE else control).append(sight.packet.size)
    return {
        "control": {"packets": len(control), "bytes": sum(control)},
        "messages": {"packets": len(messages), "bytes": sum(messages)},
    }


def _captures(run: Run) -> Counts:
    skipped = {name: count for name, count in sorted(run.captures.skipped.items()) if count}
    return {"frames": run.captures.frames, "packets": len(run.captures.sights), "skipped": skipped}
