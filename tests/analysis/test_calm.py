"""Whether a network had converged when it said so: r1, r2 and r3 in a row, client a at r3."""

from __future__ import annotations

import struct
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from analysis.calm import INTEREST, LINKS, Seen, busiest, contradictions, fixpoints_of, restless
from analysis.findings import KeptPacket
from analysis.history import NetworkChange, history_of
from analysis.oracle import SubscriptionChange
from analysis.patterns import Sought
from analysis.payloads import payloads_of
from analysis.rundir import Run
from fastpath import cover
from fastpath.wire.codec import encode_control, encode_link_state
from nodes.model import parse_predicate
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind, Role
from testbed.plan.model import LinkPlan, NodePlan, Plan, TimingPlan

START, SETTLE = 1_000, 100
IDS = {"r1": 1, "r2": 2, "r3": 3, "a": 4, "p": 5}
LINKS_OF = (("r1", "r2"), ("r2", "r3"), ("r3", "a"), ("r1", "p"))
PLAN = Plan(
    *("calm", "", 1, "pif", {}),
    nodes=tuple(NodePlan(n, i, Role.ROUTER if n[0] == "r" else Role.CLIENT, ()) for n, i in IDS.items()),
    links=tuple(LinkPlan(f"{a}--{b}", a, b, "", "") for a, b in LINKS_OF),
    timing=TimingPlan(settle_ns=SETTLE),
)
RUN = Run(Path(), {"start_ns": START, "outcome": "complete"}, PLAN, ())
AT_START = NetworkChange(START)
CUT = [AT_START, NetworkChange(2_000, "link_down", "r2--r3"), NetworkChange(2_100)]


NUMBERS = count(1)
FRAGMENT_BYTES = 1_400


def fragments(origin, time_ns, kind, payload, size=FRAGMENT_BYTES):
    """The packets in which a router sends a payload, one a nanosecond, the last at `time_ns`."""
    places = range(0, len(payload), size)
    for at, place in enumerate(places):
        first, last = at == 0, at == len(places) - 1
        part = payload[place : place + size]
        data = encode_control(kind, 1, 2, next(NUMBERS), 0, 9, first, last, part)
        yield KeptPacket(f"r{origin}", time_ns + at + 1 - len(places), data)


def announced(origin, sequence, time_ns, *neighbours):
    """A LINK_STATE."""
    payload = encode_link_state(origin, sequence, [(node, 1) for node in neighbours])
    (found,) = payloads_of(fragments(origin, time_ns, Kind.LINK_STATE, payload))
    return found


def wants(origin, sequence, time_ns, text):
    """An INTEREST."""
    head = struct.pack("!IQ", origin, sequence)
    payload = head + cover.reduce(encode_predicate(parse_predicate(text)))
    (found,) = payloads_of(fragments(origin, time_ns, Kind.INTEREST, payload, size=20))
    return found


def wants_instead(origin, sequence, time_ns, removed, added):
    """An INTEREST_CHANGE; what it leads to is not looked at."""
    parts = [encode_predicate(parse_predicate(each)) if each else bytes(4) for each in (removed, added)]
    payload = struct.pack("!IQ16x", origin, sequence) + b"".join(parts)
    (found,) = payloads_of(fragments(origin, time_ns, Kind.INTEREST_CHANGE, payload))
    return found


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


def denied(found, changes=(AT_START,), links=TRUE, subscriptions=(), partial=(), offers=None, sought=()):
    seen = Seen(RUN, found, links, subscriptions, partial, offers, sought)
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


def test_announced_links_in_several_packets_are_read():
    many = tuple(range(10, 510))
    wrong = announced(3, 1, 900, 2, *many)
    (why,) = denied(records(), links=[*TRUE[:2], wrong])
    assert why.startswith("r3 had announced links to r2, 10, 11, ")
    assert why.endswith(", and was linked to r2")


BEFORE = START - SETTLE - 1
OF_A = SubscriptionChange(BEFORE, "a", 1, "x > 5")
BOTH = {name: np.concatenate([records()[name], records(of=INTEREST)[name]]) for name in records()}


def denied_interest(*announcements, subscriptions=(OF_A,), changes=(AT_START,), found=BOTH, links=TRUE):
    return denied(found, changes, [*links, *announcements], subscriptions)


def test_announced_interest_that_the_subscriptions_deny_contradicts_it():
    assert denied_interest(wants(3, 1, 900, "x > 5")) == []
    (why,) = denied_interest(wants(3, 1, 900, "x > 6"))
    assert why == "r3 had announced interest that is not what its clients had subscribed to"
    assert len(denied_interest(wants(3, 1, 900, "x > 5 or y = 1"))) == 1
    assert len(denied_interest(wants(1, 1, 900, "x > 5"), wants(3, 1, 900, "x > 5"))) == 1


