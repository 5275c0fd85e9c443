"""The workload generator does what FWD Table 1 says (F7, E2, E3), and the same everywhere.

The distributions are checked on one seed with bounds of five standard deviations: what passes once
passes always.
"""

from collections import Counter
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest

from fastpath.workload import Generator, Recipe, UsageError

GOLDEN = Path(__file__).with_name("workload_golden.txt")
SMALL = Recipe(
    seed=7,
    interfaces=3,
    filters_per_interface=(1, 4),
    constraints=(0, 3),
    attributes=(0, 4),
    names=5,
    words=4,
    piece=3,
    integers=(-2, 2),
    string_operators=dict.fromkeys(["=", "^", "$", "*", "<", ">", "!="], 1),
    integer_operators=dict.fromkeys(["=", "<", ">", "!=", "<=", ">="], 1),
)


def filters_of(recipe):
    """(interface, [(name, op, value)...]) of each filter."""
    for line in b"".join(Generator(recipe).filters()).decode().splitlines():
        letter, interface, count, *rest = line.split(" ")
        assert letter == "f"
        assert len(rest) == 3 * int(count)
        yield int(interface), list(zip(rest[::3], rest[1::3], rest[2::3], strict=True))


def messages_of(recipe, count):
    """[(name, type, value)...] of each message."""
    for line in b"".join(Generator(recipe).messages(count)).decode().splitlines():
        letter, size, *rest = line.split(" ")
        assert letter == "m"
        assert len(rest) == 3 * int(size)
        yield list(zip(rest[::3], rest[1::3], rest[2::3], strict=True))


def assert_shares(counted, shares):
    """What was counted has these shares, as nearly as chance allows; nothing else was counted."""
    total = sum(counted.values())
    assert set(counted) == set(shares)
    for what, share in shares.items():
        spread = 5 * sqrt(total * share * (1 - share)) + 1
        assert abs(counted[what] - total * share) < spread, f"{what}: {counted[what]} of {total}"


def evenly(values):
    values = list(values)
    return dict.fromkeys(values, 1 / len(values))


@pytest.fixture(scope="module")
def filters():
    return list(filters_of(Recipe(seed=11, filters=10_000)))


@pytest.fixture(scope="module")
def constraints(filters):
    return [each for _, constraints in filters for each in constraints]


@pytest.fixture(scope="module")
def messages():
    return list(messages_of(Recipe(seed=11), 3000))


def test_the_same_recipe_gives_the_same_bytes_on_every_machine():
    generator = Generator(SMALL)
    made = b"".join(generator.filters()) + b"".join(generator.messages(12))
    assert made.decode() == GOLDEN.read_text()


def test_messages_are_drawn_apart_from_filters_and_more_of_them_change_none():
    alone = b"".join(Generator(SMALL).messages(5000))
    generator = Generator(replace(SMALL, interfaces=9))
    assert b"".join(generator.filters()) != b"".join(Generator(SMALL).filters())
    assert alone.startswith(b"".join(generator.messages(12)))


def test_another_seed_gives_another_workload():
    other = replace(SMALL, seed=8)
    assert b"".join(Generator(SMALL).filters()) != b"".join(Generator(other).filters())


def test_E2_the_readings_of_a_million_and_of_a_quarter_of_a_million_filters():
    assert Generator(Recipe()).filters_total == pytest.approx(1_000_000, rel=0.3)
    assert Generator(Recipe(filters_per_interface=(1, 24_999))).filters_total == pytest.approx(
        250_000, rel=0.3
    )
    assert Generator(Recipe(filters=250_000)).filters_total == 250_000


def test_F7_filters_per_interface_are_uniform_and_one_an_interface_is_a_range_too():
    shares = Counter(Counter(i for i, _ in filters_of(replace(SMALL, interfaces=4000))).values())
    assert_shares(shares, evenly(range(1, 5)))
    central = [i for i, _ in filters_of(replace(SMALL, interfaces=50, filters_per_interface=(1, 1)))]
    assert central == list(range(50))


def test_a_total_is_dealt_out_evenly_and_interfaces_take_turns():
    interfaces = [i for i, _ in filters_of(replace(SMALL, interfaces=7, filters=17))]
    assert interfaces == [*range(7), *range(7), 0, 1, 2]


def test_F7_E3_constraints_and_attributes_are_uniform_with_both_ends(filters, messages):
    assert_shares(Counter(len(constraints) for _, constraints in filters), evenly(range(1, 10)))
    assert_shares(Counter(map(len, messages)), evenly(range(1, 20)))


def test_F7_E3_names_follow_zipf_with_exponent_one_and_are_a_thousand(constraints):
    counted = Counter(name for name, _, _ in constraints)
    norm = sum(1 / rank for rank in range(1, 1001))
    top = [name for name, _ in counted.most_common(4)]
    shares = {name: 1 / rank / norm for rank, name in enumerate(top, 1)}
    seen = Counter({name: counted[name] for name in top}, rest=counted.total())
    seen.subtract(rest=sum(counted[name] for name in top))
    assert_shares(seen, shares | {"rest": 1 - sum(shares.values())})
    assert 950 < len(counted) <= 1000


