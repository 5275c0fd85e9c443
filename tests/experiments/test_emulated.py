"""Whole runs beside each other: what is in a row, what is found in rows, and a slice in the simulator."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.experiments.emulated import page as findings
from testbed.experiments.emulated.measure import Row
from testbed.experiments.emulated.page import Measured, figures, runs_of, tables
from testbed.experiments.experiment import load_experiment
from testbed.experiments.results import Results
from testbed.plan.load import read_scenario
from testbed.plan.problems import ScenarioError
from topologies.library import SCENARIOS, experiment_file

ROW = Row(
    scenario="near",
    world="emu",
    routers=1,
    interfaces=72,
    phase="low",
    rate=40.0,
    publications=80,
    owed=500,
    delivered=500,
    missing=0,
    duplicate=0,
    spurious=0,
    p50_us=100.0,
    end_to_end_p50_us=300.0,
    end_to_end_p99_us=900.0,
    p90_us=200.0,
    p99_us=700.0,
    hops=1.0,
    digest="d",
    busiest="r1",
    busiest_us=50.0,
    busiest_messages=80,
    all_us=50.0,
    fidelity="trusted",
    seconds=20.0,
)


def measured(*rows: Row) -> Measured:
    return Results("single-vs-network", False, 1, 1, 1.0, {"load": 0.0}, rows)


def loads(row: Row, *medians: float) -> list[Row]:
    """The row under one load after the other."""
    rates = zip((40.0, 800.0), medians, strict=True)
    return [replace(row, phase=f"at {rate:.0f}", rate=rate, end_to_end_p50_us=m) for rate, m in rates]


NETWORK = replace(ROW, routers=5, interfaces=19, busiest_us=20.0, all_us=80.0)


def test_the_highest_load_says_which_is_faster():
    alone = loads(ROW, 300.0, 400.0)
    assert findings.near_network_is_faster(measured(*alone, *loads(NETWORK, 500.0, 350.0))).holds
    found = findings.near_network_is_faster(measured(*alone, *loads(NETWORK, 200.0, 450.0)))
    assert not found.holds
    assert found.ours == (
        "40/s: 300 µs alone, 200 µs with 19 interfaces; 800/s: 400 µs alone, 450 µs with 19 interfaces"
    )


def test_work_is_compared_with_that_of_the_single_router():
    results = measured(ROW, NETWORK)
    assert findings.busiest_does_less(results).holds
    assert (
        findings.busiest_does_less(results).ours == "near: 0.40 x with 19 interfaces, of the single router's"
    )
    assert findings.all_do_more(results).holds
    unknown = measured(replace(ROW, busiest_us=None, all_us=None), NETWORK)
    assert findings.all_do_more(unknown).holds is None


def test_another_set_of_deliveries_or_a_wrong_one_is_not_passed_over():
    assert findings.same_deliveries(measured(ROW, NETWORK)).holds
    assert not findings.same_deliveries(measured(ROW, replace(NETWORK, digest="e"))).holds
    assert not findings.same_deliveries(measured(ROW, replace(NETWORK, missing=1))).holds


def test_a_network_that_saturates_is_seen():
    assert findings.load_does_not_slow(measured(*loads(ROW, 300.0, 500.0))).holds
    assert not findings.load_does_not_slow(measured(*loads(ROW, 300.0, 90_000.0))).holds


def test_the_page_says_which_runs_are_not_to_be_relied_on():
    doubtful = replace(NETWORK, fidelity="degraded", missing=3)
    text = tables(measured(ROW, doubtful))
    assert "did not keep up in 1 of 2 runs (near with 5)" in text
    assert "**3 wrong**" in text
    assert "did not keep up" not in tables(measured(ROW, NETWORK))
    assert len(runs_of(measured(*loads(ROW, 1.0, 2.0), NETWORK).rows)) == 2
    drawn = figures(load_experiment(experiment_file("single-vs-network")), measured(*loads(ROW, 1.0, 2.0)))
    assert list(drawn) == [""]


def _file(scenario: str) -> Path:
    return SCENARIOS / f"{scenario}.yaml"


def test_all_networks_of_the_question_have_the_same_clients_and_no_more_interfaces_than_it_says():
    experiment = load_experiment(experiment_file("single-vs-network"))
    scripts, sizes = set(), []
    plans = [
        plan for each in experiment.sweep.scenarios for _, plan in read_scenario(_file(each.name)).plans()
    ]
    for plan in plans:
        scripts.add(tuple((node.name, node.script) for node in plan.clients))
        sizes.append(max(len(router.interfaces) for router in plan.routers))
    assert len(scripts) == 1
    assert sizes == [72, 37, 19, 10] * 2


def test_a_scenario_that_is_not_there_is_named_with_its_line(tmp_path):
    text = experiment_file("single-vs-network").read_text()
    (tmp_path / "e.yaml").write_text(text.replace("name: single-vs-network-far", "name: nowhere"))
    with pytest.raises(
        ScenarioError, match=r"e\.yaml:\d+:\d+: sweep\.scenarios\.1\.name: no scenario 'nowhere'"
    ):
        load_experiment(tmp_path / "e.yaml")


@pytest.mark.sim
@pytest.mark.spark
def test_the_quick_slice_delivers_the_same_by_one_router_and_by_three(tmp_path, capsys):
    assert (
        main(["reproduce", "single-vs-network", "--quick", "--json", "--out", str(tmp_path), "--quiet"]) == 0
    )
    reported = json.loads(capsys.readouterr().out)
    assert reported["statements"][0]["holds"], reported["statements"][0]
    rows = reported["rows"]
    assert [(r["routers"], r["phase"]) for r in rows] == [
        (n, p) for n in (1, 3) for p in ("low", "middle", "high")
    ]
    assert all(r["missing"] == r["duplicate"] == r["spurious"] == 0 and r["owed"] for r in rows)
