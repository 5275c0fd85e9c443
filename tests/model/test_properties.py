"""Properties of the model over generated predicates and messages, biased to collide at boundaries."""

import math

from hypothesis import event, given, settings
from hypothesis import strategies as st

from nodes.model import (
    INTEGER_MAX,
    INTEGER_MIN,
    Constraint,
    Filter,
    Op,
    Predicate,
    PredicateSyntaxError,
    Time,
    Type,
    advertisement_covers,
    advertisement_matches,
    advertisement_overlaps,
    allows,
    contradictory,
    covers,
    covers_predicate,
    format_filter,
    format_message,
    format_predicate,
    implies,
    matches,
    overlaps,
    parse_filter,
    parse_message,
    parse_predicate,
    reduce,
)

NEAR = [INTEGER_MIN, INTEGER_MIN + 1, -1, 0, 1, 2, 3, INTEGER_MAX - 1, INTEGER_MAX]
FLOATS = [float("-inf"), -1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.0000000000000002, 1e308, float("inf")]
STRINGS = ["", "\0", "a", "a\0", "aa", "ab", "aba", "b", "ba", "bab", "\U0010ffff", "a\U0010ffff"]
VALUES = {
    Type.STRING: st.sampled_from(STRINGS) | st.text("ab", max_size=4) | st.text(max_size=5),
    Type.INTEGER: st.sampled_from(NEAR) | st.integers(INTEGER_MIN, INTEGER_MAX),
    Type.FLOAT: st.sampled_from(FLOATS) | st.floats(allow_nan=False).map(lambda f: f + 0.0),
    Type.BOOLEAN: st.booleans(),
    Type.TIME: (st.sampled_from(NEAR) | st.integers(INTEGER_MIN, INTEGER_MAX)).map(Time),
}
TYPES = st.sampled_from(list(Type))
NAMES = st.sampled_from(["x", "y", "or", "é `"])


@st.composite
def constraints(draw, names=NAMES, types=TYPES):
    kind = draw(types)
    op = draw(st.sampled_from([o for o in Op if allows(o, kind)]))
    return Constraint(draw(names), kind, op, None if op is Op.ANY else draw(VALUES[kind]))


FILTERS = st.lists(constraints(names=st.sampled_from("xy")), max_size=4).map(Filter)
PREDICATES = st.lists(st.lists(constraints(), max_size=4).map(Filter), max_size=4).map(Predicate)
MESSAGES = st.dictionaries(
    NAMES, st.one_of([VALUES[k] for k in Type]), max_size=4
)  # fmt: skip


@st.composite
def narrow(draw, count):
    """Filters on one attribute of one type, and messages at and beside their boundaries."""
    kind = st.just(draw(TYPES))
    filters = draw(
        st.lists(
            st.lists(constraints(st.just("x"), kind), max_size=3).map(Filter), min_size=count, max_size=count
        )
    )
    own = [c.value for f in filters for c in f.constraints if c.value is not None]
    values = [*own, *(n for v in own for n in neighbours(v)), *draw(st.lists(VALUES[kind.value], max_size=4))]
    return filters, [{}, *({"x": v} for v in values)]


def neighbours(value):
    if isinstance(value, str):
        return [value + "\0", value + "a", "a" + value, value[:-1], value[1:], value * 2]
    if type(value) is int:
        return [n for n in (value - 1, value + 1) if INTEGER_MIN <= n <= INTEGER_MAX]
    if isinstance(value, Time):
        return [Time(n) for n in neighbours(value.ns)]
    if isinstance(value, float):
        return [math.nextafter(value, way) + 0.0 for way in (-math.inf, math.inf)]
    return [True, False]


@given(PREDICATES)
def test_predicates_read_back_as_they_were_written(predicate):
    text = format_predicate(predicate)
    assert parse_predicate(text) == predicate
    assert format_predicate(parse_predicate(text)) == text


