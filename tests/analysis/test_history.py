"""When a network stood still, who was connected then, and what that makes of a delivery."""

from __future__ import annotations

import pytest

from analysis.history import FOREVER, NetworkChange, history_of
from analysis.oracle import Clock, Oracle
from nodes.wire.packets import Role
from testbed.plan.model import LinkPlan, NodePlan, Plan, TimingPlan

START, SETTLE = 1_000, 10
NODES = {"r1": 1, "r2": 2, "a": 3, "b": 4}
LINKS = [("r1", "r2"), ("r1", "a"), ("r2", "b")]
PLAN = Plan(
    *("history", "", 1, "pif", {}),
    nodes=tuple(
        NodePlan(n, i, Role.ROUTER if n.startswith("r") else Role.CLIENT, ()) for n, i in NODES.items()
    ),
    links=tuple(LinkPlan(f"{a}--{b}", a, b, "", "") for a, b in LINKS),
    timing=TimingPlan(settle_ns=SETTLE),
)
A, B = 3, 4


def history(*changes):
    converged = NetworkChange(START)
    reported = [NetworkChange(time_ns, *what) for time_ns, *what in changes]
    return history_of(PLAN, [converged, *reported], START)


def verdicts(of, *times):
    """Of messages from A to B: o(wed), a(llowed), or - where no path leads from one to the other."""
    periods = map(of.period_of, times)
    return "".join("a" if period is None else "o" if period.connects(A, B) else "-" for period in periods)


def owed(oracle, time_ns):
    return {client: due.owed for client, due in oracle.expected(A, time_ns, {"x": 1}).items()}


def test_without_faults_all_is_owed_from_the_start_on():
    assert verdicts(history(), START - 1, START, START + 10**9) == "aoo"


def test_what_may_still_be_on_its_way_at_a_fault_is_allowed_and_not_owed():
    of = history((2_000, "pause", "x"), (2_500,))
    assert verdicts(of, 2_000 - SETTLE, 2_000 - SETTLE + 1, 2_000, 2_499, 2_500, 2_501) == "oaaaao"


def test_all_is_owed_while_keys_are_changed():
    assert verdicts(history((2_000, "rekey", "r1--r2")), 1_999, 2_000, 2_001, 10**9) == "oooo"


@pytest.mark.parametrize(
    "fault", [("link_down", "r1--r2"), ("crash", "r2"), ("pause", "r1"), ("link_down", "r2--b")]
)
def test_once_the_network_has_converged_nothing_comes_over_what_is_broken(fault):
    of = history((2_000, *fault), (2_100,))
    assert verdicts(of, 1_500, 2_050, 2_101, 10**9) == "oa--"


@pytest.mark.parametrize(
    ("fault", "repair"),
    [(("link_down", "r1--r2"), "link_up"), (("crash", "r2"), "start"), (("pause", "r1"), "resume")],
)
def test_what_is_repaired_counts_again_once_the_network_has_converged(fault, repair):
    of = history((2_000, *fault), (2_100,), (3_000, repair, fault[1]), (3_100,))
    assert verdicts(of, 2_500, 2_995, 3_050, 3_101) == "-aao"


def test_a_network_that_never_converges_again_owes_nothing_more():
    of = history((2_000, "crash", "r2"), (2_050, "start", "r2"))
    assert verdicts(of, 1_500, 2_001, 10**9) == "oaa"


def test_a_fault_of_another_part_of_the_network_leaves_a_path_what_it_was():
    of = history((2_000, "crash", "r2"), (2_100,))
    assert of.period_of(2_500).connects(A, 1)


def test_what_a_node_that_stood_still_held_back_may_go_to_who_subscribed_meanwhile():
    of = history((2_000, "pause", "r1"), (2_100,), (3_000, "resume", "r1"), (3_100,))
    claims = [Clock(START, SETTLE).claim(B, "x = 1", 2_500, None)]
    oracle = Oracle(claims, of)
    assert [owed(oracle, t) for t in (1_900, 2_050, 3_050, 3_200)] == [
        {},
        {B: False},
        {B: False},
        {B: True},
    ]
    assert (of.held_until(1_900), of.held_until(2_050), of.held_until(3_200)) == (1_900, 3_000, 3_200)


def test_the_end_of_a_subscription_is_known_when_the_network_has_converged_again():
    """A router that stood still delivers what waited for it before it hears who has gone."""
    of = history((2_000, "pause", "r1"), (2_100,), (3_000, "resume", "r1"), (3_100,))
    reported = [of.known_by(t) for t in (1_900, 1_995, 2_050, 2_100, 2_200, 2_995, 3_050, 3_200)]
    assert reported == [1_910, 2_100, 2_100, 2_110, 2_210, 3_100, 3_100, 3_210]
    assert history((2_000, "pause", "r1")).known_by(2_050) == FOREVER
    ended = Oracle([Clock(START, SETTLE).claim(B, "x = 1", 0, 2_995)], of)
    assert [owed(ended, t) for t in (3_050, 3_100, 3_111)] == [{B: False}, {B: False}, {}]


def test_a_claim_and_the_network_must_both_owe():
    clock = Clock(START, SETTLE)
    of = history((2_000, "link_down", "r1--r2"), (2_100,), (3_000, "link_up", "r1--r2"), (3_100,))
    oracle = Oracle([clock.claim(B, "x = 1", 0, 3_500)], of)
    reported = [owed(oracle, t) for t in (1_500, 2_050, 2_500, 3_050, 3_200, 3_495, 3_600)]
    assert reported == [{B: True}, {B: False}, {B: None}, {B: False}, {B: True}, {B: False}, {}]


def test_a_link_that_changes_neither_fails_nor_is_repaired_and_ends_the_settled_period():
    of = history((2_000, "link_down", "r1--r2"), (2_100,), (2_200, "impair", "r1--r2"), (2_300,))
    assert [period.connects(A, B) for period in of.settled] == [True, False, False]
    assert of.unsettled() == [(2_000 - SETTLE, 2_100), (2_200 - SETTLE, 2_300)]


def test_unrest_without_an_end_lasts_for_ever_and_without_faults_there_is_none():
    assert history().unsettled() == []
    assert history((2_000, "crash", "r1")).unsettled() == [(2_000 - SETTLE, FOREVER)]
