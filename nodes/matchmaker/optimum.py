"""The best valid marking on any trees, as a minimum cut (MM 4.2; E17).

By Lemma 1 each link saves a fixed amount as an s-link rather than a p-link, possibly less
than nothing. Sought is a set of links that contains all that is downstream of any in it and
saves most: a closure of greatest weight. It is one side of a minimum cut in a graph that has
an arc without limit from each link to those that follow it in any tree. Paths
over several trees are thus followed too, which the paper's sketch with direct edges
misses (E17).

What is decided beforehand is left out of the graph: links that had better be s-links as had all that is
downstream of them, and those that had better be p-links as had all upstream. Often that is all.

Networkx solves what is left. It is imported here and nowhere else in `nodes`, and routers do not use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

import networkx as nx
from networkx.algorithms.flow import preflow_push

from nodes.matchmaker.marking import Marking, P, S
from nodes.matchmaker.problem import Link, Problem

_SOURCE, _SINK = "saves", "costs"


def optimum(problem: Problem) -> Marking:
    """A valid marking of the least cost; of several, the one with the most s-links."""
    gains = _gains(problem)
    below = problem.below
    above: dict[Link, list[Link]] = {link: [] for link in problem.links}
    for link, following in below.items():
        for after in following:
            above[after].append(link)
    hindered = _reached([t for t in problem.links if gains[t] < 0], above)
    held_up = _reached([t for t in problem.links if gains[t] >= 0], below)
    open_ = [t for t in problem.links if t in hindered and t in held_up]
    chosen = _closure(open_, gains, below) if open_ else set[Link]()
    return {t: S if t not in hindered or t in chosen else P for t in problem.links}


def _gains(problem: Problem) -> dict[Link, int]:
    """What each link saves as an s-link, as whole numbers of one unit: sums are then exact."""
    exact = {t: Fraction(problem.publication[t]) - Fraction(problem.subscription[t]) for t in problem.links}
    unit = lcm(*(each.denominator for each in exact.values()))
    return {t: int(each * unit) for t, each in exact.items()}


def _closure(
    links: list[Link], gains: Mapping[Link, int], below: Mapping[Link, tuple[Link, ...]]
) -> set[Link]:
    """Of these links, those on the side of a minimum cut that are to be s-links."""
    graph: nx.DiGraph[Link | str] = nx.DiGraph()
    here = set(links)
    for link in links:
        if gains[link] > 0:
            graph.add_edge(_SOURCE, link, capacity=gains[link])
        else:
            graph.add_edge(link, _SINK, capacity=-gains[link])
        graph.add_edges_from((link, after) for after in below[link] if after in here)
    graph.add_nodes_from((_SOURCE, _SINK))
    _, (chosen, _) = nx.minimum_cut(graph, _SOURCE, _SINK, flow_func=preflow_push)
    return set(chosen) - {_SOURCE}


def _reached(start: list[Link], following: Mapping[Link, list[Link] | tuple[Link, ...]]) -> set[Link]:
    """These links and all that can be come to from them."""
    reached, waiting = set(start), [*start]
    while waiting:
        for other in following[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached
