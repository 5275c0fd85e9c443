"""What a scenario says of faults and impairments, and the single steps that the plan has of it."""

from __future__ import annotations

import pytest

from testbed.plan.load import plan_of
from testbed.plan.model import Fault, Impairment
from testbed.plan.problems import ScenarioError
from testbed.plan.recorded import plan_from_json, plan_to_json

MS = 1_000_000
RING = {
    "name": "ring",
    "topology": {"routers": ["r1", "r2", "r3", "r4"], "links": ["r1 - r2", "r2 - r3", "r3 - r4", "r4 - r1"]},
    "clients": {f"c{n}": {"at": f"r{n}"} for n in (1, 2, 3, 4)},
}


def faults(*given, **more):
    plan = plan_of({**RING, "faults": list(given), **more})
    assert plan_from_json(plan_to_json(plan)) == plan
    return plan.faults


def test_faults_come_in_order_of_time_and_then_of_the_file():
    found = faults(
        {"at": "2s", "crash": "r3"}, {"at": "1s", "link_down": "r2 - r1"}, {"at": "2s", "pause": "c1"}
    )
    assert [(f.at_ns // MS, f.do, f.target) for f in found] == [
        (1000, "link_down", "r1--r2"),
        (2000, "crash", "r3"),
        (2000, "pause", "c1"),
    ]


def test_a_client_leaves_and_returns_by_its_access_link():
    assert faults({"at": "0s", "leave": "c2"}, {"at": "1s", "return": "c2"}) == (
        Fault(0, "link_down", "r2--c2"),
        Fault(1000 * MS, "link_up", "r2--c2"),
    )


def test_a_partition_cuts_what_joins_its_groups_and_healing_repairs_just_that():
    found = faults(
        {"at": "1s", "link_down": "r2 - r3"},
        {"at": "2s", "partition": [["r1", "r2"]]},
        {"at": "3s", "heal": True},
        {"at": "4s", "link_up": "r2 - r3"},
    )
    assert [(f.do, f.target) for f in found if f.at_ns in (2000 * MS, 3000 * MS)] == [
        ("link_down", "r4--r1"),
        ("link_up", "r4--r1"),
    ]


def test_a_flap_is_down_for_a_part_of_each_period():
    found = faults({"at": "1s", "flap": {"link": "r1 - r2", "times": 2, "every": "100ms", "down": "30ms"}})
    assert [(f.at_ns // MS, f.do) for f in found] == [
        (1000, "link_down"),
        (1030, "link_up"),
        (1100, "link_down"),
        (1130, "link_up"),
    ]


def test_churn_draws_its_share_by_the_seed_and_everyone_returns():
    churn = {"at": "1s", "churn": {"clients": "50%", "times": 3, "every": "100ms"}}
    found = faults(churn)
    assert found == faults(churn)
    assert len(found) == 3 * 2 * 2
    assert any(faults(churn, seed=n) != found for n in range(2, 9))
    left = [f.target for f in found if f.do == "link_down"]
    assert sorted(left) == sorted(f.target for f in found if f.do == "link_up")


def test_a_link_whose_ends_cannot_be_told_apart_needs_spaces():
    topology = {"routers": ["a", "b-c", "a-b", "c"], "links": ["a - b-c", "a-b - c", "a - c"]}
    scenario = {"name": "x", "topology": topology, "faults": [{"at": "0s", "link_down": "a-b-c"}]}
    with pytest.raises(ScenarioError, match="may be a--b-c or a-b--c"):
        plan_of(scenario)
    scenario["faults"] = [{"at": "0s", "link_down": "a-b - c"}]
    assert plan_of(scenario).faults[0].target == "a-b--c"


def test_the_way_back_differs_in_what_it_says_and_in_nothing_else():
    link = {"between": ["r1", "r2"], "delay": "5ms", "loss": 0.1, "back": {"loss": 0.2, "loss_burst": 4}}
    plan = plan_of({"name": "x", "topology": {"routers": ["r1", "r2"], "links": [link]}})
    assert plan.links[0].impairment == Impairment(5 * MS, loss=0.1)
    assert plan.links[0].impairment_back == Impairment(5 * MS, loss=0.2, loss_burst=4.0)


def test_a_default_way_back_takes_what_a_link_says_of_both():
    topology = {
        "routers": ["r1", "r2"],
        "link_defaults": {"delay": "1ms", "back": {"loss": 0.5}},
        "links": [{"between": ["r1", "r2"], "delay": "7ms"}],
    }
    link = plan_of({"name": "x", "topology": topology}).links[0]
    assert (link.impairment, link.impairment_back) == (Impairment(7 * MS), Impairment(7 * MS, loss=0.5))