@given(FILTERS)
def test_filters_read_back_as_they_were_written(filter_):
    assert parse_filter(format_filter(filter_)) == filter_


@given(MESSAGES)
def test_messages_read_back_as_they_were_written(message):
    back = parse_message(format_message(message))
    assert back == message
    assert {n: type(v) for n, v in back.items()} == {n: type(v) for n, v in message.items()}


@given(st.text(st.sampled_from("x1=<>*!()\"'`@\\,. andory-e9\n\t\0é"), max_size=30))
def test_any_text_is_read_or_refused_with_a_column_in_it(text):
    for parse in (parse_predicate, parse_filter, parse_message):
        column = refused_at(parse, text)
        assert column is None or 1 <= column <= len(text) + 1


def refused_at(parse, text):
    try:
        parse(text)
    except PredicateSyntaxError as error:
        return error.column
    return None


@settings(max_examples=600)
@given(narrow(2))
def test_M7_what_is_covered_matches_nothing_more(case):
    (first, second), messages = case
    if covers(first, second):
        event("covers")
        for message in messages:
            assert matches(first, message) or not matches(second, message)


@settings(max_examples=400)
@given(narrow(2))
def test_M7_on_one_attribute_covering_is_complete_but_for_strings(case):
    (first, second), _ = case
    if any(c.type is Type.STRING for c in first.constraints + second.constraints):
        return
    # Every change of truth happens at, or next to, a value that a constraint names.
    named = [c.value for c in first.constraints + second.constraints if c.value is not None]
    kinds = {c.type for c in first.constraints + second.constraints}
    ends = {Type.INTEGER: NEAR, Type.TIME: [Time(n) for n in NEAR], Type.FLOAT: FLOATS, Type.BOOLEAN: [True]}
    near = [v for k in kinds for v in ends[k]] + named + [n for v in named for n in neighbours(v)]
    near += [n for v in near for n in neighbours(v)] + [
        n for v in near for m in neighbours(v) for n in neighbours(m)
    ]
    messages = [{}, *({"x": v} for v in near)]
    truth = all(matches(first, m) or not matches(second, m) for m in messages)
    assert covers(first, second) is truth


@settings(max_examples=300)
@given(narrow(2))
def test_E14_what_does_not_overlap_is_matched_by_no_message(case):
    (first, second), messages = case
    if not overlaps(first, second):
        event("apart")
        assert not any(matches(first, m) and matches(second, m) for m in messages)


@settings(max_examples=300)
@given(narrow(2))
def test_M5_E14_advertisements_that_do_not_overlap_or_cover_say_so_truly(case):
    (first, second), messages = case
    if not advertisement_overlaps(first, second):
        assert not any(advertisement_matches(first, m) and matches(second, m) for m in messages)
    if advertisement_covers(first, second):
        assert all(advertisement_matches(first, m) or not advertisement_matches(second, m) for m in messages)


@given(narrow(1))
def test_a_contradictory_filter_matches_nothing(case):
    (filter_,), messages = case
    assert not contradictory(filter_) or not any(matches(filter_, m) for m in messages)


@settings(max_examples=300)
@given(narrow(4))
def test_D2_reducing_a_predicate_changes_nothing_that_it_matches(case):
    filters, messages = case
    predicate = Predicate(filters)
    smaller = reduce(predicate)
    assert [matches(smaller, m) for m in messages] == [matches(predicate, m) for m in messages]
    assert reduce(smaller) == smaller
    assert covers_predicate(smaller, predicate)
    assert covers_predicate(predicate, smaller)


@given(FILTERS, FILTERS, MESSAGES)
def test_M7_covering_holds_across_several_attributes(first, second, message):
    if covers(first, second) and matches(second, message):
        assert matches(first, message)
    assert covers(first, first)


@given(constraints(), constraints())
def test_implying_one_constraint_is_covering_of_filters_of_one(first, second):
    if implies(first, second):
        assert covers(Filter([second]), Filter([first]))
