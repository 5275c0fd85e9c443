"""The kernel of shortest-path trees in small; tests/routing compares it with the paper's definitions."""

from __future__ import annotations

import pytest

from fastpath.trees import Forest, UsageError

LINE = [(0, 1, 1, 7), (1, 2, 1, 9)]


def test_trees_of_a_line() -> None:
    forest = Forest(3, LINE)
    assert forest.parents(0) == [0, 0, 1]
    assert forest.first_hops(2) == [1, 1, 2]
    assert forest.path(2, 0) == [2, 1, 0]
    assert forest.children(1) == [[2], [0, 2], [0]]
    assert forest.groups(1) == [([0], [2]), ([1], [0, 2]), ([2], [0])]
    assert forest.rewrites(1) == [True, True, True]
    assert forest.headers(2) == [1, 1, 2]


def test_of_equal_costs_the_lesser_sum_of_tie_breakers_wins() -> None:
    square = [(0, 1, 1, 5), (1, 2, 1, 5), (0, 3, 1, 1), (3, 2, 1, 8)]
    assert Forest(4, square).path(0, 2) == [0, 3, 2]
    assert Forest(4, [*square[:3], (3, 2, 1, 10)]).path(0, 2) == [0, 1, 2]


def test_lengths_do_not_overflow() -> None:
    most, ties = (1 << 32) - 1, (1 << 64) - 1
    around = [(n, n + 1, most, ties) for n in range(9)]
    assert Forest(10, [*around, (0, 9, most, ties)]).path(0, 8) == [0, 9, 8]


def test_a_single_node_has_a_tree() -> None:
    forest = Forest(1, [])
    assert forest.groups(0) == [([0], [])]
    assert forest.headers(0) == [0]


@pytest.mark.parametrize(
    ("count", "links", "what"),
    [
        (0, [], "a graph has at least one node"),
        (-1, [], "a graph has at least one node"),
        (2, [(0, 2, 1, 1)], "there is no node 2; there are 2"),
        (2, [(0, 1, -1, 1)], "a cost is -1; expected an integer of 32 bits"),
        (2, [(0, 1, 1 << 32, 1)], "expected an integer of 32 bits"),
        (2, [(0, 1, 1, 1 << 64)], "expected an integer of 64 bits"),
        (2, [(0, 1, 1.5, 1)], "a cost is 1.5"),
        (4, LINE, "not connected: there is no path from node 0 to node 3"),
    ],
)
def test_what_is_no_graph_is_refused(count: int, links: list[tuple[int, int, int, int]], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        Forest(count, links)


@pytest.mark.parametrize("node", [-1, 3, "a"])
def test_an_unknown_node_is_refused(node: int) -> None:
    with pytest.raises(UsageError, match="there is no node"):
        Forest(3, LINE).first_hops(node)