def test_F7_types_operators_and_integers_have_the_shares_of_the_paper(constraints, messages):
    ops = Counter(op for _, op, _ in constraints)
    assert_shares(
        ops,
        {"s=": 0.175, "s^": 0.075, "s$": 0.075, "s*": 0.075, "s<": 0.05, "s>": 0.05}
        | {"i=": 0.3, "i<": 0.1, "i>": 0.1},
    )
    assert_shares(Counter(kind for m in messages for _, kind, _ in m), evenly("si"))
    assert_shares(Counter(int(v) for _, op, v in constraints if op[0] == "i"), evenly(range(100)))


def test_F7_words_are_a_thousand_uniform_and_shared_by_filters_and_messages(constraints, messages):
    asked = Counter(value for _, op, value in constraints if op[0] == "s")
    assert_shares(asked, evenly(asked))
    assert len(asked) == 1000
    assert {value for m in messages for _, kind, value in m if kind == "s"} <= set(asked)
    assert all(word.isalpha() and word.islower() and len(word) >= 4 for word in asked)


def test_F7_names_are_shared_by_filters_and_messages(constraints, messages):
    sent = Counter(name for m in messages for name, _, _ in m)
    asked = Counter(name for name, _, _ in constraints)
    assert sent.most_common(1)[0][0] == asked.most_common(1)[0][0]
    assert len(set(sent) - set(asked)) < 50


def test_pieces_are_cut_where_their_operator_looks_for_them():
    recipe = Recipe(seed=3, filters=2000, words=200, piece=3)
    found = [(op, value) for _, constraints in filters_of(recipe) for _, op, value in constraints]
    words = {value for op, value in found if op in {"s=", "s<", "s>"}}
    pieces = {op: {value for other, value in found if other == op} for op in ("s^", "s$", "s*")}
    assert pieces["s^"] <= {word[:3] for word in words}
    assert pieces["s$"] <= {word[-3:] for word in words}
    assert pieces["s*"] <= {word[at : at + 3] for word in words for at in range(len(word) - 2)}
    assert pieces["s*"] - pieces["s^"] - pieces["s$"]
    assert max(map(len, words)) > 8


def test_M1_a_message_has_no_name_twice_even_if_it_needs_them_all():
    recipe = replace(SMALL, names=40, attributes=(40, 40), zipf="4")
    for message in messages_of(recipe, 50):
        assert len({name for name, _, _ in message}) == 40


def test_a_zipf_exponent_of_zero_is_uniform_and_may_be_a_fraction():
    def shares(zipf):
        recipe = replace(SMALL, filters=4000, names=3, attributes=(0, 3), zipf=zipf)
        return Counter(name for _, constraints in filters_of(recipe) for name, _, _ in constraints)

    uniform = shares("0")
    assert_shares(uniform, evenly(uniform))
    steep = dict(zip((n for n, _ in shares("1.5").most_common()), (1, 2**-1.5, 3**-1.5), strict=True))
    assert_shares(shares("1.5"), {n: weight / sum(steep.values()) for n, weight in steep.items()})


def test_64_bit_extremes_are_drawn_without_overflow():
    recipe = replace(SMALL, integers=(-(2**63), 2**63 - 1), types={"i": 1}, filters=200)
    values = [int(v) for _, constraints in filters_of(recipe) for _, _, v in constraints]
    assert min(values) < -(2**61)
    assert max(values) > 2**61
    one = replace(recipe, integers=(2**63 - 1, 2**63 - 1))
    assert {int(v) for _, constraints in filters_of(one) for _, _, v in constraints} == {2**63 - 1}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"interfaces": 0}, "interfaces is 0; expected 1 to 16777216"),
        ({"constraints": (3, 1)}, "constraints is 3 to 1; the low end comes first"),
        ({"attributes": (1, 6)}, "the high end of attributes is 6; expected 0 to 5"),
        ({"integers": (0, 2**63)}, "the high end of integers is 9223372036854775808; expected"),
        ({"zipf": "steep"}, "the Zipf exponent is 'steep'; expected a number"),
        ({"zipf": "nan"}, "the Zipf exponent is nan; expected 0 to 4"),
        ({"zipf": "-1"}, "the Zipf exponent is -1; expected 0 to 4"),
        ({"types": {"x": 1}}, "types has 'x'; expected some of s i"),
        ({"integer_operators": {"=": 0}}, "integer_operators has no weight above 0"),
        ({"string_operators": {"=": -1}}, "the weight of = in string_operators is -1; expected"),
        ({"words": 0}, "words is 0; expected 1 to"),
        ({"seed": -1}, "seed is -1; expected 0 to"),
        ({"names": True}, "names must be an integer, not True"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(change, complaint):
    with pytest.raises(UsageError) as refused:
        Generator(replace(SMALL, **change))
    assert complaint in str(refused.value)
