"""Figs. 6 and 7: disjunctions of conjunctions, reduced by pairs (D2, D3, D4)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.model import Constraint, Filter, Op, Predicate, covers, parse_filter, reduce
from testbed.cli.main import main
from testbed.experiments.alpha_model.measure import (
    KERNEL,
    PAIRS,
    TERMS,
    UNIFORM,
    ZIPF,
    Names,
    Vocabulary,
    alphas,
    terms,
)
from testbed.experiments.alpha_model.reduction import Conjunction, Disjunction, Implication


def left(*filters: str) -> int:
    disjunction = Disjunction()
    for text in filters:
        disjunction.add(parse_filter(text).constraints)
    return disjunction.constraints


def test_the_papers_example_is_reduced_to_one_constraint() -> None:
    """RTE 4.2: (x > 10 and y = 100) or (y > 0) is y > 0."""
    assert left("x > 10 and y = 100", "y > 0") == left("y > 0", "x > 10 and y = 100") == 1


@pytest.mark.parametrize(
    ("filters", "constraints"),
    [
        (["x > 2", "x > 3"], 1),
        (["x > 2 and x > 3"], 1),
        (["x > 2 and x < 9"], 2),
        (['s >* "ab"', 's = "abc"', 's * "b"'], 1),
        (["x = 1", 'x = "1"'], 2),
        (["x = 1 and y = 2", "x = 1 and z = 3"], 4),
        (["x = 1 and y = 2", "x = 1", "y = 2"], 2),
        (["x > 5 and x != 6"], 2),
    ],
)
def test_D2_what_one_other_implies_or_covers_goes(filters: list[str], constraints: int) -> None:
    assert left(*filters) == constraints


def test_D2_what_only_several_imply_together_stays_by_pairs_and_goes_in_the_kernel() -> None:
    """x > 5 and x < 7 leaves 6 alone, so x = 6 covers it; no single constraint says so."""
    implication = Implication()
    together = tuple(map(implication.number, parse_filter("x > 5 and x < 7").constraints))
    six = implication.number(Constraint.on("x", Op.EQ, 6))
    assert not implication.any_implies(together, six)
    assert left("x > 5 and x < 7", "x = 6") == 2
    assert left("x > 5 and x < 5") == 2


CONSTRAINTS = st.one_of(
    st.builds(
        Constraint.on, st.sampled_from("xy"), st.sampled_from([Op.EQ, Op.LT, Op.GT, Op.NE]), st.integers(0, 4)
    ),
    st.builds(
        Constraint.on,
        st.sampled_from("st"),
        st.sampled_from([Op.EQ, Op.PREFIX, Op.SUFFIX, Op.SUBSTRING, Op.NE, Op.LT, Op.GT]),
        st.text("ab", min_size=1, max_size=2),
    ),
)
CONJUNCTIONS = st.lists(st.lists(CONSTRAINTS, min_size=1, max_size=3).map(tuple), max_size=8)


def plainly(conjunctions: list[Conjunction]) -> int:
    """The rule of the paper once more, all at once and without an index."""
    singles = {c: Filter([c]) for conjunction in conjunctions for c in conjunction}

    def implies(narrow: Constraint, wide: Constraint) -> bool:
        return covers(singles[wide], singles[narrow])

    def redundant(at: int, of: tuple[Constraint, ...]) -> bool:
        others = [o for i, o in enumerate(of) if i != at]
        return any(implies(o, of[at]) and (not implies(of[at], o) or of.index(o) < at) for o in others)

    inner = [
        tuple(c for i, c in enumerate(f) if not redundant(i, f))
        for f in map(tuple, map(dict.fromkeys, conjunctions))
    ]

    def wider(a: Conjunction, b: Conjunction) -> bool:
        return all(any(implies(n, w) for n in b) for w in a)

    kept = [
        f
        for i, f in enumerate(inner)
        if not any(wider(g, f) and (not wider(f, g) or j < i) for j, g in enumerate(inner) if j != i)
    ]
    return sum(map(len, kept))


@settings(max_examples=300, deadline=None)
@given(CONJUNCTIONS)
def test_D2_an_indexed_reduction_is_that_of_all_pairs(conjunctions: list[Conjunction]) -> None:
    disjunction = Disjunction()
    for conjunction in conjunctions:
        disjunction.add(conjunction)
    assert disjunction.constraints == plainly(conjunctions)


@settings(max_examples=100, deadline=None)
@given(CONJUNCTIONS)
def test_D2_the_rule_by_pairs_leaves_no_less_than_the_model_and_no_more_than_there_was(
    conjunctions: list[Conjunction],
) -> None:
    disjunction = Disjunction()
    for conjunction in conjunctions:
        disjunction.add(conjunction)
    best = sum(len(f.constraints) for f in reduce(Predicate(map(Filter, conjunctions))).filters)
    assert best <= disjunction.constraints <= sum(map(len, conjunctions))


def test_D2_sizes_types_and_operators_are_drawn_as_the_paper_says() -> None:
    drawn = list(Vocabulary(Names(UNIFORM, 50), Random("test")).conjunctions(20_000))
    sizes = Counter(map(len, drawn))
    shares = [round(100 * sizes[size] / len(drawn)) for size in range(1, 7)]
    assert shares == pytest.approx([10, 40, 30, 10, 5, 5], abs=1)
    constraints = [c for conjunction in drawn for c in conjunction]
    strings = [c for c in constraints if isinstance(c.value, str)]
    integers = [c for c in constraints if isinstance(c.value, int)]
    assert len(strings) / len(constraints) == pytest.approx(0.5, abs=0.02)
    assert len({c.value for c in strings}) == TERMS
    assert {c.value for c in integers} == set(range(-100, 101))
    ops = Counter(c.op for c in strings)
    assert ops[Op.EQ] / len(strings) == pytest.approx(0.4, abs=0.02)
    assert len(ops) == 7
    assert Counter(c.op for c in integers)[Op.LT] / len(integers) == pytest.approx(0.25, abs=0.02)
    kinds = {(c.name, type(c.value)) for c in constraints}
    assert len(kinds) == 50
    assert sum(kind is str for _, kind in kinds) == 25


def test_D3_under_zipfs_law_the_first_name_comes_about_as_often_as_it_should() -> None:
    drawn = [c.name for f in Vocabulary(Names(ZIPF, 500), Random("test")).conjunctions(5000) for c in f]
    assert drawn.count("n0") / len(drawn) == pytest.approx(1 / sum(1 / i for i in range(1, 501)), abs=0.01)


def test_terms_are_words_and_none_comes_twice() -> None:
    words = terms(Random("test"))
    assert len(set(words)) == TERMS
    assert all(word.isalpha() and 2 <= len(word) <= 18 for word in words)


def test_D4_at_7000_predicates_over_500_uniform_names_about_half_is_left() -> None:
    found = [next(alphas(Names(UNIFORM, 500), [7000], Random(f"test/{i}"))) for i in range(3)]
    assert all(0.4 < each[KERNEL] < each[PAIRS] < 0.55 for each in found), found


def test_the_quick_slice_leaves_a_figure_for_each_set_of_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "rte-alpha-model", "--quick", "--quiet", "--json", "--out", str(tmp_path)]) == 0
    reported = {each["claim"]: each["holds"] for each in json.loads(capsys.readouterr().out)["statements"]}
    assert reported["the more predicates are combined, the better the reduction"] is True
    assert {p.name for p in tmp_path.glob("*.svg")} == {
        "figure-zipf-500.svg",
        "figure-uniform-50.svg",
        "figure-uniform-500.svg",
    }
