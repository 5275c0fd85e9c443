"""A verdict says how much it judged: a run in which little was owed is not called clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.pipeline import analyze

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
EXPECT = "expect: [missing == 0, lost > 10 %]\n"
SHIPPED = Path(__file__).resolve().parents[2] / "topologies" / "scenarios" / "outage.yaml"


def test_a_run_whose_faults_leave_nothing_to_judge_is_not_called_clean(spark, simulate):
    """Half of all packets are lost, and a change of nothing every 1.5 s keeps the network from settling."""
    faults = [f"  - {{at: {at}ms, impair: {{link: r1 - r2, loss: 0.5}}}}\n" for at in range(0, 18_000, 1_500)]
    run = simulate("blind", BLIND + "".join(faults) + EXPECT)
    verdict = analyze(run)
    assert (verdict["verdict"], verdict["ok"]) == ("not judged", False)
    assert (verdict["wanted"], verdict["owed"], verdict["missing"], verdict["judged"]) == (100, 0, 0, 0.0)
    assert 10 < verdict["lost"] < 95
    assert verdict["delivery_ratio"] == round(1 - verdict["lost"] / 100, 6)
    assert verdict["headline"].startswith("Nothing was owed. Of 100 wanted deliveries ")
    assert "because links lose packets" in verdict["headline"]
    assert any("link r1 \N{EN DASH} r2 changed (12 times)" in note for note in verdict["notes"])
    assert json.loads((run / "verdict.json").read_text()) == verdict
    none_missing, some_lost = verdict["expectations"]
    assert (none_missing["holds"], none_missing["measured"]) == (False, None)
    assert none_missing["why"] == "nothing was owed, so nothing could be missing"
    assert some_lost["holds"]


def test_the_shipped_outage_says_what_it_lost_and_why(spark, simulate):
    verdict = analyze(simulate("outage", SHIPPED.read_text()))
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
