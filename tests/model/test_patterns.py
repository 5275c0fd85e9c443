"""Patterns: their text, and which messages make a match (M9, decision 30)."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import (
    Composed,
    Joint,
    Occurrence,
    Pairing,
    Part,
    Pattern,
    PredicateSyntaxError,
    UsageError,
    every_match,
    format_pattern,
    matches,
    matches_of,
    parse_message,
    parse_pattern,
    parse_predicate,
)
from nodes.model.patterns import DEPTH_MAX, PARTS_MAX, TooManyMatchesError, is_bounded, parts_of

SECOND = 10**9


def published(*texts):
    """Messages of one source, from texts as `2 a = 1`: the second, then the message."""
    rows = []
    for number, text in enumerate(texts, 1):
        second, message = text.split(" ", 1)
        rows.append((Occurrence(int(float(second) * SECOND), 7, number), parse_message(message)))
    return rows


def found(pattern, *texts):
    """The matches, by the numbers of the messages."""
    parsed = parse_pattern(pattern)
    return [[each.sequence for each in match] for match in matches_of(parsed, published(*texts))]


def test_M9_then_wants_the_left_side_to_be_published_earlier():
    assert found("[a = 1] then [b = 1] within 9s", "1 a = 1", "2 b = 1") == [[1, 2]]
    assert found("[a = 1] then [b = 1] within 9s", "2 a = 1", "1 b = 1") == []


def test_M9_messages_of_one_nanosecond_are_in_no_order():
    assert found("[a = 1] then [b = 1] within 9s", "1 a = 1", "1 b = 1") == []
    assert found("[a = 1] and [b = 1] within 9s", "1 a = 1", "1 b = 1") == [[1, 2]]


def test_M9_one_message_may_be_both_sides_of_and_but_not_of_and_another():
    both = "1 a = 1, b = 1"
    assert found("[a = 1] and [b = 1] within 9s", both) == [[1, 1]]
    assert found("[a = 1] and another [b = 1] within 9s", both) == []
    assert found("[a = 1] and another [b = 1] within 9s", both, both) == [[1, 2], [2, 1]]


def test_M9_a_message_that_is_on_both_sides_of_or_matches_once():
    assert found("[a = 1] or [b = 1]", "1 a = 1, b = 1", "2 b = 1", "3 c = 1") == [[1], [2]]


def test_all_of_the_left_side_is_before_all_of_the_right_side():
    pattern = "([a = 1] and [b = 1]) then ([c = 1] and [d = 1]) within 9s"
    assert found(pattern, "1 b = 1", "2 a = 1", "3 d = 1", "4 c = 1") == [[2, 1, 4, 3]]
    assert found(pattern, "1 b = 1", "2 d = 1", "3 a = 1", "4 c = 1") == []


def test_a_window_holds_its_ends():
    assert found("[a = 1] then [b = 1] within 2s", "1 a = 1", "3 b = 1") == [[1, 2]]
    assert found("[a = 1] then [b = 1] within 1999999999ns", "1 a = 1", "3 b = 1") == []


def test_windows_hold_for_what_is_between_their_parentheses():
    pattern = "([a = 1] then [b = 1] within 1s) then [c = 1] within 9s"
    messages = "1 a = 1", "2 b = 1", "3 b = 1", "10 c = 1"
    assert found(pattern, *messages) == [[1, 2, 4]]
    assert found(pattern.replace("9s", "8s"), *messages) == []


A_A_B_B = "1 a = 1", "2 a = 1", "3 b = 1", "4 b = 1"


@pytest.mark.parametrize(
    ("pairing", "told"),
    [
        ("every", [[1, 3], [2, 3], [1, 4], [2, 4]]),
        ("first", [[1, 3], [2, 3]]),
        ("once", [[1, 3], [2, 4]]),
    ],
)
def test_what_is_told_is_chosen_in_order_of_the_latest_component(pairing, told):
    assert found(f"[a = 1] then [b = 1] within 9s pairing {pairing}", *A_A_B_B) == told


def test_a_message_that_is_published_twice_counts_once():
    one, two = published("1 a = 1", "2 b = 1")
    assert len(matches_of(parse_pattern("[a = 1] then [b = 1] within 9s"), [two, one, one, two])) == 1


def test_more_matches_than_were_asked_for_are_not_looked_for():
    expression = parse_pattern("[a = 1] and [a = 1] within 9s").expression
    messages = published(*(f"{n} a = 1" for n in range(3)))
    assert len(every_match(expression, messages, 9)) == 9
    with pytest.raises(TooManyMatchesError, match="more than 8"):
        every_match(expression, messages, 8)


def test_what_is_of_the_same_joint_is_one_expression():
    assert parse_pattern("([a=1] then [b=1]) then [c=1] within 5s") == parse_pattern(
        "[a=1] then ([b=1] then [c=1]) within 5000ms"
    )


@pytest.mark.parametrize(
    "text",
    [
        '[dest = "ORD" and price < 400 or urgent = true]',
        "[a = 1] or ([b = 1] and another [b = 1] within 90s)",
        "(([a = 1] or [b = 1]) then [c = 1] within 1min) and [d = 1] within 1h pairing once keep 5 wait 0s",
        "[`then` = 1] then [within = 1] within 1ns pairing first",
    ],
)
def test_texts_in_canonical_form_come_back(text):
    assert format_pattern(parse_pattern(text)).replace("`then`", "then") == text.replace("`then`", "then")


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "expected [ or ("),
        ("a = 1 then b = 2", 1, "stand in brackets"),
        ("[a = 1] then [b = 1]", 21, "as in: within 5s"),
        ("[a = 1] [b = 1]", 9, "expected then, and, and another, or, within"),
        ("[a = 1] then [b = 1] and [c = 1] within 5s", 22, "parentheses"),
        ("[a = 1] then [b = 1] within 0s", 29, "a window of zero"),
        ("[a = 1] then [b = 1] within 25h", 29, "at most 24 hours"),
        ("[a = 1] then [b = 1] within 5", 29, "expected a duration, found 5"),
        ("[a = 1] then [b = 1] within", 28, "expected a duration, found the end"),
        ("[a = 1] within 5s", 9, "this is one"),
        ("[a = 1 then [b = 1]", 8, "for the [ in column 1"),
        ("[a = 1] then [] within 5s", 15, "an attribute's name"),
        ("([a = 1] then [b = 1] within 5s", 32, "for the ( in column 1"),
        ("[a = 5s]", 6, "expected a value, found 5s"),
        ("[a = 1] pairing all", 17, "there are every, first and once"),
        ("[a = 1] keep 0", 14, "keep is 1 to"),
        ("[a = 1] keep many", 14, "expected a number"),
        ("[a = 1] keep 5 keep 6", 16, "stands twice"),
        ("[a = 1] wait 61s", 14, "wait is at most"),
        ("(" * 50_000, DEPTH_MAX + 1, "nested at most"),
        ("[a = 1] or " * PARTS_MAX + "[a = 1]", 11 * PARTS_MAX + 1, "at most 32 parts"),
    ],
)
def test_mistakes_point_at_their_column(text, column, says):
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_pattern(text)
    assert caught.value.column == column
    assert says in str(caught.value)


def test_a_pattern_that_nothing_bounds_cannot_be_made():
    part = Part(parse_predicate("a = 1"))
    with pytest.raises(UsageError, match="nothing bounds"):
        Pattern(Composed(Joint.THEN, (part, part)))


PARTS = st.sampled_from(["a = 1", "b = 1", "a = 1 or b = 1", "c any integer"]).map(
    lambda text: Part(parse_predicate(text))
)
JOINTS = st.sampled_from(list(Joint))
WINDOWS = st.none() | st.integers(1, 6)
EXPRESSIONS = st.recursive(
    PARTS,
    lambda inner: st.builds(Composed, JOINTS, st.lists(inner, min_size=2, max_size=3).map(tuple), WINDOWS),
    max_leaves=4,
).map(lambda each: each if is_bounded(each) else Composed(each.joint, each.operands, 5))
PATTERNS = st.builds(
    Pattern, EXPRESSIONS, st.sampled_from(list(Pairing)), st.integers(1, 2000), st.integers(0, 10**9)
)
MESSAGES = st.lists(
    st.tuples(
        st.builds(Occurrence, st.integers(0, 9), st.integers(1, 2), st.integers(1, 4)),
        st.dictionaries(st.sampled_from("abc"), st.integers(1, 2)),
    ),
    max_size=5,
    unique_by=lambda each: (each[0].source, each[0].sequence),
)


@given(PATTERNS)
def test_patterns_are_what_their_text_says(pattern):
    text = format_pattern(pattern)
    assert parse_pattern(text) == pattern
    assert format_pattern(parse_pattern(text)) == text


@settings(max_examples=300)
@given(EXPRESSIONS, MESSAGES)
def test_the_reference_finds_what_trying_every_tuple_finds(expression, messages):
    assert set(every_match(expression, messages)) == set(by_trying_everything(expression, messages))


def by_trying_everything(expression, messages):
    """The definition once more, of any tuple of messages."""
    for length in range(1, len(list(parts_of(expression))) + 1):
        for match in product(messages, repeat=length):
            if holds(expression, match):
                yield tuple(occurrence for occurrence, _ in match)


def holds(expression, match):
    """Whether some way of giving the messages to the operands makes it true."""
    occurrences = [occurrence for occurrence, _ in match]
    if isinstance(expression, Part):
        return len(match) == 1 and matches(expression.predicate, match[0][1])
    span_ns = max(o.time_ns for o in occurrences) - min(o.time_ns for o in occurrences)
    if expression.within_ns is not None and span_ns > expression.within_ns:
        return False
    if expression.joint is Joint.OR:
        return any(holds(each, match) for each in expression.operands)
    return any(
        all(holds(each, part) for each, part in zip(expression.operands, cut, strict=True))
        and all(related(expression.joint, *pair) for pair in combinations(cut, 2))
        for cut in cuts(match, len(expression.operands))
    )


def cuts(match, count):
    if count == 1:
        return [[match]]
    return [[match[:n], *rest] for n in range(1, len(match)) for rest in cuts(match[n:], count - 1)]


def related(joint, left, right):
    if joint is Joint.THEN:
        return max(o.time_ns for o, _ in left) < min(o.time_ns for o, _ in right)
    return joint is Joint.AND or not {o for o, _ in left} & {o for o, _ in right}
