"""Topologies made by rule: routers r1, r2, ... and the links between them.

Links come in a fixed order, each from the lower to the higher number, so that
addresses and interface names are the same every time. Here: all shapes by name,
and the way from numbers to a map. Not here: the shapes (`shapes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from topologies.map import Map, MapLink, MapNode, sorted_tags
from topologies.shapes import fat_tree, random_graphs, regular, scale_free, transit_stub
from topologies.shapes.kind import Draft, Shape

SHAPES: Mapping[str, Shape] = {
    **regular.SHAPES,
    **fat_tree.SHAPES,
    **random_graphs.SHAPES,
    **scale_free.SHAPES,
    **transit_stub.SHAPES,
}


def make_map(shape: str, parameters: Mapping[str, Any], seed: int) -> Map:
    """A topology of a shape; `seed` matters to those that are drawn.

    Raises:
        ValueError: The parameters do not go together.
    """
    kind = SHAPES[shape]
    draft = kind.draft(kind.complete(parameters), Random(f"{seed}/topology"))
    shown = "".join(f", {name} {value}" for name, value in parameters.items())
    title = f"{shape}{shown}" + (f", seed {seed}" if kind.drawn else "")
    return _named(draft, shape, title)


def generate(shape: str, parameters: Mapping[str, Any], seed: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The routers and links of a shape, by their names alone.

    Raises:
        ValueError: The parameters do not go together.
    """
    made = make_map(shape, parameters, seed)
    return [node.name for node in made.nodes], [(link.a, link.b) for link in made.links]


def extent(shape: str, parameters: Mapping[str, Any]) -> tuple[int, int]:
    """How many routers and links these parameters ask for (about, if drawn one by one), without making them.

    Raises:
        ValueError: A parameter is missing or out of its limits.
    """
    kind = SHAPES[shape]
    return kind.extent(kind.complete(parameters))


def _named(draft: Draft, name: str, title: str) -> Map:
    nodes = tuple(
        MapNode(
            f"r{i + 1}",
            label=draft.labels.get(i, ""),
            at=draft.at.get(i),
            tags=sorted_tags(draft.tags.get(i, ())),
        )
        for i in range(draft.size)
    )
    links = tuple(
        MapLink(
            f"r{a + 1}",
            f"r{b + 1}",
            delay_ns=draft.delays_ns.get((a, b)),
            tags=sorted_tags(draft.edge_tags.get((a, b), ())),
        )
        for a, b in sorted(draft.edges)
    )
    return Map(name, nodes, links, title=title, notes=draft.notes)
