"""Markings: which links are p-links and which s-links, whether that is valid, what it costs (MM 3.1; K1).

Publications go down p-links as far as these reach from their publisher, and
subscriptions go up s-links. In a valid marking everything downstream of an s-link is
an s-link, in any tree (eq. 1): on each path from a publisher to a subscriber
both then come to exactly one node, where they are matched.

Not here: how a good one is found (`topdown`, `optimum`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from nodes.matchmaker.problem import Link, Node, Problem, sum_of

P, S = 1, 0
"""The paper's numbers: a p-link is 1, an s-link 0."""
Marking = Mapping[Link, int]


class Carried(NamedTuple):
    """What crosses a link."""

    publications: float
    """sigma: descriptors of publishers, downstream."""
    subscriptions: float
    """tau: descriptors of subscribers, upstream."""


def all_p(problem: Problem) -> Marking:
    """Broadcast publication."""
    return dict.fromkeys(problem.links, P)


def all_s(problem: Problem) -> Marking:
    """Broadcast subscription."""
    return dict.fromkeys(problem.links, S)


def breaches(problem: Problem, marking: Marking) -> Iterator[tuple[Link, Link]]:
    """The pairs of an s-link and a p-link that follows it in some tree (eq. 1)."""
    for link in problem.links:
        if marking[link] == S:
            yield from ((link, after) for after in problem.below[link] if marking[after] == P)


def is_valid(problem: Problem, marking: Marking) -> bool:
    """Whether publications meet subscriptions on every path."""
    return next(breaches(problem, marking), None) is None


def carried(problem: Problem, marking: Marking) -> dict[Link, Carried]:
    """What crosses each link, found by following descriptors from where they come: of any marking."""
    rates = [*problem.subscribers.values()]
    published = dict.fromkeys(problem.links, 0.0)
    wanted = dict.fromkeys(problem.links, 0)
    for x in problem.publishers:
        crossed: set[Link] = set()
        for position, y in enumerate(problem.subscribers):
            path = problem.path(x, y)
            crossed.update(_leading(path, marking, P))
            for link in _leading(reversed(path), marking, S):
                wanted[link] |= 1 << position
        for link in crossed:
            published[link] += problem.publishers[x]
    return {link: Carried(published[link], sum_of(rates, wanted[link])) for link in problem.links}


def cost(problem: Problem, marking: Marking) -> float:
    """How many descriptors cross links (eq. 2)."""
    return sum(each.publications + each.subscriptions for each in carried(problem, marking).values())


def cost_if_valid(problem: Problem, marking: Marking) -> float:
    """The same for a valid marking, by Lemma 1: a link costs what it would if all were marked as it is."""
    publication, subscription = problem.publication, problem.subscription
    return sum(publication[t] if marking[t] == P else subscription[t] for t in problem.links)


def meeting_point(problem: Problem, marking: Marking, publisher: Node, subscriber: Node) -> Node | None:
    """The node at which publications of one meet subscriptions of the other; None if at no node."""
    path = problem.path(publisher, subscriber)
    down = len([*_leading(path, marking, P)])
    up = len([*_leading(reversed(path), marking, S)])
    if down + up != len(path):
        return None
    return path[down - 1][1] if down else publisher


def match_messages(
    problem: Problem, marking: Marking, matched: Iterable[tuple[Node, Node]]
) -> list[tuple[Node, Link]]:
    """The messages that tell of matches, from where they are found to both ends: (found at, link crossed).

    Args:
        problem: The trees.
        marking: A valid marking.
        matched: (publisher, subscriber) of each match.
    """
    found = []
    for x, y in matched:
        at = meeting_point(problem, marking, x, y)
        assert at is not None, "in a valid marking each publication meets each subscription"
        found += [(at, link) for link in problem.path(x, y)]
    return found


def _leading(links: Iterable[Link], marking: Marking, mark: int) -> Iterator[Link]:
    """The first links, as far as they are marked so."""
    for link in links:
        if marking[link] != mark:
            return
        yield link
