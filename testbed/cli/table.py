"""The table of many runs: one row a run, for people and in files.

Here: what a run directory holds, as a row. Not here: running (`matrix`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from analysis.expectations import passed
from testbed.runs.whole_files import write_whole, written_whole

COUNTS = ("wanted", "owed", "delivered", "missing", "duplicate", "spurious", "lost", "unknown")
RATIOS = ("delivery_ratio", "judged")
_LATENCIES = ("p50", "p99")
_WIDTH = 500


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
    ratios: Mapping[str, float | None] = field(default_factory=dict)
    latency_ns: Mapping[str, int] = field(default_factory=dict)
    fidelity: str = ""
    expectations: Sequence[Mapping[str, Any]] = ()
    passed: bool | None = None
    """Whether the run was as it should be; None: it was not judged."""


def row_of(cell: str, values: Mapping[str, Any], directory: Path) -> Row:
    """What the run in a directory came to."""
    manifest = _document(directory / "manifest.json")
    if not manifest:
        return Row(cell, values, "corrupt" if (directory / "manifest.json").exists() else "not run")
    outcome, message = str(manifest["outcome"]), str(manifest.get("message") or "")
    fidelity = (manifest.get("fidelity") or {}).get("verdict", "")
    verdict = _document(directory / "verdict.json") or _document(directory / "judged.json")
    if not verdict or outcome != "complete":
        return Row(cell, values, outcome, message, fidelity=fidelity)
    latency = verdict.get("latency_ns") or {}
    return Row(
        cell,
        values,
        outcome,
        message,
        str(verdict["verdict"]),
        {name: verdict[name] for name in COUNTS},
        {name: verdict[name] for name in RATIOS},
        {name: latency[name] for name in _LATENCIES if name in latency},
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
        **{name: row.counts.get(name) for name in COUNTS},
        **{name: row.ratios.get(name) for name in RATIOS},
        **{f"latency_{name}_ns": row.latency_ns.get(name) for name in _LATENCIES},
        "fidelity": row.fidelity or None,
        "expectations": len(row.expectations),
        "expectations_held": held,
        "passed": row.passed,
        "message": row.message,
    }


def print_table(rows: Sequence[Row]) -> None:
    """The table for people."""
    from rich.console import Console
    from rich.table import Table

    axes = list(rows[0].values)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in (
        *axes,
        "outcome",
        *COUNTS,
        "judged",
        *_LATENCIES,
        "fidelity",
        "expectations",
        "verdict",
        "passed",
    ):
        right = name in (*COUNTS, *RATIOS, *_LATENCIES)
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*_words(row), style="red" if row.passed is False or row.outcome == "failed" else None)
    # As wide as needed: half of a cell is of no use.
    Console(width=_WIDTH).print(table, highlight=False)
    for row in rows:
        if row.message:
            print(f"{row.cell}: {row.message}")
        for expectation in row.expectations:
            if not expectation["holds"]:
                print(f"{row.cell}: does not hold: {expectation['text']}")


def _words(row: Row) -> list[str]:
    latency = [f"{row.latency_ns[n] / 1e6:.3f} ms" if n in row.latency_ns else "" for n in _LATENCIES]
    held = sum(bool(e["holds"]) for e in row.expectations)
    passed = {None: "", True: "yes", False: "NO"}[row.passed]
    counts = [f"{row.counts[name]:,}" if name in row.counts else "" for name in COUNTS]
    expectations = f"{held} of {len(row.expectations)}" if row.expectations else ""
    values = [str(value) for value in row.values.values()]
    share = row.ratios.get("judged")
    judged = "" if share is None else f"{share:.1%}"
    return [*values, row.outcome, *counts, judged, *latency, row.fidelity, expectations, row.verdict, passed]


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
