"""A router crashes and a machine is cut off: messages before and after arrive as in the other worlds.

  alice, ana      bob           carol, chris
       \\            |               |
m1      r1 -------- r2 ------------ r3      m2
         |                           |
m3      r6 -------- r5 ------------ r4      m2
         |           |               |
       frank       erin             dave
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import ROOT, Cluster
from tests.cluster.running import command, run

pytestmark = pytest.mark.cluster

PLACES = {"r1": "m1", "r2": "m1", "r3": "m2", "r4": "m2", "r5": "m3", "r6": "m3"}
FAULTS = ["at 500ms: crash r2 for 500ms", "when converged + 100ms: partition m3 for 800ms"]
WORLDS = ("sim", "emu", "cluster")
MARGIN_NS = 200_000_000
"""In which what was published before a fault has arrived."""
EXPECT = [
    "missing == 0 after recovery",
    "owed > 50 after recovery",
    "duplicate == 0",
    "spurious == 0",
]


def quickstart_with_faults(path: Path, scheme: str) -> Path:
    scenario = yaml.safe_load((ROOT / "topologies" / "scenarios" / "quickstart.yaml").read_text())
    scenario["scheme"] = scheme
    scenario["topology"]["routers"] = {router: {"tags": [machine]} for router, machine in PLACES.items()}
    scenario["timers"] = {"hello_ms": 100, "hold_ms": 400}
    scenario["faults"] = [dict([fault.split(": ", 1)]) for fault in FAULTS]
    scenario["expect"] = EXPECT
    for client in scenario["clients"].values():
        for publication in client.get("publish", []):
            if "count" in publication:
                publication["count"] *= 2
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return path


def events(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]


def untroubled(directory: Path) -> set[tuple[int, int]]:
    """Source and number of the messages of before the first fault, and of after the last recovery."""
    of_run = events(directory)
    first_ns = min(e["time_ns"] for e in of_run if e["event"] == "fault") - MARGIN_NS
    recovered_ns = max(e["time_ns"] for e in of_run if e["event"] == "converged")
    published = [e for e in of_run if e["event"] == "publish"]
    calm = [e for e in published if not first_ns < e["time_ns"] < recovered_ns]
    return {(e["source"], e["sequence"]) for e in calm}


def arrivals(directory: Path, messages: set[tuple[int, int]]) -> Counter[tuple[Any, ...]]:
    found = ((e["source"], e["sequence"], e["node"]) for e in events(directory) if e["event"] == "deliver")
    return Counter(row for row in found if row[:2] in messages)


@pytest.mark.parametrize("scheme", ["pif", "cbcb"])
def test_a_crash_and_a_machine_that_is_cut_off_are_recovered_from(
    provisioned: Cluster, tmp_path: Path, scheme: str
) -> None:
    scenario = quickstart_with_faults(tmp_path / "quickstart.yaml", scheme)
    put = [word for router, machine in PLACES.items() for word in ("--put", f"{router}={machine}")]
    for world in WORLDS:
        words = command(
            provisioned, scenario, "--out", world, *(put if world == "cluster" else []), world=world
        )
        done = run(tmp_path, words)
        assert done.returncode == 0, done.stderr + done.stdout
        assert "holds: missing == 0 after recovery" in done.stdout
    told = [e for e in events(tmp_path / "cluster") if e["event"] == "fault"]
    cut = {e["target"] for e in told if e["do"] == "link_down"}
    assert cut == {"r4--r5", "r6--r1"}, "all tunnels of m3, and nothing else"
    messages = set.intersection(*(untroubled(tmp_path / world) for world in WORLDS))
    arrived = {world: arrivals(tmp_path / world, messages) for world in WORLDS}
    assert arrived["sim"].total() > 100
    assert arrived["cluster"] == arrived["sim"]
    assert arrived["emu"] == arrived["sim"]
