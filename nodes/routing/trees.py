"""Shortest-path trees that all routers agree on (RTE 2, E7).

The paper's reverse paths need symmetric trees: the path from u to v must be the
path from v to u, at every router, also where costs are equal. So a link's
weight is its cost times 2^96 plus a 64-bit hash of its two ends, the same at
both ends and everywhere; paths of equal cost then differ in their hashes, and
the shortest path between two nodes is unique and is its own reverse.

It follows that w is a child of u in the tree of v exactly if w's first hop
towards v is u. A router therefore needs the trees of itself and its neighbours,
not of all sources. Topologies are interned: all routers of a process that see
the same network share one object and each tree is computed once.

Not here: where the topology comes from (`linkstate`).
"""

from __future__ import annotations

import hashlib
import heapq
import struct
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

COST_SHIFT = 96
MASK = (1 << 64) - 1

Edge = tuple[int, int, int]
"""(lesser id, greater id, cost)."""


def mix(a: int, b: int) -> int:
    """A 64-bit hash of a link's two ends, the same from both (splitmix64's finalizer)."""
    low, high = (a, b) if a < b else (b, a)
    z = (((low << 32) | high) + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def weight(a: int, b: int, cost: int) -> int:
    """The agreed weight of a link."""
    return (cost << COST_SHIFT) | mix(a, b)


@dataclass(frozen=True, slots=True)
class Tree:
    """The shortest-path tree of one root, by position of the nodes in `Topology.nodes`."""

    parent: array[int]
    """The node before this one on the path from the root; 0 at the root."""
    first_hop: array[int]
    """The node after the root on the path to this one; 0 at the root."""


class Topology:
    """An immutable connected graph and its trees, computed when first asked for."""

    def __init__(self, nodes: tuple[int, ...], edges: tuple[Edge, ...]) -> None:
        self.nodes = nodes
        self.edges = edges
        self._position = {node: position for position, node in enumerate(nodes)}
        self._links: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for a, b, cost in edges:
            self._links[self._position[a]].append((self._position[b], weight(a, b, cost)))
            self._links[self._position[b]].append((self._position[a], weight(a, b, cost)))
        self._trees: dict[int, Tree] = {}

    @classmethod
    def around(cls, node: int, edges: Iterable[Edge]) -> Topology:
        """The part of a graph that is connected with a node; equal parts are one object."""
        neighbours: dict[int, list[Edge]] = {node: []}
        for edge in edges:
            for end in edge[:2]:
                neighbours.setdefault(end, []).append(edge)
        reached = _reach(node, neighbours)
        kept = {edge for end in reached for edge in neighbours[end]}
        return cls.intern(tuple(sorted(reached)), tuple(sorted(kept)))

    @classmethod
    def intern(cls, nodes: tuple[int, ...], edges: tuple[Edge, ...]) -> Topology:
        """The one object for this graph."""
        found = _interned.get((nodes, edges))
        if found is None:
            found = _interned[nodes, edges] = cls(nodes, edges)
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 over nodes and edges."""
        canonical = hashlib.sha256(struct.pack(f">I{len(self.nodes)}I", len(self.nodes), *self.nodes))
        for edge in self.edges:
            canonical.update(struct.pack(">III", *edge))
        return canonical.hexdigest()

    def tree(self, root: int) -> Tree:
        """T_root: the shortest-path tree of a node."""
        found = self._trees.get(root)
        if found is None:
            found = self._trees[root] = self._dijkstra(self._position[root])
        return found

    def first_hops(self, node: int) -> dict[int, int]:
        """The neighbour on the path from a node to each other node: the unicast next hop."""
        hops = self.tree(node).first_hop
        return {other: hop for other, hop in zip(self.nodes, hops, strict=True) if hop}

    def children(self, node: int) -> Mapping[int, list[int]]:
        """child_node(v) for every source v (RTE 3.1): its children, ascending, in the tree of each source."""
        found: dict[int, list[int]] = {source: [] for source in self.nodes}
        for neighbour in self.neighbours(node):
            for source, hop in zip(self.nodes, self.tree(neighbour).first_hop, strict=True):
                if hop == node:
                    found[source].append(neighbour)
        return found

    def neighbours(self, node: int) -> list[int]:
        """The nodes joined to a node by a link, ascending."""
        return sorted(self.nodes[position] for position, _ in self._links[self._position[node]])

    def path(self, source: int, target: int) -> list[int]:
        """The nodes from source to target."""
        parent, path = self.tree(source).parent, [target]
        while path[-1] != source:
            path.append(parent[self._position[path[-1]]])
        return path[::-1]

    def _dijkstra(self, root: int) -> Tree:
        links, nodes = self._links, self.nodes
        parent, first_hop = array("L", bytes(8 * len(nodes))), array("L", bytes(8 * len(nodes)))
        distance: list[int | None] = [None] * len(nodes)
        distance[root] = 0
        heap = [(0, root)]
        while heap:
            length, at = heapq.heappop(heap)
            if length != distance[at]:
                continue
            hop = first_hop[at]
            for to, step in links[at]:
                known = distance[to]
                if known is None or length + step < known:
                    distance[to] = length + step
                    parent[to] = nodes[at]
                    first_hop[to] = hop or nodes[to]
                    heapq.heappush(heap, (length + step, to))
        return Tree(parent, first_hop)


_interned: WeakValueDictionary[tuple[tuple[int, ...], tuple[Edge, ...]], Topology] = WeakValueDictionary()


def _reach(start: int, edges: Mapping[int, list[Edge]]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        for a, b, _ in edges[at]:
            other = b if a == at else a
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached
