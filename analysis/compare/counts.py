"""Counts of two runs: control traffic by kind, drops by reason, verdicts, convergence times."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from analysis.compare.model import CountRow, Limits
from analysis.rundir import Run
from topologies.quantities import duration_text

_JUDGED = ("expected", "delivered", "missing", "duplicate", "spurious", "allowed", "wasted_crossings")
_EXACT = ("duplicate", "spurious")
"""Never by chance, unless links double packets or faults happen."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """A run with its verdict."""

    run: Run
    verdict: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """From the scenario's time zero to the end of the run."""
        return max((self.run.end_ns - self.run.start_ns) / 1e9, 1e-9)


def verdict_rows(before: Analysed, after: Analysed, by_chance: bool) -> list[CountRow]:
    """The counts of the verdicts; who misses what is told elsewhere."""
    pairs = [(name, before.verdict[name], after.verdict[name]) for name in _JUDGED]
    return [CountRow(name, a, b, a != b and name in _EXACT and not by_chance) for name, a, b in pairs]


def control_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """Packets and bytes by kind, and packets a second.

    What is said once does not grow with the length of a run, and what is said
    again and again does: a kind differs if its count and its rate both do.
    """
    sides = [_control(each.run) for each in (before, after)]
    rows = []
    for kind in sorted({*sides[0], *sides[1]}):
        packets = [side.get(kind, (0, 0))[0] for side in sides]
        rates = [count / each.seconds for count, each in zip(packets, (before, after), strict=True)]
        differs = _far(packets[0], packets[1], limits) and _apart(rates[0], rates[1], limits.count_share)
        name = f"control {kind}"
        rows.append(CountRow(name, packets[0], packets[1], differs))
        rows.append(CountRow(name, round(rates[0], 1), round(rates[1], 1), False, "/s"))
        sizes = [side.get(kind, (0, 0))[1] for side in sides]
        rows.append(CountRow(name, sizes[0], sizes[1], False, "bytes"))
    return rows


def _control(run: Run) -> dict[str, tuple[int, int]]:
    columns = pq.read_table(run.path / "tables" / "control.parquet").to_pydict()
    sums: dict[str, tuple[int, int]] = {}
    for kind, packets, size in zip(columns["kind_name"], columns["packets"], columns["bytes"], strict=True):
        held = sums.get(kind, (0, 0))
        sums[kind] = (held[0] + packets, held[1] + size)
    return sums


def drop_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """By reason, over all nodes; and what the captures dropped."""
    sides = [_drops(each.run) for each in (before, after)]
    for side, each in zip(sides, (before, after), strict=True):
        side["the captures"] = int(each.verdict["captures"]["drops"])
    reasons = sorted(reason for reason in {*sides[0], *sides[1]} if sides[0][reason] or sides[1][reason])
    return [
        CountRow(f"dropped: {r}", sides[0][r], sides[1][r], _far(sides[0][r], sides[1][r], limits))
        for r in reasons
    ]


def _drops(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in run.plan.nodes:
        path = run.path / "logs" / f"{node.name}.status.json"
        try:
            status = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # a node that was killed says nothing; the verdict tells of that
        for reason, count in _reasons(status.get("drops")):
            found[reason] += count
    return found


def _reasons(drops: Any) -> Iterator[tuple[str, int]]:
    """Drops are told by part of the node, then by reason."""
    for key, value in drops.items() if isinstance(drops, Mapping) else ():
        if isinstance(value, int):
            yield str(key).lower(), value
        else:
            yield from _reasons(value)


def convergence_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """How long the network took after the start, and after what was done to it."""
    sides = [each.verdict.get("convergence_ns") or {} for each in (before, after)]
    rows = []
    for key in ("start", "p50", "max"):
        told = [side.get(key) for side in sides]
        if told[0] is None or told[1] is None:
            continue
        apart = abs(told[1] - told[0])
        differs = apart > max(limits.time_ns, limits.time_share * max(told[0], 1))
        rows.append(CountRow(f"convergence: {key}", told[0], told[1], differs, "ns"))
    return rows


def told_counts(rows: list[CountRow]) -> list[str]:
    """Those that differ, in words."""
    return [
        f"{row.what}: {figure(row, row.before)} before, {figure(row, row.after)} after"
        for row in rows
        if row.differs
    ]


def figure(row: CountRow, value: float) -> str:
    """A value with its unit."""
    if row.unit == "ns":
        return duration_text(value)
    return f"{value:,}{' ' if row.unit[:1].isalpha() else ''}{row.unit}"


def _far(before: int, after: int, limits: Limits) -> bool:
    return abs(after - before) >= limits.count and _apart(before, after, limits.count_share)


def _apart(before: float, after: float, share: float) -> bool:
    return abs(after - before) > share * max(before, after)
