"""The table of many runs: one row a run, for people and in files.

Here: what a run directory holds, as a row, and files of rows. Not here: running (`matrix`), the table for
people (`columns`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from analysis.costs import COSTS, cost_of
from analysis.expectations import passed
from testbed.plan.recorded import JUDGED, MANIFEST, VERDICT
from testbed.runs.whole_files import write_whole, written_whole

COUNTS = (
    "wanted",
    "owed",
    "delivered",
    "missing",
    "duplicate",
    "duplicate_allowed",
    "spurious",
    "lost",
    "unknown",
)
MATCHES = {f"matches_{name}": name for name in ("owed", "missing", "duplicate", "spurious", "lost")}
"""Columns about matches of patterns, and what the verdict calls them."""
RATIOS = ("delivery_ratio", "judged")
_LATENCIES = ("p50", "p99")
NUMBERS: Mapping[str, str] = {
    **dict.fromkeys((*COUNTS, *MATCHES), "count"),
    **dict.fromkeys(RATIOS, "share"),
    **dict.fromkeys(_LATENCIES, "ns"),
    **{name: "bytes" if name.endswith("bytes") else "count" for name in COSTS},
    "ideal_ratio": "ratio",
}
"""The columns of numbers, and what kind of number each has."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a matrix."""

    cell: str
    values: Mapping[str, Any]
    outcome: str
    """`complete`, `failed`, `interrupted`, `corrupt` (its manifest), or `not run`."""
    message: str = ""
    verdict: str = ""
    """In a word; empty: it was not judged."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """By the names of `COUNTS`, and of `MATCHES` if patterns were sought."""
    ratios: Mapping[str, float | None] = field(default_factory=dict)
    latency_ns: Mapping[str, int] = field(default_factory=dict)
    costs: Mapping[str, float | None] = field(default_factory=dict)
    """By the names of `COSTS`; None: unknown, for it takes an analysis."""
    fidelity: str = ""
    expectations: Sequence[Mapping[str, Any]] = ()
    passed: bool | None = None
    """Whether the run was as it should be; None: it was not judged."""


def row_of(cell: str, values: Mapping[str, Any], directory: Path) -> Row:
    """What the run in a directory came to."""
    manifest = _document(directory / MANIFEST)
    if not manifest:
        return Row(cell, values, "corrupt" if (directory / MANIFEST).exists() else "not run")
    outcome, message = str(manifest["outcome"]), str(manifest.get("message") or "")
    fidelity = (manifest.get("fidelity") or {}).get("verdict", "")
    verdict = _document(directory / VERDICT) or _document(directory / JUDGED)
    if not verdict or outcome != "complete":
        return Row(cell, values, outcome, message, fidelity=fidelity)
    latency = verdict.get("latency_ns") or {}
    of_patterns = verdict.get("patterns") or {}
    matches = {name: of_patterns[key] for name, key in MATCHES.items() if of_patterns.get("sought")}
    return Row(
        cell,
        values,
        outcome,
        message,
        str(verdict["verdict"]),
        {name: verdict[name] for name in COUNTS} | matches,
        {name: verdict[name] for name in RATIOS},
        {name: latency[name] for name in _LATENCIES if name in latency},
        {name: cost_of(verdict, name) for name in COSTS},
        fidelity,
        verdict.get("expectations") or (),
        passed(verdict),
    )


def write_files(folder: Path, about: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """`table.json`, `table.csv`, and `table.parquet` where pyarrow is installed."""
    document = {**about, "rows": [asdict(row) for row in rows]}
    write_whole(folder / "table.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    flat = [flattened(row) for row in rows]
    with (
        written_whole(folder / "table.csv") as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as out,
    ):
        writer = csv.DictWriter(out, list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
    _write_parquet(folder / "table.parquet", flat)


def flattened(row: Row) -> dict[str, Any]:
    """The row with one value a column; None where there is none."""
    held = sum(bool(e["holds"]) for e in row.expectations)
    return {
        "cell": row.cell,
        **row.values,
        "outcome": row.outcome,
        "verdict": row.verdict or None,
        **{name: row.counts.get(name) for name in (*COUNTS, *MATCHES)},
        **{name: row.ratios.get(name) for name in RATIOS},
        **{f"latency_{name}_ns": row.latency_ns.get(name) for name in _LATENCIES},
        **{name: row.costs.get(name) for name in COSTS},
        "fidelity": row.fidelity or None,
        "expectations": len(row.expectations),
        "expectations_held": held,
        "passed": row.passed,
        "message": row.message,
    }


def numbers_of(row: Row) -> dict[str, float | None]:
    """The numbers of a run, by the names of `NUMBERS`; None where it has none."""
    latency = {name: row.latency_ns.get(name) for name in _LATENCIES}
    return dict.fromkeys(NUMBERS) | {**row.counts, **row.ratios, **latency, **row.costs}


def _write_parquet(path: Path, flat: Sequence[Mapping[str, Any]]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return  # the other two hold the same
    columns = {name: [row[name] for row in flat] for name in flat[0]}
    for name, values in columns.items():
        if len({type(value) for value in values if value is not None}) > 1:
            columns[name] = [None if value is None else str(value) for value in values]
    pq.write_table(pa.table(columns), path)


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
