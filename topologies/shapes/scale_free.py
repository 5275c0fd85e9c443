"""Graphs of few hubs and many leaves: Barabasi-Albert (by growth) and power-law (by degrees).

Both are connected as they are made: each router joins those that are there already.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from random import Random

from topologies.shapes.kind import Draft, Edge, Given, Parameter, Shape, size


def _barabasi_albert(given: Given, rng: Random) -> Draft:
    """A star, then one router after the other, each with links to some in proportion to their degrees."""
    n, attach = given["size"], given["attach"]
    if n <= attach:
        raise ValueError(f"a router cannot join {attach} others where there are {n}; expected size > attach")
    edges: list[Edge] = [(0, i) for i in range(1, attach + 1)]
    ends = [end for edge in edges for end in edge]
    for new in range(attach + 1, n):
        chosen: dict[int, None] = {}
        while len(chosen) < attach:
            chosen[rng.choice(ends)] = None
        for old in chosen:
            edges.append((old, new))
            ends += (old, new)
    return Draft(n, edges)


def _barabasi_albert_count(given: Given) -> tuple[int, int]:
    n, attach = given["size"], given["attach"]
    return n, max(n - 1, attach * (n - attach))


def _power_law(given: Given, rng: Random) -> Draft:
    """Degrees first; a tree that keeps to them; then the ends that are free, paired at random."""
    n = given["size"]
    degrees = _degrees(given, rng)
    raised = _raise(degrees, given, rng)
    edges = _tree_of(degrees, rng)
    free = list(degrees)
    for a, b in edges:
        free[a] -= 1
        free[b] -= 1
    known = set(edges)
    missed = 0
    for a, b in _paired(free, rng):
        edge = (min(a, b), max(a, b))
        if a == b or edge in known:
            missed += 1
        else:
            known.add(edge)
            edges.append(edge)
    notes = [f"degrees raised by {raised} together, so that all can be connected"] * bool(raised)
    whole = len(edges) + missed
    notes += [f"{missed} of {whole} links left out: they would have been loops or parallel"] * bool(missed)
    return Draft(n, edges, notes=tuple(notes))


def _degrees(given: Given, rng: Random) -> list[int]:
    """Degrees with P(k) ~ k^-exponent."""
    n, exponent, least = given["size"], given["exponent"], given["least"]
    most = n - 1 if given["most"] is None else given["most"]
    if n > 1 and not least <= most <= n - 1:
        raise ValueError(
            f"degrees from {least} to {most} do not fit {n} routers; expected least <= most < size"
        )
    if n > 2 and most < 2:
        raise ValueError(f"{n} routers with one link each are in pieces; expected most of at least 2")
    values = range(least, most + 1)
    weights = list(itertools.accumulate(k**-exponent for k in values))
    return rng.choices(values, cum_weights=weights, k=n) if n > 1 else [0]


def _raise(degrees: list[int], given: Given, rng: Random) -> int:
    """Degrees that make up a tree at least, the greatest first; how much they had to be raised."""
    n, most = len(degrees), given["most"] or len(degrees) - 1
    lacking = max(0, 2 * (n - 1) - sum(degrees))
    for _ in range(lacking):
        low = rng.randrange(n)
        while degrees[low] >= most:
            low = rng.randrange(n)
        degrees[low] += 1
    degrees.sort(reverse=True)
    return lacking


def _tree_of(degrees: list[int], rng: Random) -> list[Edge]:
    # Greatest first: at each step an end is free, since the degrees make up 2(n-1) at least.
    ends, edges = [0] * degrees[0], []
    for new in range(1, len(degrees)):
        pick = rng.randrange(len(ends))
        ends[pick], ends[-1] = ends[-1], ends[pick]
        edges.append((ends.pop(), new))
        ends += [new] * (degrees[new] - 1)
    return edges


def _paired(free: list[int], rng: Random) -> list[Edge]:
    ends = [i for i, count in enumerate(free) for _ in range(count)]
    rng.shuffle(ends)
    return list(zip(ends[::2], ends[1::2], strict=False))


def _power_law_count(given: Given) -> tuple[int, int]:
    n, exponent, least = given["size"], given["exponent"], given["least"]
    most = max(least, n - 1 if given["most"] is None else given["most"])
    weights = [k**-exponent for k in range(least, most + 1)]
    mean = sum(k * w for k, w in zip(range(least, most + 1), weights, strict=True)) / sum(weights)
    return n, max(n - 1, round(n * mean / 2))


SHAPES: Mapping[str, Shape] = {
    "barabasi-albert": Shape(
        "grown: each new router joins hubs rather than leaves",
        (size(), Parameter("attach", "links a new router comes with", 1, 1000, 2)),
        _barabasi_albert_count,
        _barabasi_albert,
        True,
    ),
    "power-law": Shape(
        "degrees k with probability k^-exponent",
        (
            size(most=20_000),
            Parameter("exponent", "how rare hubs are", 1, 5, 2.2, whole=False),
            Parameter("least", "the least degree drawn", 1, 1000, 1),
            Parameter("most", "the greatest degree", 1, 19_999),
        ),
        _power_law_count,
        _power_law,
        True,
    ),
}
