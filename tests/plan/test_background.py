"""Background traffic: over which links it goes, how much of it there is, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.plan.background import FRAMES_MAX
from testbed.plan.load import load_plan
from testbed.plan.model import Plan
from testbed.plan.problems import ScenarioError

SECOND = 1_000_000_000
SCENARIO = """
name: busy
topology:
  routers: [r1, r2, r3]
  links: [r1 - r2, r2 - r3, {between: [r1, r3], cost: 5}]
clients: {alice: {at: r1, publish: [{message: n = 1, every: 1s, count: 5}]}}
background: [FLOW]
"""


@pytest.fixture
def plan_with(tmp_path: Path):
    def plan_with(flow: str, scenario: str = SCENARIO) -> Plan:
        path = tmp_path / "busy.yaml"
        path.write_text(scenario.replace("FLOW", flow), encoding="utf-8")
        return load_plan(path)

    return plan_with


def hops(plan: Plan) -> list[tuple[str, str]]:
    peers = {i.name: (node.name, i.peer) for node in plan.nodes for i in node.interfaces}
    return [peers[flow.interface] for flow in plan.background]


def test_it_loads_every_link_of_the_cheapest_path(plan_with) -> None:
    plan = plan_with("{from: r1, to: r3, rate: 1mbit}")
    assert hops(plan) == [("r1", "r2"), ("r2", "r3")]
    assert hops(plan_with("{from: alice, to: r2, rate: 1mbit, both: true}")) == [
        ("alice", "r1"),
        ("r1", "r2"),
        ("r2", "r1"),
        ("r1", "alice"),
    ]


def test_its_rate_counts_whole_frames(plan_with) -> None:
    (flow,) = plan_with("{from: r1, to: r2, rate: 1mbit, size: 500, at: 1s, for: 2s}").background
    assert (flow.at_ns, flow.lasts_ns, flow.frame_bytes) == (SECOND, 2 * SECOND, 500)
    assert flow.every_ns == 4_000_000
    assert flow.frames == 500


def test_it_ends_with_the_scripts_if_nothing_says_when(plan_with) -> None:
    (flow,) = plan_with("{from: r1, to: r2, rate: 1mbit, at: 1s}").background
    assert flow.at_ns + flow.lasts_ns == 4 * SECOND


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ("{from: r9, to: r2, rate: 1mbit}", "background.0.from: there is no node r9"),
        ("{from: r1, to: r1, rate: 1mbit}", "r1 would send to itself"),
        ("{from: r1, to: r2}", "rate is missing"),
        ("{from: r1, to: r2, rate: 1mbit, for: 0s}", "it would end as it begins"),
        ("{from: r1, to: r2, rate: 1mbit, at: 9s}", "the clients' scripts are over by then"),
        ("{from: r1, to: r2, rate: 1mbit, size: 2000}", "do not fit the link r1--r2, whose MTU is 1500"),
        ("{from: r1, to: r2, rate: 1mbit, size: 20}", "is less than the least, 60"),
        ("{from: r1, to: r2, rate: 100gbit, for: 10s}", f"{FRAMES_MAX:,} in all"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(plan_with, flow: str, message: str) -> None:
    with pytest.raises(ScenarioError) as found:
        plan_with(flow)
    assert message in str(found.value)
