"""What may stand in a message, and that types are never mixed up (M1, M3)."""

import math

import pytest

from nodes.model import (
    Constraint,
    Filter,
    Op,
    Predicate,
    Time,
    Type,
    UsageError,
    check_message,
    check_value,
    matches,
    parse_predicate,
    type_of,
)


def test_M1_there_are_five_types_and_true_is_not_an_integer():
    found = [type_of(v) for v in ("a", 1, 1.0, True, Time(1))]
    assert found == [Type.STRING, Type.INTEGER, Type.FLOAT, Type.BOOLEAN, Type.TIME]


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        2**63,
        -(2**63) - 1,
        Time(2**63),
        Time(True),
        "a" * 65_536,
        "é" * 32_768,
        "\ud800",
        None,
        b"x",
    ],
)
def test_M1_values_the_network_cannot_carry_are_refused(value):
    with pytest.raises(UsageError):
        check_value(value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), "a" * 65_535, "", "\0", math.inf, Time(-(2**63))])
def test_M1_values_at_the_bounds_are_taken(value):
    assert check_value(value) == value


@pytest.mark.parametrize("name", ["", "n" * 256, "é" * 128, "\udfff"])
def test_M1_names_have_one_to_255_bytes(name):
    with pytest.raises(UsageError):
        check_message({name: 1})
    with pytest.raises(UsageError):
        Constraint.on(name, Op.EQ, 1)


def test_negative_zero_becomes_zero():
    assert math.copysign(1, check_message({"x": -0.0})["x"]) == 1
    assert math.copysign(1, Constraint.on("x", Op.EQ, -0.0).value) == 1


def test_a_bad_attribute_is_named_in_the_error():
    with pytest.raises(UsageError, match=r"'price'.*NaN"):
        check_message({"dest": "ORD", "price": math.nan})


@pytest.mark.parametrize("wanted", [1, 1.0, True, Time(1), "1"])
@pytest.mark.parametrize("given", [1, 1.0, True, Time(1), "1"])
def test_M3_equal_looking_values_of_two_types_never_match(wanted, given):
    assert Constraint.on("x", Op.EQ, wanted).matches(given) is (type(wanted) is type(given))
    assert not Constraint.on("x", Op.NE, wanted).matches(given)


def test_M3_constraints_of_two_types_are_not_taken_for_duplicates():
    constraints = [Constraint.on("x", Op.EQ, v) for v in (1, 1.0, True)]
    assert len(Filter(constraints).constraints) == 3
    assert len(Predicate(Filter([c]) for c in constraints).filters) == 3


@pytest.mark.parametrize(
    ("constraint", "satisfied"),
    [
        ("x = 2", [2]),
        ("x != 2", [1, 3]),
        ("x < 2", [1]),
        ("x > 2", [3]),
        ("x <= 2", [1, 2]),
        ("x >= 2", [2, 3]),
        ("x any integer", [1, 2, 3]),
        ('x >* "ab"', ["ab", "abc"]),
        ('x *< "bc"', ["abc", "bc"]),
        ('x * "b"', ["ab", "abc", "b", "bc"]),
        ('x < "b"', ["a", "ab", "abc"]),
        ('x >= "b"', ["b", "bc"]),
        ("x != true", [False]),
        ("x > 1.5", [2.5]),
        ("x <= @5ns", [Time(5)]),
    ],
)
def test_M2_each_operator_holds_for_the_values_it_should(constraint, satisfied):
    """Of all these values, those of other types satisfy nothing."""
    values = [1, 2, 3, "a", "ab", "abc", "b", "bc", True, False, 0.5, 2.5, Time(5), Time(6)]
    predicate = parse_predicate(constraint)
    found = [v for v in values if matches(predicate, {"x": v})]
    assert [(type(v), v) for v in found] == [(type(v), v) for v in satisfied]
    assert not matches(predicate, {"y": satisfied[0]})


@pytest.mark.parametrize(
    ("op", "kind", "value"),
    [
        (Op.LT, Type.BOOLEAN, True),
        (Op.PREFIX, Type.INTEGER, 1),
        (Op.SUBSTRING, Type.TIME, Time(1)),
        (Op.ANY, Type.STRING, "x"),
        (Op.EQ, Type.STRING, None),
        (Op.EQ, Type.FLOAT, 1),
        (Op.EQ, Type.INTEGER, True),
    ],
)
def test_M2_operators_are_refused_for_types_they_are_not_for(op, kind, value):
    with pytest.raises(UsageError):
        Constraint("x", kind, op, value)


def test_E5_repeated_constraints_and_filters_count_once():
    once, twice = (
        parse_predicate('x = 1 and y * "a"'),
        parse_predicate('y * "a" and x = 1 and x = 1 or x = 1 and y * "a"'),
    )
    assert once == twice
    assert hash(once) == hash(twice)


def test_E5_a_substring_that_occurs_several_times_matches_once_and_empty_ones_always():
    assert matches(parse_predicate('s * "aa"'), {"s": "aaaa"})
    for text in ('s * ""', 's >* ""', 's *< ""', 's >= ""', 's = ""'):
        assert matches(parse_predicate(text), {"s": ""})
    assert not matches(parse_predicate('s != ""'), {"s": ""})


def test_E5_the_empty_filter_matches_everything_and_the_empty_predicate_nothing():
    assert matches(parse_predicate("all"), {})
    assert matches(Filter(), {"x": 1})
    assert not matches(parse_predicate("none"), {"x": 1})


def test_strings_are_ordered_by_code_point():
    assert matches(parse_predicate('s > "\\u{ffff}"'), {"s": "\U00010000"})


def test_a_union_has_the_filters_of_both():
    both = parse_predicate("x = 1").union(parse_predicate("x = 1 or y = 2"))
    assert both == parse_predicate("y = 2 or x = 1")
