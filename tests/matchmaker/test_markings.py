"""Markings: what is valid, what it costs, where publications meet subscriptions (MM 3; K1, K2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.matchmaker.marking import (
    P,
    S,
    all_p,
    all_s,
    breaches,
    carried,
    cost,
    cost_if_valid,
    is_valid,
    match_messages,
    meeting_point,
)
from nodes.matchmaker.optimum import optimum
from nodes.matchmaker.problem import Problem, TreeError, shared_tree
from nodes.matchmaker.topdown import greedy, top_down
from nodes.model import parse_filter
from nodes.model.covering import advertisement_overlaps
from tests.matchmaker.networks import FIG_4, every_valid, per_source, shared

MIXED = {("A", "B"): P, ("B", "D"): P, ("B", "C"): S}
PUBLISHED = {"A": ["x = 1 and y = 1", "x = 7 and y = 7"]}
WANTED = {
    "C": ["x >= 0 and x <= 2 and y >= 0 and y <= 2"],
    "D": [
        "x >= 3 and x <= 4 and y >= 8 and y <= 9",
        "x >= 4 and x <= 5 and y >= 0 and y <= 2",
        "x >= 6 and x <= 8 and y >= 6 and y <= 8",
    ],
}
"""As in Fig. 3: squares of a plane, of which two are in each other's reach."""


def matched_pairs() -> list[tuple[str, str]]:
    return [
        (x, y)
        for x, publications in PUBLISHED.items()
        for publication in publications
        for y, subscriptions in WANTED.items()
        for subscription in subscriptions
        if advertisement_overlaps(parse_filter(publication), parse_filter(subscription))
    ]


def test_K2_fig_4_costs_8_and_6_and_5() -> None:
    assert {x: len(each) for x, each in PUBLISHED.items()} == FIG_4.publishers
    assert {y: len(each) for y, each in WANTED.items()} == FIG_4.subscribers
    assert cost(FIG_4, all_s(FIG_4)) == 8
    assert cost(FIG_4, all_p(FIG_4)) == 6
    assert cost(FIG_4, MIXED) == 5
    assert carried(FIG_4, MIXED) == {("A", "B"): (2, 0), ("B", "D"): (2, 0), ("B", "C"): (0, 1)}


def test_K2_the_fourth_marking_of_fig_4_is_invalid() -> None:
    wrong = {("A", "B"): S, ("B", "C"): S, ("B", "D"): P}
    assert not is_valid(FIG_4, wrong)
    assert list(breaches(FIG_4, wrong)) == [(("A", "B"), ("B", "D"))]
    assert meeting_point(FIG_4, wrong, "A", "D") is None


def test_K2_in_fig_4_two_matches_are_told_in_four_messages_wherever_they_are_found() -> None:
    pairs = matched_pairs()
    assert pairs == [("A", "C"), ("A", "D")]
    places = {}
    for name, marking in (("s", all_s(FIG_4)), ("p", all_p(FIG_4)), ("mixed", MIXED)):
        messages = match_messages(FIG_4, marking, pairs)
        assert len(messages) == 4
        places[name] = [meeting_point(FIG_4, marking, x, y) for x, y in pairs]
    assert places == {"s": ["A", "A"], "p": ["C", "D"], "mixed": ["B", "D"]}


def test_K2_every_algorithm_finds_the_best_marking_of_fig_4() -> None:
    assert greedy(FIG_4) == top_down(FIG_4) == optimum(FIG_4) == MIXED


def test_a_publisher_that_subscribes_meets_itself_at_home() -> None:
    alone = Problem({1: 3.0}, {1: 4.0}, {1: {}})
    assert alone.links == ()
    assert cost(alone, {}) == 0
    assert meeting_point(alone, {}, 1, 1) == 1
    assert optimum(alone) == top_down(alone) == {}


@given(per_source(), st.data())
def test_K2_lemma_1_a_link_of_a_valid_marking_costs_what_it_does_if_all_are_as_it_is(
    problem: Problem, data: st.DataObject
) -> None:
    marking = top_down(Problem(data.draw(rates(problem)), problem.subscribers, problem.trees))
    assert is_valid(problem, marking)
    for link, (sigma, tau) in carried(problem, marking).items():
        if marking[link] == P:
            assert (sigma, tau) == (problem.publication[link], 0)
        else:
            assert (sigma, tau) == (0, problem.subscription[link])
    assert cost(problem, marking) == cost_if_valid(problem, marking)


def rates(problem: Problem) -> st.SearchStrategy[dict[int | str, int]]:
    """Of the same publishers: top-down marking makes any valid marking of some of them."""
    return st.fixed_dictionaries(dict.fromkeys(problem.publishers, st.integers(0, 30)))


@given(per_source())
def test_what_links_carry_is_what_is_followed_from_its_origin(problem: Problem) -> None:
    by_p, by_s = carried(problem, all_p(problem)), carried(problem, all_s(problem))
    assert {t: by_p[t].publications for t in problem.links} == problem.publication
    assert {t: by_s[t].subscriptions for t in problem.links} == problem.subscription


@given(per_source())
def test_K2_property_1_the_best_is_no_dearer_than_either_broadcast(problem: Problem) -> None:
    best = cost(problem, optimum(problem))
    assert best <= cost(problem, all_p(problem))
    assert best <= cost(problem, all_s(problem))


@given(shared())
def test_K2_property_3_on_a_shared_tree_publications_grow_downstream_and_subscriptions_upstream(
    problem: Problem,
) -> None:
    for link, following in problem.below.items():
        for after in following:
            assert problem.publication[link] <= problem.publication[after]
            assert problem.subscription[link] >= problem.subscription[after]


@given(per_source(most_links=10))
def test_in_a_valid_marking_each_publication_meets_each_subscription_and_else_some_do_not(
    problem: Problem,
) -> None:
    marking = top_down(problem)
    assert all_meet(problem, marking)
    flipped = [t for t in problem.links if not is_valid(problem, {**marking, t: 1 - marking[t]})]
    for link in flipped:
        assert not all_meet(problem, {**marking, link: 1 - marking[link]})


def all_meet(problem: Problem, marking: dict) -> bool:
    return all(
        meeting_point(problem, marking, x, y) is not None
        for x in problem.publishers
        for y in problem.subscribers
    )


@given(per_source(most_links=10))
def test_a_marking_is_valid_exactly_if_no_s_link_is_upstream_of_a_p_link_of_a_tree(problem: Problem) -> None:
    for marking in every_valid(problem):
        for x in problem.publishers:
            for y in problem.subscribers:
                marks = [marking[link] for link in problem.path(x, y)]
                assert marks == sorted(marks, reverse=True)


def test_a_tree_that_does_not_lead_to_a_subscriber_is_refused() -> None:
    lost = Problem({"A": 1}, {"C": 1}, {"A": {"B": "A"}})
    with pytest.raises(TreeError, match="the tree of A does not lead to C"):
        _ = lost.links
    ring = Problem({"A": 1}, {"C": 1}, {"A": {"B": "C", "C": "B"}})
    with pytest.raises(TreeError):
        ring.path("A", "C")


def test_a_shared_tree_is_the_same_tree_seen_from_each_publisher() -> None:
    trees = shared_tree([(1, 2), (2, 3), (2, 4)], [1, 3])
    assert trees == {1: {2: 1, 3: 2, 4: 2}, 3: {2: 3, 1: 2, 4: 2}}
