"""Topologies made by rule: routers r1, r2, ... and the edges between them.

Pure graph code. Edges come in a fixed order, each from the lower to the higher
number, so that addresses and interface names are the same every time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import networkx as nx

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of topology: what it needs, what it may be told, how many edges, how it is made."""

    required: tuple[str, ...]
    optional: Mapping[str, Any]
    """Parameters with their defaults."""
    edge_count: Callable[..., int]
    edges: Callable[..., list[Edge]]


def generate(shape: str, parameters: Mapping[str, Any], seed: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The routers and links of a shape; `seed` matters to `random` alone.

    Raises:
        ValueError: The parameters do not go together.
    """
    kind = SHAPES[shape]
    given = {**kind.optional, **parameters}
    size = router_count(parameters)
    rng = {"rng": Random(f"{seed}/topology")} if shape == "random" else {}
    pairs = sorted(tuple(sorted(edge)) for edge in kind.edges(**given, **rng))
    routers = [f"r{i}" for i in range(1, size + 1)]
    return routers, [(routers[a], routers[b]) for a, b in pairs]


def router_count(parameters: Mapping[str, Any]) -> int:
    """How many routers these parameters ask for."""
    if "width" in parameters:
        return int(parameters["width"]) * int(parameters["height"])
    return int(parameters["size"])


def link_count(shape: str, parameters: Mapping[str, Any]) -> int:
    """How many links they ask for, without making them."""
    return SHAPES[shape].edge_count(**{**SHAPES[shape].optional, **parameters})


def _line(size: int) -> list[Edge]:
    return list(nx.path_graph(size).edges)


def _ring(size: int) -> list[Edge]:
    if size < 3:
        raise ValueError("a ring has at least 3 routers")
    return list(nx.cycle_graph(size).edges)


def _star(size: int) -> list[Edge]:
    return list(nx.star_graph(size - 1).edges)


def _tree(size: int, branching: int) -> list[Edge]:
    return list(nx.full_rary_tree(branching, size).edges)


def _full(size: int) -> list[Edge]:
    return list(nx.complete_graph(size).edges)


def _grid(width: int, height: int) -> list[Edge]:
    graph = nx.grid_2d_graph(height, width)
    return [(a * width + b, c * width + d) for (a, b), (c, d) in graph.edges]


def _random(size: int, degree: float | None, rng: Random) -> list[Edge]:
    """A random tree, so that all are connected, and random edges up to the mean degree."""
    wanted = _random_count(size, degree)
    if wanted > size * (size - 1) // 2:
        raise ValueError(f"{size} routers cannot have {degree} links each")
    edges = {(rng.randrange(i), i) for i in range(1, size)}
    # Dense graphs: draw from what is left, rather than hope to hit it.
    if wanted * 2 > size * (size - 1) // 2:
        rest = sorted(set(itertools.combinations(range(size), 2)) - edges)
        return sorted(edges | set(rng.sample(rest, wanted - len(edges))))
    while len(edges) < wanted:
        a, b = rng.randrange(size), rng.randrange(size)
        if a != b:
            edges.add((min(a, b), max(a, b)))
    return sorted(edges)


def _random_count(size: int, degree: float | None) -> int:
    # Unless told otherwise: 3, or as many as there are others.
    degree = min(3, size - 1) if degree is None else degree
    return max(size - 1, round(size * degree / 2))


SHAPES: Mapping[str, Shape] = {
    "line": Shape(("size",), {}, lambda size: size - 1, _line),
    "ring": Shape(("size",), {}, lambda size: size, _ring),
    "star": Shape(("size",), {}, lambda size: size - 1, _star),
    "tree": Shape(("size",), {"branching": 2}, lambda size, branching: size - 1, _tree),  # noqa: ARG005
    "grid": Shape(("width", "height"), {}, lambda width, height: 2 * width * height - width - height, _grid),
    "full": Shape(("size",), {}, lambda size: size * (size - 1) // 2, _full),
    "random": Shape(("size",), {"degree": None}, _random_count, _random),
}