def test_routers_that_recognise_patterns_may_announce_interest_in_their_parts_and_nothing_else():
    sought = [Sought(BEFORE, "b", 1, "[y = 1] then [y = 2 and z = 1] within 5s")]

    def denied_beside(text, patterns=sought):
        return denied(BOTH, links=[*TRUE, wants(3, 1, 900, text)], subscriptions=(OF_A,), sought=patterns)

    assert denied_beside("x > 5") == denied_beside("x > 5 or y = 1") == []
    assert denied_beside("x > 5 or y = 1 or y = 2 and z = 1") == []
    for wrong in ("y = 1", "x > 5 or y = 3", "x > 5 or y = 2"):
        (why,) = denied_beside(wrong)
        assert why == "r3 had announced interest that is not what its clients had subscribed to"
    assert denied_beside("y = 1", [Sought(START - 1, "b", 1, "[y = 1]")]) == [], "it is under way"
    assert len(denied_beside("x > 5 or y = 1", [])) == 1


def test_interest_may_be_announced_in_other_words_that_mean_the_same():
    other = SubscriptionChange(BEFORE, "a", 2, "x > 7 or x > 5 and x > 2")
    assert denied_interest(wants(3, 1, 900, "x > 5"), subscriptions=[OF_A, other]) == []
    assert denied_interest(wants(3, 1, 900, "x > 5"), subscriptions=[other]) == []


def test_a_withdrawn_subscription_that_is_still_announced_contradicts_it():
    gone = SubscriptionChange(BEFORE, "a", 1, None)
    first = SubscriptionChange(BEFORE - 1, "a", 1, "x > 5")
    assert len(denied_interest(wants(3, 1, 900, "x > 5"), subscriptions=[first, gone])) == 1
    assert denied_interest(wants(3, 1, 900, "x > 5"), subscriptions=[first]) == []


def test_changes_of_interest_are_applied_to_what_they_follow():
    found = {name: column.copy() for name, column in BOTH.items()}
    found["sequence"][(found["of"] == INTEREST) & (found["origin"] == 3)] = 2
    told = [wants(3, 1, 800, "y = 1"), wants_instead(3, 2, 900, "y = 1", "x > 5")]
    assert denied_interest(*told, found=found) == []
    told = [wants(3, 1, 800, "y = 1"), wants_instead(3, 2, 900, "", "x > 5")]
    assert len(denied_interest(*told, found=found)) == 1
    assert denied_interest(told[1], found=found) == [], "what it follows was not captured"
    assert denied_interest(told[0], found=found) == [], "the last announcement was not captured"


def test_a_number_that_a_restarted_router_uses_again_says_something_else_from_then_on():
    told = [wants(3, 1, 900, "x > 5"), wants(3, 1, 2_000, "y = 1")]
    assert denied_interest(*told) == []


def test_the_interest_of_a_client_that_is_cut_off_is_not_announced():
    cut = [AT_START, NetworkChange(2_000, "link_down", "r3--a"), NetworkChange(2_100)]
    told = [wants(3, 1, 900, "x > 5")]
    assert len(denied_interest(*told, changes=cut)) == 1
    found = {name: np.append(column, last) for (name, column), last in zip(
        BOTH.items(), (1, 3, 1, 2, INTEREST), strict=True)}  # fmt: skip
    for router in (2, 3):
        found = {name: np.append(found[name], last) for name, last in zip(
            found, (router, 3, 1, 2, INTEREST), strict=True)}  # fmt: skip
    nothing = wants_instead(3, 2, 2_050, "x > 5", "")
    assert denied_interest(*told, nothing, changes=cut, found=found) == []


def offers(text, at_ns=BEFORE, client="p"):
    return [SubscriptionChange(at_ns, client, 1, text)]


@pytest.mark.parametrize(
    ("announced", "offered", "denials"),
    [
        ("x > 5", offers("x = 7"), 0),
        ("x > 5", offers("x = 7", client="a"), 1),  # by a client of the same router
        ("x > 5", offers("x = 3"), 1),
        ("none", offers("x = 3"), 0),
        ("none", offers("x = 7"), 1),
        ("none", offers("x = 7", at_ns=START - SETTLE), 0),  # on its way
        ("none", [], 0),
        ("y = 1", offers("x = 7 and y any integer"), 1),
    ],
)
def test_E14_where_publishers_advertise_interest_is_announced_of_what_others_advertise(
    announced, offered, denials
):
    found = denied(BOTH, links=[*TRUE, wants(3, 1, 900, announced)], subscriptions=[OF_A], offers=offered)
    assert len(found) == denials, found


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
