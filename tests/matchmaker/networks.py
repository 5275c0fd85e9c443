"""Networks for the tests of markings: drawn by Hypothesis, or the paper's."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from nodes.matchmaker.marking import Marking, is_valid
from nodes.matchmaker.problem import Problem, shared_tree

FIG_4 = Problem({"A": 2}, {"C": 1, "D": 3}, {"A": {"B": "A", "C": "B", "D": "B"}})


def every_valid(problem: Problem) -> list[Marking]:
    """All valid markings there are."""
    every = (
        dict(zip(problem.links, marks, strict=True)) for marks in product((0, 1), repeat=len(problem.links))
    )
    return [marking for marking in every if is_valid(problem, marking)]


@st.composite
def per_source(draw: st.DrawFn, most_links: int = 60) -> Problem:
    """Any trees over a few nodes, each publisher's its own: also such as no routing would make."""
    size = draw(st.integers(2, 7))
    publishers = draw(_rates(size))
    subscribers = draw(_rates(size))
    trees = {x: draw(_tree(x, size)) for x in publishers}
    problem = Problem(publishers, subscribers, trees)
    if len(problem.links) > most_links:
        kept = {*problem.links[:most_links]}
        trees = {x: t for x, t in trees.items() if problem.used[x].keys() <= kept}
        problem = Problem({x: publishers[x] for x in trees}, subscribers, trees)
    return problem


@st.composite
def shared(draw: st.DrawFn) -> Problem:
    """One tree for all."""
    size = draw(st.integers(2, 9))
    links = [(draw(st.integers(0, node - 1)), node) for node in range(1, size)]
    publishers = draw(_rates(size))
    return Problem(publishers, draw(_rates(size)), shared_tree(links, publishers))


def _rates(size: int) -> st.SearchStrategy[dict[int, int]]:
    return st.dictionaries(st.integers(0, size - 1), st.integers(1, 9), min_size=1, max_size=4)


@st.composite
def _tree(draw: st.DrawFn, root: int, size: int) -> dict[int, int]:
    order = [root, *draw(st.permutations([node for node in range(size) if node != root]))]
    return {node: order[draw(st.integers(0, at))] for at, node in enumerate(order[1:])}
