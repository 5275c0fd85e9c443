"""Graphs whose links are drawn at random: random, Erdos-Renyi and Waxman.

`random` grows a random tree first and is connected by that. The two others draw
each link by itself, which may leave pieces; these are then joined by one link
each to the largest, and a note reports how many links that took.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from random import Random

from topologies.map import Point, delay_of_km, pieces
from topologies.shapes.kind import Draft, Edge, Given, Parameter, Shape, size

WAXMAN_DEGREE = 4
"""Links of a router on average, where beta is not given."""
PAIRS_MAX = 3_000
"""The most routers of a Waxman graph, since every pair is considered."""
Choice = Callable[[list[int], list[int]], Edge]
"""Where a link joins the whole and a piece: a router of each."""


def _random(given: Given, rng: Random) -> Draft:
    """A random tree, so that all are connected, and random edges up to the mean degree."""
    n, degree = given["size"], given["degree"]
    wanted = _random_count(given)[1]
    if wanted > n * (n - 1) // 2:
        raise ValueError(f"{n} routers cannot have {degree} links each")
    edges = {(rng.randrange(i), i) for i in range(1, n)}
    # Dense graphs: draw from the remaining pairs, since most draws would hit an existing link.
    if wanted * 2 > n * (n - 1) // 2:
        rest = sorted(set(itertools.combinations(range(n), 2)) - edges)
        return Draft(n, sorted(edges | set(rng.sample(rest, wanted - len(edges)))))
    while len(edges) < wanted:
        a, b = rng.randrange(n), rng.randrange(n)
        if a != b:
            edges.add((min(a, b), max(a, b)))
    return Draft(n, sorted(edges))


def _random_count(given: Given) -> tuple[int, int]:
    n, degree = given["size"], given["degree"]
    # By default 3, or as many as there are other routers.
    degree = min(3, n - 1) if degree is None else degree
    return n, max(n - 1, round(n * degree / 2))


def _erdos_renyi(given: Given, rng: Random) -> Draft:
    n = given["size"]
    edges = drawn_pairs(n, _probability(given), rng)
    joined = join_pieces(n, edges, by_chance(rng))
    return Draft(n, edges + joined, notes=joining_note(joined))


def _probability(given: Given) -> float:
    n, degree, probability = given["size"], given["degree"], given["probability"]
    if degree is not None and probability is not None:
        raise ValueError(
            "both degree and probability are given; expected one of them: each follows from the other"
        )
    if probability is not None:
        return float(probability)
    degree = min(4, n - 1) if degree is None else degree
    if degree > n - 1:
        raise ValueError(f"{n} routers cannot have {degree} links each; expected a degree of at most {n - 1}")
    return float(degree / (n - 1)) if n > 1 else 0.0


def _erdos_renyi_count(given: Given) -> tuple[int, int]:
    n = given["size"]
    return n, max(n - 1, round(_probability(given) * n * (n - 1) / 2))


def drawn_pairs(n: int, probability: float, rng: Random) -> list[Edge]:
    """Each pair with the same probability; jumps from hit to hit, so that sparse graphs are quick."""
    if probability <= 0:
        return []
    if probability >= 1:
        return list(itertools.combinations(range(n), 2))
    edges, a, b = [], -1, 1
    skip = math.log1p(-probability)
    while b < n:
        a += 1 + int(math.log(1.0 - rng.random()) / skip)
        while a >= b and b < n:
            a, b = a - b, b + 1
        if b < n:
            edges.append((a, b))
    return edges


def _waxman(given: Given, rng: Random) -> Draft:
    n, side, reach = given["size"], given["side_km"], given["alpha"] * math.sqrt(2)
    at = {i: (rng.random(), rng.random()) for i in range(n)}
    beta = _likely(at, reach) if given["beta"] is None else given["beta"]
    edges = [
        (a, b)
        for a, b in itertools.combinations(range(n), 2)
        if rng.random() < beta * math.exp(-math.dist(at[a], at[b]) / reach)
    ]
    joined = join_pieces(n, edges, lambda whole, piece: _nearest(at, whole, piece))
    edges += joined
    delays = {} if side is None else {(a, b): delay_of_km(math.dist(at[a], at[b]) * side) for a, b in edges}
    return Draft(n, edges, at=at, delays_ns=delays, notes=joining_note(joined))


def _likely(at: Mapping[int, Point], reach: float) -> float:
    """The beta that gives routers at these points `WAXMAN_DEGREE` links on average; 1 if none does."""
    if len(at) < 2:
        return 1.0
    total = sum(math.exp(-math.dist(a, b) / reach) for a, b in itertools.combinations(at.values(), 2))
    wanted = len(at) * WAXMAN_DEGREE / 2
    return min(1.0, wanted / total) if total > 0 else 1.0


def _waxman_count(given: Given) -> tuple[int, int]:
    # The mean of exp(-d/s) over the unit square is below 2 pi s^2, its value over the whole plane.
    n, s = given["size"], given["alpha"] * math.sqrt(2)
    share = min(1.0, 2 * math.pi * s * s)
    likely = share if given["beta"] is None else given["beta"] * share
    most = math.inf if given["beta"] is not None else n * WAXMAN_DEGREE / 2
    return n, max(n - 1, round(min(most, likely * n * (n - 1) / 2)))


def join_pieces(n: int, edges: Iterable[Edge], choose: Choice) -> list[Edge]:
    """Links that make one piece of many: each piece is joined to the largest and those joined before."""
    near: dict[int, list[int]] = {node: [] for node in range(n)}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    whole, *parts = pieces(near)
    added = []
    for part in parts:
        a, b = choose(whole, part)
        added.append((min(a, b), max(a, b)))
        whole += part
    return added


def by_chance(rng: Random) -> Choice:
    """Joins any router to any."""
    return lambda whole, piece: (rng.choice(whole), rng.choice(piece))


def _nearest(at: Mapping[int, Point], whole: list[int], piece: list[int]) -> Edge:
    return min((math.dist(at[a], at[b]), a, b) for a in whole for b in piece)[1:]


def joining_note(joined: list[Edge]) -> tuple[str, ...]:
    """The note on the links that were added."""
    if not joined:
        return ()
    count = f"{len(joined)} link{'s' * (len(joined) > 1)}"
    return (f"{count} added to what was drawn, to make one piece of {len(joined) + 1}",)


_MEAN = Parameter("degree", "how many links a router has on average", 0, 1000, whole=False)

SHAPES: Mapping[str, Shape] = {
    "random": Shape(
        "a random tree and random links up to a mean degree (3)",
        (size(), _MEAN),
        _random_count,
        _random,
        True,
    ),
    "erdos-renyi": Shape(
        "each pair joined with the same probability",
        (
            size(),
            _MEAN,
            Parameter("probability", "of each pair's link, instead of degree", 0, 1, whole=False),
        ),
        _erdos_renyi_count,
        _erdos_renyi,
        True,
    ),
    "waxman": Shape(
        "points in a square, near ones joined rather than far ones",
        (
            size(most=PAIRS_MAX),
            Parameter(
                "alpha", "how far links reach, as a share of the diagonal", 0.001, 10, 0.3, whole=False
            ),
            Parameter("beta", "how likely links are (so that a router has 4)", 0, 1, whole=False),
            Parameter("side_km", "the square's side: links get delays from it", 0.001, 40_000, whole=False),
        ),
        _waxman_count,
        _waxman,
        True,
    ),
}
