"""Who is honest where somebody attacks, and what a verdict goes by then."""

from __future__ import annotations

import numpy as np

from analysis.attacked import ATTACKERS, HONEST, THROUGH, attacked
from analysis.history import NetworkChange, history_of
from analysis.quick.judge import judge
from analysis.rundir import load_run
from testbed.plan.load import load_plan

LINE = """
name: line
topology: {routers: [r1, r2, r3, r4], links: [r1 - r2, r2 - r3, r3 - r4]}
clients: {a: {at: r1}, b: {at: r2}, c: {at: r3}, d: {at: r4}}
faults: [%s]
"""


def sides(simulate, fault: str, *pairs: str) -> list[int]:
    run = load_run(simulate("line", LINE % fault))
    changes = [NetworkChange(run.start_ns + 1, each.do, each.target) for each in run.plan.faults]
    found = attacked(run, changes)
    assert found is not None
    ids = [[run.client_ids[end] for end in pair] for pair in pairs]
    return found.sides_of(*(np.array(column) for column in zip(*ids, strict=True))).tolist()


def test_who_is_attacked_on_a_link_stays_honest(simulate):
    fault = "{at: 1ms, replay: {link: r2 - r3, times: 1, every: 1ms}}"
    assert sides(simulate, fault, "ad", "bc", "da") == [HONEST] * 3


def test_pairs_with_a_liar_at_an_end_are_its_own_and_those_across_it_are_told_apart(simulate):
    found = sides(simulate, "{at: 1ms, lie: {router: r2}, for: 1ms}", "ab", "bd", "ac", "da", "cd")
    assert found == [ATTACKERS, ATTACKERS, THROUGH, THROUGH, HONEST]


def test_a_client_that_floods_is_an_attacker_and_its_router_is_not(simulate):
    fault = "{at: 1ms, flood: {node: b, times: 1, every: 1ms}}"
    assert sides(simulate, fault, "ab", "bd", "ac", "cd") == [ATTACKERS, ATTACKERS, HONEST, HONEST]


def test_attacks_end_no_settled_period(tmp_path):
    path = tmp_path / "line.yaml"
    path.write_text(LINE % "")
    plan = load_plan(path)
    changes = [NetworkChange(100, "forge", "r1--r2"), NetworkChange(200, "crash", "r4")]
    history = history_of(plan, changes, 50)
    assert [period.until_ns for period in history.settled] == [200]
    assert [[cause.do for cause in each.causes] for each in history.disturbances] == [["crash"]]


def test_a_run_without_attacks_has_none_in_its_verdict(simulate):
    assert judge(simulate("line", LINE % ""))["attacks"] is None
