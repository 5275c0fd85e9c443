"""Where routers stand that have no place: distances on paper like those in the graph.

Stress is lessened pair by pair with ever smaller steps. Large graphs look at
their links and at the distances to some routers alone. Drawn from a fixed seed,
so that the same graph is always drawn alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random

from topologies.map import Point

ALL_PAIRS_UP_TO = 160
PIVOTS = 24
ROUNDS = 24
Term = tuple[int, int, float]
"""Two routers and how far apart they should be."""


def laid_out(neighbours: Mapping[str, Sequence[str]]) -> dict[str, Point]:
    """A place for each router of a graph in one piece; lying down rather than standing."""
    names = list(neighbours)
    number = {name: i for i, name in enumerate(names)}
    near = [[number[other] for other in neighbours[name]] for name in names]
    rng = Random("drawing")
    x = [rng.uniform(-1, 1) * math.sqrt(len(names)) for _ in names]
    y = [rng.uniform(-1, 1) * math.sqrt(len(names)) for _ in names]
    terms = _terms(near, rng)
    if terms:
        _settle(x, y, terms, rng)
    return dict(zip(names, _lying(x, y), strict=True))


def _terms(near: list[list[int]], rng: Random) -> list[Term]:
    count = len(near)
    from_ = range(count) if count <= ALL_PAIRS_UP_TO else sorted(rng.sample(range(count), PIVOTS))
    terms: dict[tuple[int, int], float] = {(a, b): 1.0 for a in range(count) for b in near[a] if a < b}
    for a in from_:
        for b, distance in enumerate(_distances(near, a)):
            if b != a and distance:
                terms.setdefault((min(a, b), max(a, b)), float(distance))
    return [(a, b, distance) for (a, b), distance in terms.items()]


def _distances(near: list[list[int]], first: int) -> list[int]:
    found = [0] * len(near)
    order = [first]
    for node in order:
        for other in near[node]:
            if not found[other] and other != first:
                found[other] = found[node] + 1
                order.append(other)
    return found


def _settle(x: list[float], y: list[float], terms: list[Term], rng: Random) -> None:
    longest = max(distance for *_, distance in terms)
    step, least = longest**2, 0.1
    cooling = (least / step) ** (1 / (ROUNDS - 1)) if step > least else 1.0
    for _ in range(ROUNDS):
        rng.shuffle(terms)
        for a, b, wanted in terms:
            dx, dy = x[a] - x[b], y[a] - y[b]
            apart = math.sqrt(dx * dx + dy * dy) or 1e-9
            move = min(step / (wanted * wanted), 1.0) * (apart - wanted) / (2 * apart)
            x[a] -= move * dx
            y[a] -= move * dy
            x[b] += move * dx
            y[b] += move * dy
        step *= cooling


def _lying(x: list[float], y: list[float]) -> list[Point]:
    """Turned so that the long side is across."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xx = sum((a - mean_x) ** 2 for a in x)
    yy = sum((b - mean_y) ** 2 for b in y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    turn = math.atan2(2 * xy, xx - yy) / 2
    cos, sin = math.cos(turn), math.sin(turn)
    return [
        ((a - mean_x) * cos + (b - mean_y) * sin, (b - mean_y) * cos - (a - mean_x) * sin)
        for a, b in zip(x, y, strict=True)
    ]
