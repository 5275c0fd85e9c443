"""The text of predicates and messages: what is read, and where errors point."""

import pytest

from nodes.model import (
    Constraint,
    Filter,
    Op,
    Predicate,
    PredicateSyntaxError,
    Time,
    Type,
    format_message,
    format_predicate,
    parse_filter,
    parse_message,
    parse_predicate,
)


def predicate(*filters):
    return Predicate(Filter(Constraint.on(*c) for c in f) for f in filters)


def test_and_binds_tighter_than_or():
    assert parse_predicate('dest = "ORD" and price < 400 or airline >* "U"') == predicate(
        [("dest", Op.EQ, "ORD"), ("price", Op.LT, 400)], [("airline", Op.PREFIX, "U")]
    )


def test_parentheses_expand_to_a_disjunction_of_filters():
    nested = parse_predicate("(a = 1 or b = 2) and (c = 3 or (d = 4 and e = 5))")
    assert nested == parse_predicate(
        "a = 1 and c = 3 or a = 1 and d = 4 and e = 5 or b = 2 and c = 3 or b = 2 and d = 4 and e = 5"
    )


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("400", 400),
        ("-3", -3),
        ("+7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("4.0", 4.0),
        ("1e3", 1000.0),
        ("-2.5E-3", -0.0025),
        ("inf", float("inf")),
        ("-inf", float("-inf")),
        ("true", True),
        ("false", False),
        ("'it\\'s'", "it's"),
        (r'"a\"b\\c\n\t\u{e9}"', 'a"b\\c\n\té'),
        ("@1970-01-01T00:00:01Z", Time(10**9)),
        ("@1969-12-31T23:59:59.999999999Z", Time(-1)),
        ("@2026-01-01T00:00:00.25Z", Time(1_767_225_600_250_000_000)),
        ("@-5ns", Time(-5)),
    ],
)
def test_literals_have_the_type_they_look_like(literal, value):
    read = parse_message(f"x={literal}")["x"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize("op", [op for op in Op if op is not Op.ANY])
def test_M2_every_operator_can_be_written_with_and_without_space(op):
    expected = predicate([("s", op, "x")])
    assert parse_predicate(f's {op.text} "x"') == parse_predicate(f's{op.text}"x"') == expected


@pytest.mark.parametrize("kind", list(Type))
def test_M2_any_names_its_type(kind):
    assert parse_filter(f"x any {kind.text}") == Filter([Constraint("x", kind, Op.ANY)])


def test_odd_names_stand_in_backquotes():
    assert parse_message(r"`or` = 1, `a b` = 2, `tick\`` = 3, a.b-c = 4") == {
        "or": 1, "a b": 2, "tick`": 3, "a.b-c": 4
    }  # fmt: skip


def test_writing_is_canonical():
    text = format_predicate(parse_predicate("b=2 or  a = 'x\"y' and `any` any time and a<'z'"))
    assert text == 'a = "x\\"y" and a < "z" and `any` any time or b = 2'
    assert format_message({"b": True, "a": 1e30, "c": "\u202e"}) == 'a = 1e+30, b = true, c = "\\u{202e}"'
    assert format_message(parse_message("none")) == "none"


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "found the end"),
        ("   ", 1, "found the end"),
        ("dest = ORD", 8, 'in quotes: "ORD"'),
        ("dest == 3", 7, "one ="),
        ("price < 400 and", 16, "found the end"),
        ("price < 400 airline any string", 13, "join constraints with and"),
        ("price 400", 7, "expected an operator after price"),
        ("price is 400", 7, "the operators are"),
        ("400 < price", 1, "expected an attribute's name"),
        ("or = 3", 1, "stands in `backquotes`"),
        ("x = 3 & y = 4", 7, "write and"),
        ("x >* 4", 3, ">* is not defined for type integer"),
        ("x < true", 3, "not defined for type boolean"),
        ("x any", 6, "a type after any"),
        ("x any number", 7, "the types are string integer"),
        ('x = "abc', 5, "never closed"),
        ('x = "a\\qb"', 7, "not an escape"),
        ('x = "\\u{d800}"', 6, "no character d800"),
        ("x = 9223372036854775808", 5, "64 bits"),
        ("x = " + "9" * 5000, 5, "64 bits"),
        ("x = 1e999", 5, "too large"),
        ("x = nan", 5, "NaN"),
        ("x = 40a", 7, "runs into"),
        ("x = 4.", 6, "runs into"),
        ("x = @2026-13-01T00:00:00Z", 5, "no such time"),
        ("x = @2026-01-01", 5, "not a time"),
        ("x = @9999-01-01T00:00:00Z", 5, "64 bits"),
        ("(x = 1", 7, "for the ( in column 1"),
        ("x = 1)", 6, "found )"),
        ("x = 1 and (y = 2 or z)", 22, "operator after z"),
        ("`` = 1", 1, "1 to 255 bytes"),
        ("n" * 256 + " = 1", 1, "1 to 255 bytes"),
        ("(" * 101 + "x = 1" + ")" * 101, 101, "100 deep"),
    ],
)
def test_errors_in_predicates_point_at_the_column(text, column, says):
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_predicate(text)
    assert caught.value.column == column, str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "attribute's name"),
        ("x = 1, x = 2", 8, "stands twice"),
        ("x < 1", 3, "expected = after x"),
        ("x = 1 and y = 2", 7, "expected a comma"),
        ("x = 1,", 7, "found the end"),
        ("x any string", 3, "expected = after x"),
    ],
)
def test_errors_in_messages_point_at_the_column(text, column, says):
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_message(text)
    assert caught.value.column == column, str(caught.value)
    assert says in str(caught.value)


def test_a_filter_is_one_conjunction():
    assert parse_filter("all") == Filter()
    for text in ("x = 1 or y = 2", "none"):
        with pytest.raises(PredicateSyntaxError, match="one conjunction"):
            parse_filter(text)


def test_the_caret_stands_under_the_mistake_in_its_own_line():
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_predicate("x = 1 and\n  y ~ 2\nor z = 3")
    lines = str(caught.value).splitlines()
    assert lines[1].index("~") == lines[2].index("^")


def test_an_expansion_is_bounded():
    clauses = " and ".join(f"(a{i} = 1 or b{i} = 2)" for i in range(13))
    with pytest.raises(PredicateSyntaxError, match="expands to 8192 filters"):
        parse_predicate(clauses)
    many = " or ".join(f"({' and '.join(f'(a{i} = {j} or b{i} = 2)' for i in range(11))})" for j in range(60))
    with pytest.raises(PredicateSyntaxError, match="expands to"):
        parse_predicate(many)
