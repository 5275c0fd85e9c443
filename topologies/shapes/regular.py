"""Shapes without random choices: line, ring, star, tree, grid, torus, full.

Drafts place their routers, so that a drawing shows what the shape is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from random import Random

from topologies.map import Point
from topologies.shapes.kind import Draft, Edge, Given, Parameter, Shape, size

CORE, EDGE = ("core",), ("edge",)


def on_circle(count: int, first: int = 0) -> dict[int, Point]:
    """So many points on a circle around the origin, clockwise from the top."""
    turn = 2 * math.pi / max(count, 1)
    return {first + i: (math.sin(i * turn), -math.cos(i * turn)) for i in range(count)}


def _line(given: Given, _rng: Random) -> Draft:
    n = given["size"]
    ends = {0: ("end",), n - 1: ("end",)}
    return Draft(n, [(i, i + 1) for i in range(n - 1)], tags=ends, at={i: (i, 0.0) for i in range(n)})


def _ring(given: Given, _rng: Random) -> Draft:
    n = given["size"]
    if n < 3:
        raise ValueError("a ring has at least 3 routers")
    return Draft(n, [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)], at=on_circle(n))


def _star(given: Given, _rng: Random) -> Draft:
    n = given["size"]
    tags = {0: CORE, **dict.fromkeys(range(1, n), EDGE)}
    return Draft(n, [(0, i) for i in range(1, n)], tags=tags, at={0: (0.0, 0.0), **on_circle(n - 1, 1)})


def _tree(given: Given, _rng: Random) -> Draft:
    n, branching = given["size"], given["branching"]
    edges = [((i - 1) // branching, i) for i in range(1, n)]
    inner = {a for a, _ in edges}
    tags = {i: CORE if i in inner else EDGE for i in range(n)}
    return Draft(n, edges, tags=tags, at=_levels(n, branching))


def _levels(n: int, branching: int) -> dict[int, Point]:
    """Leaves side by side, each parent over the middle of its children."""
    depth = [0] * n
    for i in range(1, n):
        depth[i] = depth[(i - 1) // branching] + 1
    x: dict[int, float] = {}
    free = itertools.count()
    children: dict[int, list[int]] = {i: [] for i in range(n)}
    for i in range(1, n):
        children[(i - 1) // branching].append(i)
    # In depth-first order from the left, so that neighbouring leaves are neighbours.
    for i in _preorder(children):
        if not children[i]:
            x[i] = float(next(free))
    for i in reversed(range(n)):
        if children[i]:
            x[i] = (x[children[i][0]] + x[children[i][-1]]) / 2
    return {i: (x[i], 1.6 * depth[i]) for i in range(n)}


def _preorder(children: Mapping[int, list[int]]) -> list[int]:
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(children[node])
    return order


def _grid(given: Given, _rng: Random) -> Draft:
    width, height = given["width"], given["height"]
    tags = {i: ("border",) if _on_border(i, width, height) else ("inner",) for i in range(width * height)}
    return Draft(width * height, _mesh(width, height), tags=tags, at=_cells(width, height))


def _torus(given: Given, _rng: Random) -> Draft:
    width, height = given["width"], given["height"]
    if min(width, height) < 3:
        raise ValueError("a torus has at least 3 columns and 3 rows: with two, links would be parallel")
    rows = [(y * width, y * width + width - 1) for y in range(height)]
    columns = [(x, (height - 1) * width + x) for x in range(width)]
    tags = dict.fromkeys([*rows, *columns], ("wrap",))
    edges = _mesh(width, height) + rows + columns
    return Draft(width * height, edges, at=_cells(width, height), edge_tags=tags)


def _mesh(width: int, height: int) -> list[Edge]:
    across = [(y * width + x, y * width + x + 1) for y in range(height) for x in range(width - 1)]
    down = [(y * width + x, y * width + x + width) for y in range(height - 1) for x in range(width)]
    return across + down


def _on_border(i: int, width: int, height: int) -> bool:
    y, x = divmod(i, width)
    return x in (0, width - 1) or y in (0, height - 1)


def _cells(width: int, height: int) -> dict[int, Point]:
    return {i: (float(i % width), float(i // width)) for i in range(width * height)}


def _full(given: Given, _rng: Random) -> Draft:
    n = given["size"]
    return Draft(n, list(itertools.combinations(range(n), 2)), at=on_circle(n))


_SIDES = (
    Parameter("width", "how many columns", 1, 256, required=True),
    Parameter("height", "how many rows", 1, 256, required=True),
)
_TORUS_SIDES = (
    Parameter("width", "how many columns", 3, 256, required=True),
    Parameter("height", "how many rows", 3, 256, required=True),
)
_BRANCHING = Parameter("branching", "how many children each router has", 1, 1000, 2)

SHAPES: Mapping[str, Shape] = {
    "line": Shape("each joined to the next", (size(),), lambda p: (p["size"], p["size"] - 1), _line),
    "ring": Shape(
        "a line whose ends are joined; at least 3", (size(),), lambda p: (p["size"], p["size"]), _ring
    ),
    "star": Shape("the first joined to all others", (size(),), lambda p: (p["size"], p["size"] - 1), _star),
    "tree": Shape(
        "a root, filled level by level",
        (size(), _BRANCHING),
        lambda p: (p["size"], p["size"] - 1),
        _tree,
    ),
    "grid": Shape(
        "rows and columns, numbered row by row",
        _SIDES,
        lambda p: (p["width"] * p["height"], 2 * p["width"] * p["height"] - p["width"] - p["height"]),
        _grid,
    ),
    "torus": Shape(
        "a grid whose rows and columns are rings",
        _TORUS_SIDES,
        lambda p: (p["width"] * p["height"], 2 * p["width"] * p["height"]),
        _torus,
    ),
    "full": Shape(
        "each joined to each", (size(),), lambda p: (p["size"], p["size"] * (p["size"] - 1) // 2), _full
    ),
}
