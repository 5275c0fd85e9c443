"""The oracle: every subscription against every publication, by the reference model."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from analysis.counts import Counts, counts_of
from analysis.headline import CLEAN, WRONG, word_of
from analysis.history import History, SettledPeriod
from analysis.oracle import Clock, Due, Oracle, counted_as, judge_events, readable_claims, verdict_of

CLOCK = Clock(start_ns=1_000, settle_ns=10)


def claim(subscriber, predicate, from_ns=0, until_ns=None):
    return CLOCK.claim(subscriber, predicate, from_ns, until_ns)


def owed(oracle, source, time_ns, attributes):
    return {client: due.owed for client, due in oracle.expected(source, time_ns, attributes).items()}


def test_a_publisher_is_never_owed_nor_allowed_its_own_message():
    oracle = Oracle([claim(1, "x = 1"), claim(2, "x = 1")])
    assert owed(oracle, 1, 2_000, {"x": 1}) == {2: True}


def test_who_does_not_want_it_gets_nothing():
    oracle = Oracle([claim(1, "x = 1"), claim(2, "x > 1"), claim(3, 'x = "1"')])
    assert owed(oracle, 9, 2_000, {"x": 1}) == {1: True}


def test_one_owing_subscription_outweighs_one_that_merely_allows():
    fresh = claim(1, "x > 0", from_ns=1_995)
    assert owed(Oracle([fresh]), 9, 2_000, {"x": 1}) == {1: False}
    assert owed(Oracle([fresh, claim(1, "x = 1")]), 9, 2_000, {"x": 1}) == {1: True}
    assert owed(Oracle([claim(1, "x = 1"), fresh]), 9, 2_000, {"x": 1}) == {1: True}


def test_a_lapsed_subscription_allows_nothing():
    assert owed(Oracle([claim(1, "x = 1", until_ns=1_500)]), 9, 2_000, {"x": 1}) == {}


def test_a_predicate_that_does_not_parse_is_named_and_left_out():
    good, bad = claim(1, "x = 1"), claim(2, "x = = 1")
    kept, problems = readable_claims([good, bad])
    assert kept == [good]
    assert "node 2" in problems[0]


def test_a_run_in_memory_is_judged_pair_by_pair():
    ids = {"p": 9, "a": 1, "b": 2, "c": 3, "d": 4}
    published = {
        "event": "publish",
        "node": "p",
        "source": 9,
        "sequence": 4,
        "time_ns": 2_000,
        "message": "x = 1",
    }
    got = [
        {"event": "deliver", "node": name, "source": 9, "sequence": 4, "time_ns": 2_005}
        for name in ("a", "a", "a", "c", "c", "d")
    ]
    fresh = claim(3, "x = 1", from_ns=1_995)
    judged = judge_events(Oracle([claim(1, "x = 1"), claim(2, "x > 0"), fresh]), [published, *got], ids)
    assert judged.missing == [(9, 4, 2)]
    assert judged.duplicate == [(9, 4, 1)] * 2, "what c got twice was not owed: either may be right"
    assert judged.spurious == [(9, 4, 4)]
    assert judged.counts == Counts(
        wanted=3, owed=2, delivered=2, allowed=1, missing=1, duplicate=2,
        duplicate_allowed=1, spurious=1,
        not_owed={"subscription": 1},
    )  # fmt: skip
    assert (judged.counts.delivery_ratio, judged.counts.judged) == (0.666667, 0.666667)


def test_what_is_wanted_and_not_owed_has_a_reason():
    apart = SettledPeriod(999, 3_000, {9: 1, 1: 1, 2: 2})
    history = History([apart], settle_ns=10)

    def due(time_ns, *claims):
        return Oracle(claims, history).expected(9, time_ns, {"x": 1})

    assert due(2_000, claim(1, "x = 1")) == {1: Due(True, True)}
    assert due(2_000, claim(2, "x = 1")) == {2: Due(None, True, "cut_off")}
    assert due(900, claim(1, "x = 1")) == {1: Due(False, True, "start")}
    assert due(2_995, claim(1, "x = 1")) == {1: Due(False, True, "network")}
    assert due(2_000, claim(1, "x = 1", from_ns=1_995)) == {1: Due(False, True, "subscription")}
    assert due(2_000, claim(1, "x = 1", until_ns=2_005)) == {1: Due(False, True, "subscription")}
    assert due(2_000, claim(1, "x = 1", from_ns=2_005)) == {1: Due(False, False)}
    short = Clock(start_ns=1_000, settle_ns=10, owed_until_ns=1_999)
    assert due(2_000, short.claim(1, "x = 1", 0, None)) == {1: Due(False, True, "end")}


def test_of_two_subscriptions_the_reason_is_that_of_the_one_nearest_to_owing():
    history = History([SettledPeriod(999, 3_000, {9: 1, 1: 1})], settle_ns=10)
    fresh, old = claim(1, "x > 0", from_ns=2_990), claim(1, "x = 1")
    for claims in ((fresh, old), (old, fresh)):
        assert Oracle(claims, history).expected(9, 2_995, {"x": 1}) == {1: Due(False, True, "network")}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_owed_is_wanted_and_allowed(seed):
    draw = random.Random(seed)
    history = History(
        [SettledPeriod(999, 1_300, {1: 1, 9: 1}), SettledPeriod(1_400, 2**63 - 1, {1: 1, 9: 1})], 10
    )
    for _ in range(200):
        from_ns = draw.randrange(900, 1_600)
        until_ns = draw.choice([None, from_ns + draw.randrange(300)])
        oracle = Oracle([claim(1, "x = 1", from_ns, until_ns)], draw.choice([None, history]))
        time_ns = draw.randrange(900, 1_700)
        due = oracle.expected(9, time_ns, {"x": 1}).get(1, Due(None, False))
        assert due.wanted == (from_ns <= time_ns <= (until_ns or time_ns)), seed
        assert due.wanted or not due.owed, seed
        assert bool(due.reason) == (due.wanted and not due.owed), seed


def test_a_message_that_comes_twice_is_wrong_only_if_it_was_owed():
    """Routers that learn of a cut link at different times may send a message by two of their trees."""
    unsettled, owed = Due(False, True, "network"), Due(True, True)
    assert (verdict_of(unsettled, 2), verdict_of(owed, 2)) == ("delivered", "duplicate")
    assert word_of(counts_of(Counter(counted_as(unsettled, "delivered", 2)) + SETTLED), []) == CLEAN
    assert word_of(counts_of(Counter(counted_as(owed, "duplicate", 2)) + SETTLED), []) == WRONG


SETTLED = Counter(wanted=9, owed=9, delivered=9)
