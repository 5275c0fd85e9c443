"""Covering, overlap and reduction by examples: boundaries of every type, strings, several attributes."""

import math

import pytest

from fastpath import cover
from fastpath.cover import WireError
from nodes.model import (
    INTEGER_MAX,
    INTEGER_MIN,
    Constraint,
    Filter,
    Op,
    Time,
    Type,
    format_filter,
    parse_filter,
    parse_predicate,
)
from nodes.wire.codec import decode_filter, decode_predicate, encode_filter, encode_predicate


def encoded(text):
    return encode_filter(parse_filter(text))


def predicate(text):
    return encode_predicate(parse_predicate(text))


def covers(wide, narrow):
    return cover.covers(encoded(wide), encoded(narrow))


def near(kind):
    """Values at the ends of a type and in its middle, each next to the one before it."""
    if kind is Type.FLOAT:
        tiny = math.nextafter(0.0, 1.0)
        return [-math.inf, -1.7976931348623157e308, -tiny, 0.0, tiny, 1.7976931348623157e308, math.inf]
    whole = [INTEGER_MIN, INTEGER_MIN + 1, -1, 0, 1, INTEGER_MAX - 1, INTEGER_MAX]
    return whole if kind is Type.INTEGER else [Time(ns) for ns in whole]


ORDERED = [op for op in Op if op not in (Op.PREFIX, Op.SUFFIX, Op.SUBSTRING)]


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.FLOAT, Type.TIME])
def test_M7_covering_by_one_comparison_is_exact_to_the_ends_of_the_type(kind):
    """All pairs of comparisons with values that are neighbours: what a search finds is what is said."""
    values = near(kind)
    single = [Constraint("x", kind, op, None if op is Op.ANY else v) for op in ORDERED for v in values]
    # Between neighbours of the list lie further values; one of these decides as all of them do.
    tried = dict.fromkeys(values)
    tried |= dict.fromkeys(between(kind))
    for wide in single:
        for narrow in single:
            truth = all(wide.matches(v) for v in tried if narrow.matches(v))
            told = cover.covers(encode_filter(Filter([wide])), encode_filter(Filter([narrow])))
            assert told is truth, f"{wide} and {narrow}"


def between(kind):
    if kind is Type.FLOAT:
        return [-2.5, 2.5]
    return [-1000, 1000] if kind is Type.INTEGER else [Time(-1000), Time(1000)]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("x > 5", "x >= 6"),
        ("x >= 6", "x > 5"),
        ("x < 9223372036854775807", "x != 9223372036854775807"),
        ("x any integer", "x <= 9223372036854775807"),
        ("x > @5ns", "x >= @6ns"),
        ("x < inf", "x != inf"),
        ("x != -inf", "x > -inf"),
        ("x != true", "x = false"),
        ("x = false", "x != true"),
        ("x > 3", "x != 4 and x >= 4"),
        ("x != 3 and x != 7", "x > 3 and x < 7"),
        ("x >= 1", "x = 1 and y = 2"),
        ("x any string", 'x *< "s" and y = 1'),
        ("all", "x = 1"),
        ("x = 1", "y < 3 and y > 5"),
    ],
)
def test_M7_covers(wide, narrow):
    assert covers(wide, narrow)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("x >= 6", "x > 4"),
        ("x > 5", "x > 5.0"),
        ("x = 1", "y = 1"),
        ("x = 1", "all"),
        ("x = 1 and y = 1", "x = 1"),
        ("x != 3", "x > 2"),
        ('x * "ab"', 'x >* "a" and x *< "b"'),
        ('x *< "ab"', 'x * "ab"'),
        ('x >* "ab"', 'x >* "a"'),
        # The substring moves the first range on until it begins with NUL, and must not be forgotten then.
        ('x * "\\u{0}" and x <= "\\u{0}c"', 'x <= "\\u{0}c"'),
    ],
)
def test_M7_M3_does_not_cover(wide, narrow):
    assert not covers(wide, narrow)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ('x >* "abc"', 'x >= "abc" and x < "abd"'),
        ('x >= "abc" and x < "abd"', 'x >* "abc"'),
        ('x < "b"', 'x >* "a"'),
        ('x * "bc"', 'x >= "abcd" and x <= "abcz"'),
        ('x >* "abc"', 'x >= "abcd" and x < "abcz"'),
        ('x >= "\u0080"', 'x > "\x7f" and x >* "é"'),
        ('x < "\ue000"', 'x >* "\ud7ff"'),
        ('x > ""', 'x *< "s"'),
        ('x = "ab"', 'x >= "ab" and x <= "ab\\u{0}" and x *< "b"'),
        ('x = "z"', 'x *< "ab" and x *< "bb"'),
    ],
)
def test_M7_covers_more_of_strings_than_the_model_sees(wide, narrow):
    assert covers(wide, narrow)


