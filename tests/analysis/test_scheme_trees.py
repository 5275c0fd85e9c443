"""Delivery trees beside the ideal ones (T1, E8), and latency beside the fastest path's, in whole runs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.pipeline import analyze
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = pytest.mark.spark

SCENARIO = {
    "name": "cycle",
    "topology": {
        "routers": ["r1", "r2", "r3", "r4"],
        "links": ["r1 - r2", "r2 - r3", "r3 - r4", "r4 - r1"],
        "link_defaults": {"delay": "2ms"},
    },
    "clients": {
        "p": {"at": "r1", "publish": [{"message": "x = 1", "at": "0s"}]},
        "c": {"at": "r3", "subscribe": ["x > 0"]},
        "d": {"at": "r4", "subscribe": ["x > 0 and x < 9"]},
    },
}


@pytest.mark.parametrize("scheme", ["flood", "pif", "cbcb", "drp"])
def test_a_simulated_run_says_what_its_scheme_took(scheme: str, spark, tmp_path: Path):
    file = tmp_path / "cycle.yaml"
    file.write_text(json.dumps(SCENARIO | {"scheme": scheme}))
    directory = RunDirectory.create(tmp_path / "run", "run")
    scenario = read_scenario(file)
    outcome = conduct(scenario.plan(), SimulatedWorld(), directory, _Silent(), scenario=scenario.text)
    assert outcome.outcome == "complete"
    verdict = analyze(directory.path)
    assert verdict["ok"], verdict
    reported = verdict["scheme"]
    assert reported["name"] == scheme
    assert reported["trees"]["ideal"] == 2
    assert reported["trees"]["crossings"] >= 2 + (scheme == "flood")
    assert reported["stretch"] == {"deliveries": 2, "mean": 1.0, "p50": 1.0, "p99": 1.0, "max": 1.0}
    assert reported["state"]["routers"] == 4
    assert (reported["state"]["formula_bytes"] is None) == (scheme in {"flood", "cbcb"})
    assert sum(load["bytes"] for load in reported["control"].values()) == verdict["control"]["bytes"]
    assert any(kind.startswith("CBCB_") for kind in reported["control"]) == (scheme == "cbcb")
    written = pq.read_table(directory.path / "tables" / "trees.parquet").to_pylist()
    assert [row["ideal"] for row in written] == [2]
    assert "The scheme" in (directory.path / "report.html").read_text()


class _Silent:
    def phase(self, name: str, total: int | None = None) -> None: ...

    def advance(self, done: int) -> None: ...

    def say(self, text: str) -> None: ...
