"""`cbn ps`: what runs on this machine."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from testbed.cli import exits
from testbed.cli.command import NETWORKS, Command, add_json
from testbed.cli.output import columns, print_json
from topologies.quantities import age_text

if TYPE_CHECKING:
    from testbed.live.registry import Running

_HEADINGS = ("RUN", "NAME", "KIND", "STATE", "NODES", "AGE", "MEMORY", "DIRECTORY")

_HELP = """\
Lists networks that `cbn up` left running and runs in progress, with the memory
their processes take for themselves. Those whose owner was killed are shown as
dead: `cbn clean` removes what they left.
"""


def _ps(args: argparse.Namespace) -> int:
    """List networks and runs, dead ones too."""
    from testbed.live.registry import memory_bytes, running

    memory = memory_bytes()
    rows = [_row(run, memory.get(run.run_id, 0)) for run in running()]
    if args.json:
        print_json({"runs": rows})
        return exits.OK
    if not rows:
        print("nothing is running; `cbn up SCENARIO` starts a network")
        return exits.OK
    print("\n".join(columns(_HEADINGS, [_shown(row) for row in rows])))
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


COMMAND = Command("list the networks and runs of this machine", add_json, _ps, NETWORKS, _HELP)
