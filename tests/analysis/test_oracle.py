"""The oracle: every subscription against every publication, by the reference model."""

from __future__ import annotations

import pyarrow as pa
import pytest

from analysis.expected import expected_batch
from analysis.oracle import Clock, Oracle, judge_events, readable_claims
from nodes.wire.codec import encode_attributes

CLOCK = Clock(start_ns=1_000, settle_ns=10)


def claim(subscriber, predicate, from_ns=0, until_ns=None):
    return CLOCK.claim(subscriber, predicate, from_ns, until_ns)


def test_a_publisher_is_never_owed_nor_allowed_its_own_message():
    oracle = Oracle([claim(1, "x = 1"), claim(2, "x = 1")])
    assert oracle.expected(1, 2_000, {"x": 1}) == {2: True}


def test_who_does_not_want_it_gets_nothing():
    oracle = Oracle([claim(1, "x = 1"), claim(2, "x > 1"), claim(3, 'x = "1"')])
    assert oracle.expected(9, 2_000, {"x": 1}) == {1: True}


def test_one_owing_subscription_outweighs_one_that_merely_allows():
    fresh = claim(1, "x > 0", from_ns=1_995)
    assert Oracle([fresh]).expected(9, 2_000, {"x": 1}) == {1: False}
    assert Oracle([fresh, claim(1, "x = 1")]).expected(9, 2_000, {"x": 1}) == {1: True}
    assert Oracle([claim(1, "x = 1"), fresh]).expected(9, 2_000, {"x": 1}) == {1: True}


def test_a_lapsed_subscription_allows_nothing():
    assert Oracle([claim(1, "x = 1", until_ns=1_500)]).expected(9, 2_000, {"x": 1}) == {}


def batch(**columns):
    return pa.RecordBatch.from_pydict({k: [v] for k, v in columns.items()})


def test_what_was_captured_is_judged_by_its_bytes_and_else_by_what_the_client_said():
    oracle = Oracle([claim(1, "x = 1")])
    captured = batch(
        source=9,
        sequence=4,
        time_ns=2_000,
        announced_ns=None,
        attribute_count=1,
        attributes=encode_attributes({"x": 1}),
        message="x = 2",
    )
    assert expected_batch(oracle, captured).to_pylist() == [
        {"source": 9, "sequence": 4, "subscriber": 1, "owed": True}
    ]
    lost = batch(
        source=9,
        sequence=5,
        time_ns=None,
        announced_ns=2_000,
        attribute_count=None,
        attributes=None,
        message="x = 1",
    )
    assert [r["sequence"] for r in expected_batch(oracle, lost).to_pylist()] == [5]


@pytest.mark.parametrize(("attributes", "message"), [(b"\xff", None), (None, "x = = 1"), (None, None)])
def test_what_cannot_be_read_is_owed_to_nobody(attributes, message):
    oracle = Oracle([claim(1, "all")])
    damaged = batch(
        source=9,
        sequence=4,
        time_ns=2_000,
        announced_ns=None,
        attribute_count=1,
        attributes=attributes,
        message=message,
    )
    assert expected_batch(oracle, damaged).num_rows == 0


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
        for name in ("a", "a", "a", "c", "d")
    ]
    fresh = claim(3, "x = 1", from_ns=1_995)
    judged = judge_events(Oracle([claim(1, "x = 1"), claim(2, "x > 0"), fresh]), [published, *got], ids)
    assert (judged.owed, judged.allowed) == (2, 1)
    assert judged.missing == [(9, 4, 2)]
    assert judged.duplicate == [(9, 4, 1)] * 2
    assert judged.spurious == [(9, 4, 4)]
