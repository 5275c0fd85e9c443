"""The fat tree of data centres: k pods of k switches under (k/2)^2 core switches.

Each pod has k/2 aggregation and k/2 edge switches, each of one kind joined to each
of the other; the i-th aggregation switch of every pod is joined to the i-th group
of k/2 core switches. Hosts are not part of it: clients take their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from topologies.map import Point
from topologies.shapes.kind import Draft, Edge, Given, Parameter, Shape


def _draft(given: Given, _rng: Random) -> Draft:
    k = given["k"]
    if k % 2:
        raise ValueError(f"k is {k}; expected an even number: half of a switch's ports go up, half down")
    half, cores = k // 2, (k // 2) ** 2
    edges: list[Edge] = []
    labels = {i: f"core {i + 1}" for i in range(cores)}
    tags: dict[int, tuple[str, ...]] = dict.fromkeys(range(cores), ("core",))
    for pod in range(k):
        first = cores + pod * k
        for i in range(half):
            up, down = first + i, first + half + i
            labels |= {up: f"agg {pod + 1}.{i + 1}", down: f"edge {pod + 1}.{i + 1}"}
            tags |= {up: ("aggregation", f"pod-{pod + 1}"), down: ("edge", f"pod-{pod + 1}")}
            edges += [(i * half + c, up) for c in range(half)]
            edges += [(up, first + half + e) for e in range(half)]
    return Draft(
        cores + k * k, edges, labels=labels, tags=tags, at=_levels(k), edge_tags=_kinds(edges, cores)
    )


def _kinds(edges: list[Edge], cores: int) -> dict[Edge, tuple[str, ...]]:
    return {edge: ("core",) if edge[0] < cores else ("pod",) for edge in edges}


def _levels(k: int) -> dict[int, Point]:
    half, cores = k // 2, (k // 2) ** 2
    width = k * (half + 0.5) - 0.5
    at = {i: ((i + 0.5) * width / cores, 0.0) for i in range(cores)}
    for pod in range(k):
        for i in range(half):
            x = pod * (half + 0.5) + i + 0.5
            at |= {cores + pod * k + i: (x, 0.22 * width), cores + pod * k + half + i: (x, 0.4 * width)}
    return at


SHAPES: Mapping[str, Shape] = {
    "fat-tree": Shape(
        "the data centre's: k pods under (k/2)^2 core switches",
        (Parameter("k", "ports of a switch, an even number", 2, 64, required=True),),
        lambda p: (5 * p["k"] ** 2 // 4, p["k"] ** 3 // 2),
        _draft,
    ),
}