@pytest.mark.parametrize(
    ("left", "right", "meet"),
    [
        ("x > 5", "x < 7", True),
        ("x > 5", "x < 6", False),
        ("x > 5", "x < 6.0", False),
        ("x > 9223372036854775806", "x != 9223372036854775807", False),
        ("x < 5", "y > 7", True),
        ('x *< "a"', 'x *< "b"', False),
        ('x >* "a"', 'x < "a"', False),
        ('x >* "a"', 'x *< "b"', True),
    ],
)
def test_E14_overlap_is_denied_only_where_no_message_matches_both(left, right, meet):
    assert cover.overlaps(encoded(left), encoded(right)) is meet
    assert cover.contradictory(encoded(f"{left} and {right}")) is not meet


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x > 3 and x > 5 and x >= 6", "x > 5"),
        ("x >= 3 and x <= 3 and x = 3", "x = 3"),
        ("x > 3 and x != 2 and x != 9", "x > 3 and x != 9"),
        ("x any integer and x <= 9223372036854775807", "x <= 9223372036854775807"),
        ('x >* "ab" and x >= "a" and x * "b"', 'x >* "ab"'),
        ('x >= "ab" and x < "ac" and x >* "ab"', 'x >* "ab"'),
        ('x *< "cab" and x *< "ab" and x * "a" and x != ""', 'x *< "cab"'),
        ('x > "" and x *< "a"', 'x *< "a"'),
        ("x < 3 and x > 5", "x < 3 and x > 5"),
        ('x * "\\u{0}" and x <= "\\u{0}c"', 'x * "\\u{0}" and x <= "\\u{0}c"'),
    ],
)
def test_D2_a_filter_loses_the_constraints_that_its_others_imply(before, after):
    assert format_filter(decode_filter(cover.reduce_filter(encoded(before)))) == format_filter(
        parse_filter(after)
    )


def test_D2_a_predicate_loses_what_is_covered_and_what_matches_nothing():
    text = "x > 5 and y = 1 or x >= 3 and x > 2 or x > 9 or z < 1 and z > 2 or y = 1"
    assert decode_predicate(cover.reduce(predicate(text))) == parse_predicate("x > 2 or y = 1")


def test_D2_the_empty_filter_covers_all_and_the_empty_predicate_stays():
    assert cover.reduce(predicate("all or x = 1")) == predicate("all")
    assert cover.reduce(predicate("none")) == predicate("none")


def test_predicates_are_joined_and_subtracted_as_sets_of_filters():
    first, second = predicate("x = 1 or y = 2"), predicate("y = 2 or z = 3")
    assert cover.union([first, second]) == predicate("x = 1 or y = 2 or z = 3")
    assert cover.union([]) == predicate("none")
    assert cover.difference(first, second) == predicate("x = 1")
    assert cover.difference(first, first) == predicate("none")
    assert cover.count(first) == (2, 2)
    assert cover.digest(first) == cover.digest(predicate("y = 2 or x = 1"))
    assert cover.digest(first) != cover.digest(second)


def test_malformed_bytes_are_refused_by_every_function():
    good_filter, good = encoded("x = 1"), predicate("x = 1")
    for bad in (b"", good_filter[:-1], good_filter + b"\0", b"\0\1\x09" + good_filter[3:]):
        with pytest.raises(WireError, match="at byte"):
            cover.covers(good_filter, bad)
        with pytest.raises(WireError):
            cover.overlaps(bad, good_filter)
        with pytest.raises(WireError):
            cover.contradictory(bad)
        with pytest.raises(WireError):
            cover.reduce_filter(bad)
    for bad in (b"", good[:-1], good + b"\0", b"\xff\xff\xff\xff"):
        for refuse in (cover.reduce, cover.count, cover.digest):
            with pytest.raises(WireError):
                refuse(bad)
        with pytest.raises(WireError):
            cover.union([good, bad])
        with pytest.raises(WireError):
            cover.difference(good, bad)


def test_filters_of_very_many_attributes_are_compared_and_reduced():
    """Longer than the index's paths; none may be lost and the stack must hold."""
    wide = encode_filter(Filter(Constraint.on(f"a{i}", Op.GE, 0) for i in range(3_000)))
    narrow = encode_filter(Filter(Constraint.on(f"a{i}", Op.GE, i) for i in range(3_001)))
    assert cover.covers(wide, narrow)
    assert not cover.covers(narrow, wide)
    both = cover.union([b"\0\0\0\1" + wide, b"\0\0\0\1" + narrow])
    assert cover.reduce(both) == b"\0\0\0\1" + wide
