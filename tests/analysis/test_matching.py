"""What is found for many messages at once is what the reference model says of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis import matching
from analysis.dues import BulkOracle, deviations
from analysis.history import History, SettledPeriod
from analysis.matching import Matcher, TooMuchError
from analysis.oracle import Claim, Clock, Due, Oracle
from nodes.model import (
    EVERYTHING,
    NOTHING,
    Constraint,
    Filter,
    Op,
    Predicate,
    Time,
    Type,
    Value,
    matches,
    parse_predicate,
)  # fmt: skip
from nodes.model.constraints import allows

NAMES = ("a", "b", "ü")
BIG = (-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1)
VALUES: dict[Type, st.SearchStrategy[Value]] = {
    Type.STRING: st.text("ab\0é\U0010ffff\ud7ff", max_size=4),
    Type.INTEGER: st.sampled_from(BIG) | st.integers(-3, 3),
    Type.FLOAT: st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, 1.5, math.inf, -math.inf, 1e308])
    | st.floats(allow_nan=False),
    Type.BOOLEAN: st.booleans(),
    Type.TIME: st.builds(Time, st.sampled_from(BIG) | st.integers(-3, 3)),
}
ANY_VALUE = st.one_of(*VALUES.values()) | st.just(math.nan)


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    kind = draw(st.sampled_from(Type))
    op = draw(st.sampled_from([op for op in Op if allows(op, kind)]))
    return Constraint(draw(st.sampled_from(NAMES)), kind, op, None if op is Op.ANY else draw(VALUES[kind]))


PREDICATES = st.lists(st.lists(constraints(), max_size=3).map(Filter), max_size=3).map(Predicate)
MESSAGES = st.dictionaries(st.sampled_from(NAMES), ANY_VALUE, max_size=3)


def by_the_model(
    predicates: Sequence[Predicate], messages: Sequence[Mapping[str, Value] | None]
) -> list[tuple[int, int]]:
    return [
        (row, at)
        for row, message in enumerate(messages)
        for at, predicate in enumerate(predicates)
        if message is not None and matches(predicate, message)
    ]


def in_bulk(matcher: Matcher, messages: Sequence[Mapping[str, Value] | None]) -> list[tuple[int, int]]:
    return list(zip(*(column.tolist() for column in matcher.pairs(messages)), strict=True))


@given(st.lists(PREDICATES, max_size=6), st.lists(MESSAGES | st.none(), max_size=8))
@example(
    [parse_predicate("a != 1.0"), parse_predicate("a any float")], [{"a": math.nan}, {"a": -0.0}, {"a": 1}]
)
@example(
    [parse_predicate('a * ""'), parse_predicate('a *< ""'), parse_predicate('a >* ""')],
    [{"a": ""}, {"b": ""}],
)
@example([EVERYTHING, NOTHING, EVERYTHING], [{}, None, {"a": True}])
def test_every_message_matches_what_the_reference_model_says(
    predicates: list[Predicate], messages: list[dict[str, Value] | None]
) -> None:
    assert in_bulk(Matcher(predicates), messages) == by_the_model(predicates, messages)


def test_what_is_kept_and_how_much_is_done_at_once_changes_nothing(
    rng: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MOST_KEPT", 2)
    monkeypatch.setattr(matching, "MOST_AT_ONCE", 7)
    monkeypatch.setattr(matching, "CANDIDATES_AT_ONCE", 5)
    texts = [
        f's {op} "{text}"' for op in ("=", "!=", "<", ">*", "*<", "*") for text in ("", "a", "ab", "bab")
    ]
    texts += [f"x {op} {rng.randint(0, 9)}" for op in ("=", "!=", "<", "<=", ">", ">=") for _ in range(4)]
    predicates = [
        parse_predicate(" or ".join(f"{rng.choice(texts)} and {rng.choice(texts)}" for _ in range(3)))
        for _ in range(60)
    ]
    messages: list[Mapping[str, Value]] = [
        {"s": "".join(rng.choices("ab", k=rng.randint(0, 5))), "x": rng.randint(0, 9)} for _ in range(100)
    ]
    found = in_bulk(Matcher(predicates), messages)
    assert found == by_the_model(predicates, messages)


def test_only_what_satisfies_the_most_selective_constraint_is_looked_at() -> None:
    """A thousand filters and a thousand messages: each equality holds of one message."""
    predicates = [parse_predicate(f"n = {number} and x > 0") for number in range(1_000)]
    messages = [{"n": number, "x": 1} for number in range(1_000)]
    assert len(in_bulk(Matcher(predicates, most_candidates=1_000), messages)) == 1_000
    with pytest.raises(TooMuchError):
        Matcher(predicates, most_candidates=999).pairs(messages)


def history(rng: Random, settle_ns: int) -> History | None:
    edges = sorted(rng.sample(range(110, 300), 4))
    periods = [
        SettledPeriod(99, edges[0], {1: 1, 2: 1, 3: 3, 9: 1}),
        SettledPeriod(edges[1], edges[2], {1: 1, 2: 2, 9: 1}),
        SettledPeriod(edges[3], 2**63 - 1, {1: 1, 2: 1, 3: 1, 9: 1}),
    ]
    pauses = sorted(((edges[0], rng.randint(edges[0], 290)), (edges[2], edges[3])), key=lambda p: p[1])
    return rng.choice([None, History(periods, settle_ns, pauses)])


def some_claims(rng: Random) -> tuple[list[Claim], Clock]:
    """Several of each client, of all lengths, with predicates that several have."""
    clock = Clock(100, rng.choice([0, 5, 20]), rng.choice([2**63 - 1, 260]))
    return [
        clock.claim(rng.randint(1, 3), f"x >= {rng.randint(0, 3)}", begin, rng.choice([None, begin + 30]))
        for begin in (rng.randint(50, 250) for _ in range(rng.randint(0, 12)))
    ], clock


def test_what_is_due_of_many_messages_is_what_is_due_of_each(rng: Random) -> None:
    for _ in range(40):
        claims, clock = some_claims(rng)
        oracle = Oracle(claims, history(rng, clock.settle_ns))
        source = np.array([rng.choice([1, 2, 9, 77]) for _ in range(300)])
        time_ns = np.array([rng.randint(40, 400) for _ in range(300)])
        contents = [rng.choice([None, {"x": rng.randint(0, 4)}]) for _ in range(300)]
        bulk = BulkOracle(oracle)
        dues = bulk.dues(source, time_ns, contents)
        for at, content in enumerate(contents):
            asked = (int(source[at]), int(time_ns[at]))
            assert dues.of(at) == ({} if content is None else oracle.expected(*asked, content))
        assert not list(bulk.deviating(source, time_ns, contents, dues))


def test_a_pair_about_which_the_reference_model_says_something_else_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(0, 0)
    bulk = BulkOracle(Oracle([clock.claim(1, "x < 3", -1, None), clock.claim(2, "x = 3", -1, None)]))
    asked = (np.array([9, 9]), np.array([10, 20]), [{"x": 3}, {"x": 2}])
    dues = bulk.dues(*asked)
    assert not list(bulk.deviating(*asked, dues))
    wrong = dues._replace(kinds=[Due(False, True) if due.owed else due for due in dues.kinds])
    assert list(bulk.deviating(*asked, wrong)) == [(0, 2), (1, 1)]
    none = dues._replace(message=dues.message[:0])
    assert list(bulk.deviating(*asked, none)) == [(0, 2), (1, 1)]


def test_what_contradicts_the_reference_model_is_said_in_a_sentence() -> None:
    assert deviations([], {}) == []
    (sentence,) = deviations([(9, 5, 2), (9, 7, 1)], {9: "bob", 2: "alice"})
    assert "2 pairs of a sample (first: message 5 of bob for alice)" in sentence
