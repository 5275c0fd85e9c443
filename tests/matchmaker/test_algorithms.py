"""Greedy, top-down, exact optimum: against every valid marking of small problems (MM 4; K3, E17, E18)."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given, settings

from nodes.matchmaker.marking import P, S, all_p, cost, cost_if_valid, is_valid
from nodes.matchmaker.optimum import optimum
from nodes.matchmaker.problem import Link, Problem
from nodes.matchmaker.topdown import components, greedy, is_cyclic, top_down
from tests.matchmaker.networks import every_valid, per_source, shared


@settings(max_examples=150)
@given(per_source(most_links=10))
def test_K3_the_optimum_is_that_of_an_exhaustive_search(problem: Problem) -> None:
    found = optimum(problem)
    assert is_valid(problem, found)
    best = min((cost(problem, each) for each in every_valid(problem)), default=0)
    assert cost(problem, found) == best


@settings(max_examples=50)
@given(shared())
def test_K3_claim_1_greedy_is_valid_and_best_on_a_shared_tree(problem: Problem) -> None:
    found = greedy(problem)
    assert is_valid(problem, found)
    assert found == top_down(problem)
    assert cost(problem, found) == cost(problem, optimum(problem))


@given(per_source())
def test_K3_top_down_is_valid_and_no_better_than_the_optimum(problem: Problem) -> None:
    found = top_down(problem)
    assert is_valid(problem, found)
    assert cost(problem, found) >= cost(problem, optimum(problem))


@given(per_source())
def test_K3_top_down_is_greedy_where_nothing_upstream_is_an_s_link(problem: Problem) -> None:
    found = top_down(problem)
    upstream_s = reachable(problem, [t for t in problem.links if found[t] == S])
    for part in components(problem.below):
        if not upstream_s.isdisjoint(part) and any(t in upstream_s for t in part):
            assert all(found[t] == S for t in part)
            continue
        saved = sum(problem.publication[t] - problem.subscription[t] for t in part)
        assert all(found[t] == (S if saved >= 0 else P) for t in part)


def reachable(problem: Problem, start: list) -> set:
    """What is strictly downstream of any of these and not strongly connected with it."""
    parts = {t: part for part in components(problem.below) for t in part}
    reached, waiting = set(), [*start]
    while waiting:
        link = waiting.pop()
        for after in problem.below[link]:
            if after not in reached and parts[after] != parts[link]:
                reached.update(parts[after])
                waiting += parts[after]
    return reached


def test_K3_where_both_cost_the_same_top_down_takes_an_s_link() -> None:
    even = Problem({1: 3}, {2: 3}, {1: {2: 1}})
    assert top_down(even) == greedy(even) == optimum(even) == {(1, 2): S}


def test_E17_paths_over_several_trees_count() -> None:
    # a-b-c is a path of the tree of 1, c-d of another tree alone: what is before b is upstream of d.
    trees = {1: {2: 1, 3: 2}, 2: {3: 2, 4: 3}}
    problem = Problem({1: 10, 2: 1}, {3: 1, 4: 30}, {1: {**trees[1], 4: 2}, 2: trees[2]})
    assert (2, 3) in problem.below[1, 2]
    assert (3, 4) in problem.below[2, 3]
    assert not any({(1, 2), (3, 4)} <= set(used) for used in problem.used.values())
    for marking in every_valid(problem):
        if marking[1, 2] == S:
            assert marking[3, 4] == S
    best = optimum(problem)
    assert is_valid(problem, best)
    assert cost(problem, best) == min(cost(problem, each) for each in every_valid(problem))


def bipartite(problem: Problem) -> dict[Link, int]:
    """As sketched in the paper: of each s-link above a p-link in a tree the cheaper one changes its mark.

    Both as they would be by themselves; the cheapest choice of all, by trying every one.
    """
    alone = {
        link: S if problem.publication[link] >= problem.subscription[link] else P for link in problem.links
    }
    loss = {link: abs(problem.publication[link] - problem.subscription[link]) for link in problem.links}
    conflicts = [
        (above, below)
        for above, below in product(problem.links, repeat=2)
        if (alone[above], alone[below]) == (S, P) and is_upstream(problem, above, below)
    ]
    links = [*problem.links]
    covers = [
        chosen
        for count in range(len(links) + 1)
        for chosen in combinations(links, count)
        if all(above in chosen or below in chosen for above, below in conflicts)
    ]
    changed = min(covers, key=lambda chosen: sum(loss[link] for link in chosen))
    return {link: alone[link] if link not in changed else S + P - alone[link] for link in problem.links}


def is_upstream(problem: Problem, above: Link, below: Link) -> bool:
    """Whether one link comes before another in some tree."""
    paths = [problem.path(x, y) for x in problem.publishers for y in problem.subscribers]
    return any(above in path and below in path and path.index(above) < path.index(below) for path in paths)


def test_E17_golden_direct_edges_alone_give_a_marking_that_is_not_valid() -> None:
    """1-2 and 2-3 want to be s-links, 3-4 a p-link, whose tree has 2-3 alone, the cheaper to change."""
    trees = {1: {2: 1, 3: 2, 4: 2}, 2: {3: 2, 4: 3}}
    problem = Problem({1: 12, 2: 1}, {3: 1, 4: 10}, trees)
    assert bipartite(problem) == {(1, 2): S, (2, 3): P, (2, 4): S, (3, 4): P}
    assert not is_valid(problem, bipartite(problem)), "an s-link is above a p-link in the tree of 1"
    best = optimum(problem)
    assert is_valid(problem, best)
    assert cost(problem, best) == min(cost(problem, each) for each in every_valid(problem))


def ring() -> Problem:
    """Three links round in a ring, each publisher's tree two of them: each link is downstream of each."""
    trees = {1: {2: 1, 3: 2}, 2: {3: 2, 1: 3}, 3: {1: 3, 2: 1}}
    return Problem({1: 4, 2: 1, 3: 1}, {1: 3, 2: 3, 3: 3}, trees)


def test_E18_links_that_are_downstream_of_each_other_are_marked_alike_by_their_sums() -> None:
    problem = ring()
    assert is_cyclic(problem.below)
    assert [set(part) for part in components(problem.below)] == [set(problem.links)]
    assert every_valid(problem) == [dict.fromkeys(problem.links, mark) for mark in (S, P)]
    assert top_down(problem) == optimum(problem) == all_p(problem)
    dearer = Problem({1: 9, 2: 9, 3: 9}, problem.subscribers, problem.trees)
    assert top_down(dearer) == optimum(dearer) == dict.fromkeys(problem.links, S)


@given(per_source())
def test_components_come_after_what_is_upstream_of_them(problem: Problem) -> None:
    number = {t: i for i, part in enumerate(components(problem.below)) for t in part}
    assert number.keys() == set(problem.links)
    for link, following in problem.below.items():
        assert all(number[link] <= number[after] for after in following)


def test_what_is_a_fraction_is_compared_exactly() -> None:
    close = Problem({1: 0.1 + 0.2}, {2: 0.3}, {1: {2: 1}})
    assert optimum(close) == top_down(close) == {(1, 2): S}
    assert cost_if_valid(close, optimum(close)) == 0.3
