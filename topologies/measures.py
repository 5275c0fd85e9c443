"""The properties of a map in numbers: degrees, distances, weak points, delays.

Exact, by a breadth-first search from each router; above `EXACT_UP_TO` routers, the
searches start from some of them, evenly chosen, and `exact` says so.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import networkx as nx

from topologies.map import Map

EXACT_UP_TO = 2_000


@dataclass(frozen=True, slots=True)
class Measures:
    """Numbers about one map."""

    nodes: int
    links: int
    degrees: Mapping[int, int]
    """How many routers have a degree, in order of the degree."""
    diameter: int
    """The most links between two routers on a shortest path."""
    average_path: float
    """The mean number of links between two routers."""
    exact: bool
    """Whether every router's distances are counted."""
    bridges: tuple[str, ...]
    """Links without which the map falls into pieces, in order of the map."""
    cut_nodes: tuple[str, ...]
    """Routers without which it does."""
    tags: Mapping[str, int]
    """How many routers have a tag."""
    delays_ms: tuple[float, float, float] | None
    """The least, the median and the greatest delay of its links; None if none is known."""
    without_delay: int
    """Links whose delay is not known."""
    farthest_ms: float | None
    """The delay between the two routers that are farthest apart by delay; None unless all links have one."""

    @property
    def mean_degree(self) -> float:
        """Of a router."""
        return 2 * self.links / self.nodes


def measured(drawn: Map) -> Measures:
    """The numbers of a map in one piece."""
    graph = _graph(drawn)
    delays = sorted(link.delay_ns / 1e6 for link in drawn.links if link.delay_ns is not None)
    some = _some([node.name for node in drawn.nodes])
    hops = [nx.single_source_shortest_path_length(graph, name) for name in some]
    pairs = sum(len(found) - 1 for found in hops)
    return Measures(
        nodes=len(drawn.nodes),
        links=len(drawn.links),
        degrees=dict(sorted(Counter(degree for _, degree in graph.degree).items())),
        diameter=max((max(found.values()) for found in hops), default=0),
        average_path=sum(sum(found.values()) for found in hops) / pairs if pairs else 0.0,
        exact=len(some) == len(drawn.nodes),
        bridges=_bridges(drawn, graph),
        cut_nodes=_cut_nodes(drawn, graph),
        tags=dict(sorted(Counter(tag for node in drawn.nodes for tag in node.tags).items())),
        delays_ms=(delays[0], statistics.median(delays), delays[-1]) if delays else None,
        without_delay=len(drawn.links) - len(delays),
        farthest_ms=_farthest_ms(graph, some) if delays and len(delays) == len(drawn.links) else None,
    )


def _graph(drawn: Map) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(node.name for node in drawn.nodes)
    graph.add_edges_from((link.a, link.b, {"delay": link.delay_ns or 0}) for link in drawn.links)
    return graph


def _some(names: list[str]) -> list[str]:
    return names if len(names) <= EXACT_UP_TO else names[:: len(names) // 200]


def _bridges(drawn: Map, graph: nx.Graph[str]) -> tuple[str, ...]:
    found = {frozenset(ends) for ends in nx.bridges(graph)} if drawn.links else set()
    return tuple(link.name for link in drawn.links if frozenset((link.a, link.b)) in found)


def _cut_nodes(drawn: Map, graph: nx.Graph[str]) -> tuple[str, ...]:
    found = set(nx.articulation_points(graph))
    return tuple(node.name for node in drawn.nodes if node.name in found)


def _farthest_ms(graph: nx.Graph[str], some: list[str]) -> float:
    return (
        float(
            max(max(nx.single_source_dijkstra_path_length(graph, n, weight="delay").values()) for n in some)
        )
        / 1e6
    )
