"""Maps: routers with labels, places and tags; links with delay, rate, loss and cost.

Every way to a topology ends here: generators, importers and the library. Here
also: distances, and the delays that follow from them. Not here: what makes a
map (`generators`, `importers`, `library`), its properties (`measures`),
its drawing (`drawing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

EARTH_RADIUS_KM = 6371.0088
LIGHT_IN_FIBRE_KM_S = 299_792.458 * 2 / 3
"""Light in glass has two thirds of its speed in the void."""
LEAST_KM = 1.0
"""No fibre is shorter than this: two routers of one city are not at one point."""

Point = tuple[float, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MapNode:
    """A router of a map."""

    name: str
    """As in a scenario: a lower-case letter, then at most 8 lower-case letters, digits, dashes."""
    label: str = ""
    """What people call it; empty: the name."""
    place: Point | None = None
    """Latitude and longitude in degrees, north and east positive."""
    at: Point | None = None
    """Where a drawing shows it, x to the right and y downwards, in units of its own."""
    tags: tuple[str, ...] = ()
    """In order of the alphabet."""

    @property
    def title(self) -> str:
        """Its label, or its name if it has none."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class MapLink:
    """A link of a map; the same in both directions."""

    a: str
    b: str
    delay_ns: int | None = None
    rate_bps: int | None = None
    loss: float = 0.0
    cost: int = 1
    tags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As plans call it."""
        return f"{self.a}--{self.b}"


@dataclass(frozen=True, slots=True)
class Map:
    """A topology with the properties of its nodes and links."""

    name: str
    nodes: tuple[MapNode, ...]
    links: tuple[MapLink, ...]
    title: str = ""
    sources: tuple[str, ...] = ()
    """Where its facts are from."""
    notes: tuple[str, ...] = ()
    """What was done to make it usable, one sentence each."""

    def node(self, name: str) -> MapNode:
        """The router of a name.

        Raises:
            KeyError: There is none.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def neighbours(self) -> dict[str, list[str]]:
        """All routers with those they have a link to, in order of the links."""
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for link in self.links:
            found[link.a].append(link.b)
            found[link.b].append(link.a)
        return found

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags of its routers, in order of the alphabet."""
        return tuple(sorted({tag for node in self.nodes for tag in node.tags}))


def pieces(neighbours: Mapping[T, Sequence[T]]) -> list[list[T]]:
    """The connected pieces of a graph, largest first, of equals that of the first node first."""
    found, seen = [], set[T]()
    for first in neighbours:
        if first not in seen:
            piece = reached(neighbours, first)
            seen.update(piece)
            found.append(piece)
    return sorted(found, key=len, reverse=True)


def reached(neighbours: Mapping[T, Sequence[T]], first: T) -> list[T]:
    """What can be reached from a node, near ones first, itself among them."""
    found = {first: None}
    order = [first]
    for node in order:
        for near in neighbours[node]:
            if near not in found:
                found[near] = None
                order.append(near)
    return order


def distance_km(a: Point, b: Point) -> float:
    """The great circle between two places."""
    lat_a, lon_a, lat_b, lon_b = map(math.radians, (*a, *b))
    half = math.sin((lat_b - lat_a) / 2) ** 2
    half += math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


def delay_of_km(km: float) -> int:
    """How long light takes through a fibre of this length, rounded to microseconds, in nanoseconds."""
    return round(max(km, LEAST_KM) / LIGHT_IN_FIBRE_KM_S * 1e6) * 1000


def with_delays(drawn: Map) -> Map:
    """The map with delays from distances on all links without delay whose ends have places."""
    places = {node.name: node.place for node in drawn.nodes}
    return replace(drawn, links=tuple(_with_delay(link, places) for link in drawn.links))


def _with_delay(link: MapLink, places: dict[str, Point | None]) -> MapLink:
    a, b = places[link.a], places[link.b]
    if link.delay_ns is not None or a is None or b is None:
        return link
    return replace(link, delay_ns=delay_of_km(distance_km(a, b)))


def sorted_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as nodes and links have them: each once, in order of the alphabet."""
    return tuple(sorted(set(tags)))
