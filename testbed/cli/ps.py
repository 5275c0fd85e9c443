"""`cbn ps`: what runs on this machine."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from testbed.cli import exits
from testbed.emu.running import Running, memory_bytes, running

_HEADINGS = ("RUN", "NAME", "KIND", "STATE", "NODES", "AGE", "MEMORY", "DIRECTORY")


def ps(args: argparse.Namespace) -> int:
    """List networks and runs, dead ones too."""
    memory = memory_bytes()
    rows = [_row(run, memory.get(run.run_id, 0)) for run in running()]
    if args.json:
        print(json.dumps({"runs": rows}, indent=1, ensure_ascii=False))
        return exits.OK
    if not rows:
        print("nothing is running; `cbn up SCENARIO` starts a network")
        return exits.OK
    print(_table([_HEADINGS, *map(_shown, rows)]))
    if any(row["state"] == "dead" for row in rows):
        print("\nThe owners of the dead ones were killed; `cbn clean` removes what they left.")
    return exits.OK


def _row(run: Running, memory: int) -> dict[str, Any]:
    started_ns = run.record.get("started_ns")
    return {
        "run_id": run.run_id,
        "name": run.name,
        "kind": "network" if run.kept else "run",
        "state": run.state,
        "scenario": run.record.get("scenario"),
        "nodes": run.record.get("node_count"),
        "age_s": round(max(0, time.time_ns() - started_ns) / 1e9, 1) if started_ns else None,
        "memory_bytes": memory,
        "directory": run.record.get("directory"),
        "owner_pid": run.owner.pid if run.owner else None,
    }


def _shown(row: dict[str, Any]) -> tuple[str, ...]:
    age = "" if row["age_s"] is None else age_text(row["age_s"])
    nodes = "" if row["nodes"] is None else str(row["nodes"])
    memory = f"{row['memory_bytes'] / 2**20:.0f} MB"
    place = row["directory"] or "?"
    return row["run_id"], row["name"], row["kind"], row["state"], nodes, age, memory, place


def age_text(seconds: float) -> str:
    """`12 s`, `5 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
