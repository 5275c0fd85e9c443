"""A verdict says how much it judged: a run in which little was owed is not called clean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.pipeline import analyze
from testbed.cli.progress import SilentProgress
from testbed.plan.load import read_scenario
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.sim.world import SimulatedWorld

pytestmark = [pytest.mark.sim, pytest.mark.spark]

BLIND = """
name: blind
seed: 1
topology:
  routers: [r1, r2, r3]
  links: [{between: [r1, r2], loss: 0.5}, {between: [r2, r3], loss: 0.5}]
clients:
  pub: {at: r1, publish: [{every: 150ms, count: 100, from: 0s, message: {n: {count: 0}}}]}
  sub: {at: r3, subscribe: [n any integer]}
faults:
"""
SHIPPED = Path(__file__).resolve().parents[2] / "topologies" / "scenarios" / "outage.yaml"


def run_of(scenario: Path, folder: Path) -> dict[str, Any]:
    directory = RunDirectory.create(folder / "run", "judged")
    read = read_scenario(scenario)
    outcome = conduct(read.plan(), SimulatedWorld(), directory, SilentProgress(), scenario=read.text)
    assert outcome.outcome == "complete", outcome.message
    return analyze(directory.path)


def test_a_run_whose_faults_leave_nothing_to_judge_is_not_called_clean(spark, tmp_path):
    """Half of all packets are lost, and a change of nothing every 1.5 s keeps the network from settling."""
    faults = [f"  - {{at: {at}ms, impair: {{link: r1 - r2, loss: 0.5}}}}\n" for at in range(0, 18_000, 1_500)]
    (tmp_path / "blind.yaml").write_text(BLIND + "".join(faults))
    verdict = run_of(tmp_path / "blind.yaml", tmp_path)
    assert (verdict["verdict"], verdict["ok"]) == ("not judged", False)
    assert (verdict["wanted"], verdict["owed"], verdict["missing"], verdict["judged"]) == (100, 0, 0, 0.0)
    assert 10 < verdict["lost"] < 95
    assert verdict["delivery_ratio"] == round(1 - verdict["lost"] / 100, 6)
    assert verdict["headline"].startswith("Nothing was owed. Of 100 wanted deliveries ")
    assert "because links lose packets" in verdict["headline"]
    assert any("impair r1--r2 (12 times)" in note for note in verdict["notes"])
    assert json.loads((tmp_path / "run" / "verdict.json").read_text()) == verdict


def test_the_shipped_outage_says_what_it_lost_and_why(spark, tmp_path):
    verdict = run_of(SHIPPED, tmp_path)
    assert verdict["problems"] == []
    assert verdict["verdict"] == "clean"
    lost, wanted = verdict["lost"], verdict["wanted"]
    assert (wanted > 1300, lost > 50, verdict["lost_by"]) == (True, True, {"network": lost})
    assert verdict["headline"].endswith(f"; {lost} were lost while the network was not settled.")
    assert f"Of {wanted:,} wanted deliveries {wanted - lost:,} arrived" in verdict["headline"]
    assert not any("subscription" in note for note in verdict["notes"])
    assert sum(row["lost"] for row in verdict["faults"]) <= lost
    crash = verdict["faults"][0]
    assert crash["name"].startswith("crash core")
    assert crash["lost"] > 0
    assert crash["converged"]
    assert {tuple(sorted(cause)) for cause in crash["causes"]} == {("do", "target", "time_ns")}
