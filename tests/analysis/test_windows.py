"""When a delivery is owed and when it is allowed: the windows of `analysis.oracle`."""

from __future__ import annotations

import pytest

from analysis.oracle import FOREVER, NEVER, Clock, claims_of
from analysis.rundir import SubscriptionChange

START, SETTLE = 1_000, 10
CLOCK = Clock(START, SETTLE)
CLIENTS = {"a": 11, "b": 12}


def subscribe(time_ns, predicate="x > 1", client="a", number=1):
    return SubscriptionChange(time_ns, client, number, predicate)


def unsubscribe(time_ns, client="a", number=1):
    return SubscriptionChange(time_ns, client, number, None)


def only_claim(*changes, clock=CLOCK):
    claims, problems = claims_of(changes, CLIENTS, clock)
    assert problems == []
    assert len(claims) == 1
    return claims[0]


def test_what_was_subscribed_before_the_start_is_owed_from_the_start():
    claim = only_claim(subscribe(START - 1))
    assert not claim.owes(START - 1)
    assert claim.owes(START)
    assert claim.owes(FOREVER)


@pytest.mark.parametrize("at", [START, START + 500])
def test_a_later_subscription_is_owed_once_it_had_time_to_settle(at):
    claim = only_claim(subscribe(at))
    assert not claim.owes(at + SETTLE - 1)
    assert claim.owes(at + SETTLE)


def test_a_message_already_on_its_way_may_reach_a_new_subscriber():
    claim = only_claim(subscribe(START + 500))
    assert claim.allows(START + 500 - SETTLE)
    assert not claim.allows(START + 500 - SETTLE - 1)


def test_a_withdrawal_ends_the_duty_before_and_the_leave_after():
    claim = only_claim(subscribe(START - 1), unsubscribe(START + 500))
    assert claim.owes(START + 500 - SETTLE)
    assert not claim.owes(START + 500 - SETTLE + 1)
    assert claim.allows(START + 500 + SETTLE)
    assert not claim.allows(START + 500 + SETTLE + 1)


def test_a_subscription_shorter_than_two_settles_owes_nothing():
    claim = only_claim(subscribe(START + 500), unsubscribe(START + 500 + 2 * SETTLE - 1))
    assert not any(claim.owes(t) for t in range(START, START + 1000))
    assert claim.allows(START + 500)


def test_repeating_a_subscription_changes_nothing():
    claim = only_claim(subscribe(START - 1), subscribe(START + 500))
    assert claim.owes(START + 500)


def test_another_predicate_under_the_same_number_replaces_the_first():
    claims, _ = claims_of([subscribe(START - 1, "x = 1"), subscribe(START + 500, "x = 2")], CLIENTS, CLOCK)
    first, second = claims
    assert (first.predicate, first.allowed_until_ns) == ("x = 1", START + 500 + SETTLE)
    assert (second.predicate, second.owed_from_ns) == ("x = 2", START + 500 + SETTLE)


def test_the_same_number_at_two_clients_is_two_subscriptions():
    claims, _ = claims_of(
        [subscribe(1), subscribe(2, client="b"), unsubscribe(3, client="b")], CLIENTS, CLOCK
    )
    assert [(c.subscriber, c.allowed_until_ns) for c in claims] == [(12, 3 + SETTLE), (11, FOREVER)]


def test_withdrawing_what_was_never_subscribed_claims_nothing():
    assert claims_of([unsubscribe(1)], CLIENTS, CLOCK) == ([], [])


def test_a_subscriber_outside_the_plan_is_a_problem():
    claims, problems = claims_of([subscribe(1, client="mallory")], CLIENTS, CLOCK)
    assert claims == []
    assert "'mallory'" in problems[0]


def test_a_run_cut_short_owes_nothing_of_its_last_moments():
    claim = only_claim(subscribe(1), clock=Clock(START, SETTLE, owed_until_ns=5_000 - SETTLE))
    assert claim.owes(4_990)
    assert not claim.owes(4_991)
    assert claim.allows(4_991)


def test_a_run_that_never_started_owes_nothing_at_all():
    claim = only_claim(subscribe(1), clock=Clock(FOREVER, SETTLE, NEVER))
    assert not any(claim.owes(t) for t in (0, START, FOREVER))
