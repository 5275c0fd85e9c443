"""Runs under a policy: what is owed, and what is seen if routers permit more or less than the plan says.

pub, intruder - r1 --- r2 - sub, guest
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.oracle import SubscriptionChange
from analysis.pipeline import analyze
from analysis.policy import Policy
from analysis.quick.judge import judge
from testbed.plan.load import plan_of
from tests.analysis.test_planted_contradictions import edit_plan

SCENARIO = """
name: policed
seed: 3
scheme: {name: pif, advertisements: true}
timing: {settle: 100ms}
topology: {routers: [r1, r2], links: [r1 - r2]}
clients:
  pub:
    at: r1
    advertise: [n any integer]
    publish: [{every: 20ms, count: 100, message: {n: {count: 0}}}]
  intruder:
    at: r1
    advertise: [n any integer]
    publish: [{every: 100ms, count: 20, message: {n: 1}}]
  sub: {at: r2, subscribe: [n any integer]}
  guest: {at: r2, subscribe: [n < 10, n any integer], patterns: ["[n = 1] then [n = 90] within 10s"]}
policy:
  pub: {publish: n < 50}
  intruder: {publish: none, advertise: none}
  guest: {subscribe: n < 20}
"""


@pytest.fixture(scope="module")
def simulated(simulate: Callable[[str, str], Path]) -> Path:
    return simulate("policed", SCENARIO)


@pytest.fixture
def run(simulated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(simulated, tmp_path / "run"))


@pytest.mark.sim
@pytest.mark.spark
def test_what_was_not_permitted_is_counted_owed_to_nobody_and_shown(run: Path) -> None:
    quick, whole = judge(run), analyze(run)
    for verdict in (quick, whole):
        # 50 to 99 of pub, all 20 of intruder. The pattern is the third of guest's subscriptions, too.
        assert verdict["policy"] == {
            "publications": 50 + 20, "subscriptions": 2, "advertisements": 1, "patterns": 1,
        }  # fmt: skip
        assert (verdict["owed"], verdict["delivered"], verdict["unadvertised"]) == (50 + 10, 50 + 10, 0)
        assert (verdict["verdict"], verdict["problems"]) == ("clean", [])
        assert verdict["patterns"]["owed"] == 0
    assert any(
        note.startswith(
            "The policy did not permit 70 messages, 2 subscriptions, 1 advertisement and 1 pattern"
        )
        for note in whole["notes"]
    )
    report = (run / "report.html").read_text(encoding="utf-8")
    assert "What clients may do" in report
    assert "n &lt; 50" in report


def policy_of(name: str, policy: dict[str, str] | None) -> Callable[[dict[str, Any]], None]:
    def edit(plan: dict[str, Any]) -> None:
        next(node for node in plan["nodes"] if node["name"] == name)["policy"] = policy

    return edit


@pytest.mark.sim
def test_a_router_that_permits_more_than_the_plan_delivers_what_is_spurious(run: Path) -> None:
    edit_plan(run, policy_of("pub", {"subscribe": "all", "publish": "n < 40", "advertise": "all"}))
    verdict = judge(run)
    assert (verdict["spurious"], verdict["verdict"]) == (10, "wrong")
    edit_plan(run, policy_of("guest", {"subscribe": "none", "publish": "all", "advertise": "all"}))
    assert judge(run)["spurious"] == 10 + 10


@pytest.mark.sim
def test_a_router_that_permits_less_than_the_plan_lacks_what_is_owed(run: Path) -> None:
    edit_plan(run, policy_of("pub", None))
    verdict = judge(run)
    assert (verdict["missing"], verdict["verdict"]) == (50, "wrong")
    assert verdict["policy"]["publications"] == 20


def test_what_is_refused_ends_what_the_client_held_by_the_number_before_and_counts_once() -> None:
    few = {"name": "few", "topology": {"routers": ["r1"]}, "clients": {"c": {"at": "r1"}}}
    policy = Policy(plan_of({**few, "policy": {"c": {"subscribe": "x < 5"}}}))
    changes = [
        SubscriptionChange(1, "c", 1, "x = 1"),
        SubscriptionChange(2, "c", 1, "x = 9"),
        SubscriptionChange(3, "c", 1, "x = 9"),
        SubscriptionChange(4, "c", 1, None),
        SubscriptionChange(5, "c", 1, "x = 9"),
        SubscriptionChange(6, "c", 2, "what is no predicate"),
    ]
    permitted = policy.subscriptions(changes)
    assert [change.predicate for change in permitted.changes] == [
        "x = 1", None, None, None, None, "what is no predicate",
    ]  # fmt: skip
    assert [change.time_ns for change in permitted.refused] == [2, 5]
