"""Whether a network had converged when it said so: r1, r2 and r3 in a row, client a at r3."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.calm import INTEREST, LINKS, Seen, busiest, contradictions, fixpoints_of, restless
from analysis.findings import KeptPacket
from analysis.history import NetworkChange, history_of
from analysis.oracle import SubscriptionChange
from analysis.rundir import Run
from fastpath.wire.codec import encode_control, encode_link_state
from nodes.wire.packets import Role
from testbed.plan.model import LinkPlan, NodePlan, Plan, TimingPlan

START, SETTLE = 1_000, 100
IDS = {"r1": 1, "r2": 2, "r3": 3, "a": 4}
LINKS_OF = (("r1", "r2"), ("r2", "r3"), ("r3", "a"))
PLAN = Plan(
    *("calm", "", 1, "pif", {}),
    nodes=tuple(NodePlan(n, i, Role.ROUTER if n != "a" else Role.CLIENT, ()) for n, i in IDS.items()),
    links=tuple(LinkPlan(f"{a}--{b}", a, b, "", "") for a, b in LINKS_OF),
    timing=TimingPlan(settle_ns=SETTLE),
)
RUN = Run(Path(), {"start_ns": START, "outcome": "complete"}, PLAN, ())
AT_START = NetworkChange(START)
CUT = [AT_START, NetworkChange(2_000, "link_down", "r2--r3"), NetworkChange(2_100)]


def announced(origin, sequence, time_ns, *neighbours):
    payload = encode_link_state(origin, sequence, [(node, 1) for node in neighbours])
    return KeptPacket(f"r{origin}", time_ns, encode_control(1, 1, 2, 1, 0, 9, True, True, payload))


TRUE = [announced(1, 1, 900, 2), announced(2, 1, 900, 1, 3), announced(3, 1, 900, 2)]
TRUE_AFTER = [*TRUE, announced(2, 2, 2_050, 1), announced(3, 2, 2_050)]


def records(*changed, of=LINKS):
    """Everybody has number 1 of everybody, but for what is changed: router, origin, stage, sequence."""
    rows = {(router, origin, 0): 1 for router in (1, 2, 3) for origin in (1, 2, 3)}
    rows |= {(router, origin, stage): sequence for router, origin, stage, sequence in changed}
    rows = {key: sequence for key, sequence in rows.items() if sequence}
    columns = {name: [key[at] for key in rows] for at, name in enumerate(("router", "origin", "stage"))}
    columns |= {"sequence": list(rows.values()), "of": [of] * len(rows)}
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


def denied(found, changes=(AT_START,), links=TRUE, subscriptions=(), partial=()):
    seen = Seen(RUN, found, links, subscriptions, partial)
    return [each.why for each in contradictions(seen, fixpoints_of(RUN, changes))]


def test_a_fixpoint_at_which_all_know_the_same_and_the_truth_is_one():
    assert denied(records()) == []
    assert denied(records((2, 2, 1, 2), (1, 2, 1, 2), (3, 3, 1, 2)), CUT, TRUE_AFTER) == []


def test_a_router_that_had_not_heard_of_another_contradicts_it():
    (why,) = denied(records((3, 1, 0, 0)))
    assert why == "r3 had seen no announcement of the links of r1, and others number 1"


def test_an_announcement_that_only_some_had_seen_contradicts_it():
    (why,) = denied(records((1, 2, 0, 7), (2, 2, 0, 7)))
    assert why == "r3 had seen announcement 1 of the links of r2, and others number 7"


def test_routers_that_are_apart_need_not_agree():
    assert denied(records((3, 3, 1, 9), (2, 2, 1, 2), (1, 2, 1, 2)), CUT, TRUE_AFTER) == []
    back = [*CUT, NetworkChange(3_000, "link_up", "r2--r3"), NetworkChange(3_100)]
    links = [*TRUE_AFTER, announced(2, 3, 3_050, 1, 3), announced(3, 3, 3_050, 2)]
    assert len(denied(records((3, 3, 1, 9)), back, links)) == 1, "together again, they have to"


def test_announced_links_that_the_plan_and_the_faults_deny_contradict_it():
    (why,) = denied(records(), CUT, TRUE)
    assert why == "r2 had announced links to r1, r3, and was linked to r1"
    (why,) = denied(records(), links=[*TRUE[:2], announced(3, 1, 900)])
    assert why == "r3 had announced links to no router, and was linked to r2"


def test_interest_on_its_way_is_no_contradiction():
    late = records((3, 3, 0, 5), of=INTEREST)
    assert len(denied(late)) == 1
    just_now = SubscriptionChange(START - SETTLE, "a", 1, "x = 1")
    assert denied(late, subscriptions=[just_now]) == []
    before = SubscriptionChange(START - SETTLE - 1, "a", 1, "x = 1")
    assert len(denied(late, subscriptions=[before])) == 1


def test_routers_of_which_not_all_was_captured_prove_nothing():
    assert denied(records((3, 1, 0, 0)), partial=[3]) == []


def test_links_announced_anew_though_nothing_failed_show_that_it_did_not_stay_calm():
    history = history_of(PLAN, CUT, START)
    assert restless(RUN, history, TRUE_AFTER) == []
    forged = [announced(3, n, 2_500 + n, 2) for n in (3, 4, 4)]
    (found,) = restless(RUN, history, [*TRUE_AFTER, *forged])
    assert (found.time_ns, found.later) == (2_100, True)
    assert found.why == "r3 announced its links anew 2 times, and nothing had failed"
    just_before = announced(3, 2, 2_000 - SETTLE + 1, 2)
    assert restless(RUN, history, [*TRUE, just_before]) == [], "the fault may have begun to show"


def test_who_keeps_a_network_from_settling_is_named():
    changes = [AT_START, NetworkChange(2_000, "impair", "r2--r3")]
    busy = [announced(3, n, 2_000 + n, 2) for n in range(2, 30)] + [announced(1, 2, 2_001, 2)]
    text = busiest(RUN, history_of(PLAN, changes, START), [*TRUE, *busy])
    assert text == "Since then r3 announced its links 28 times, more than any other router."
    assert busiest(RUN, history_of(PLAN, [*changes, NetworkChange(2_500)], START), [*TRUE, *busy]) == ""
    assert busiest(RUN, history_of(PLAN, changes, START), TRUE) == ""
