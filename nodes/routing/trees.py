"""Shortest-path trees that all routers agree on (RTE 2, E7).

The paper's reverse paths need symmetric trees: the path from u to v must be the
path from v to u, at every router, also where costs are equal. So beside its
cost a link has a 64-bit hash of its two ends, the same at both ends and
everywhere. Paths are compared by the sums of costs, then of hashes: as if a
link's weight were its cost times 2^96 plus its hash. The shortest path between
two nodes is then unique and is its own reverse.

It follows that w is a child of u in the tree of v exactly if w's first hop
towards v is u: a router that wants no more needs the trees of itself and its
neighbours. Schemes that tell sources apart by what lies below a node (RTE 3.1,
3.2) need all trees. They are computed in the kernel (`fastpath.trees`), each
when first asked for. Topologies are interned: all routers of a process that see
the same network share one object and its trees.

Not here: where the topology comes from (`linkstate`).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple
from weakref import WeakValueDictionary

from fastpath.trees import Forest

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


class Group(NamedTuple):
    """Sources that are indistinguishable from the viewpoint of a node u (RTE 3.2, T3)."""

    sources: tuple[int, ...]
    below: tuple[int, ...]
    """What is below u in the tree of each of them: T_v/u without u."""


class Topology:
    """An immutable connected graph and its trees, computed when first asked for."""

    def __init__(self, nodes: tuple[int, ...], edges: tuple[Edge, ...]) -> None:
        self.nodes = nodes
        self.edges = edges
        self._position = {node: position for position, node in enumerate(nodes)}

    @classmethod
    def around(cls, node: int, edges: Iterable[Edge]) -> Topology:
        """The part of a graph that is connected with a node; equal parts are one object."""
        edges = [*edges]
        neighbours: dict[int, list[int]] = {node: []}
        for a, b, _ in edges:
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
        reached = _reach(node, neighbours)
        kept = {edge for edge in edges if edge[0] in reached}
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

    def first_hops(self, node: int) -> dict[int, int]:
        """The neighbour on the path from a node to each other node: the unicast next hop."""
        nodes = self.nodes
        hops = self._forest.first_hops(self._position[node])
        return {other: nodes[hop] for other, hop in zip(nodes, hops, strict=True) if other != node}

    def children(self, node: int) -> Mapping[int, list[int]]:
        """child_node(v) for every source v (RTE 3.1): its children, ascending, in the tree of each source."""
        nodes = self.nodes
        found = self._forest.children(self._position[node])
        return {source: [nodes[w] for w in below] for source, below in zip(nodes, found, strict=True)}

    def groups(self, node: int) -> list[Group]:
        """All sources, grouped by whether they are indistinguishable at a node.

        RTE 3.2 asks for the same children and the same descendants of each child. As paths are
        unique, the child above a descendant is the node's own next hop to it, whatever the source:
        the same descendants are enough.
        """
        found = self._forest.groups(self._position[node])
        return [Group(self._named(sources), self._named(below)) for sources, below in found]

    def rewrites(self, node: int) -> set[int]:
        """The sources v for which R_u(I_u(v)) = 1 at this node u (RTE 3.2, E12).

        These are the sources that, to every node below u in their trees, are indistinguishable from u.
        """
        may = self._forest.rewrites(self._position[node])
        return {source for source, yes in zip(self.nodes, may, strict=True) if yes}

    def headers(self, node: int) -> dict[int, int]:
        """By source: the header under which its messages arrive at a node if all rewrite it that may.

        The last node before it for which R = 1, or the source (RTE 3.2; the origin sends Init, E10).
        """
        found = self._forest.headers(self._position[node])
        return dict(zip(self.nodes, self._named(found), strict=True))

    def neighbours(self, node: int) -> list[int]:
        """The nodes joined to a node by a link, ascending."""
        return list(self._neighbours[node])

    def path(self, source: int, target: int) -> list[int]:
        """The nodes from source to target."""
        return list(self._named(self._forest.path(self._position[source], self._position[target])))

    @cached_property
    def _forest(self) -> Forest:
        position = self._position
        return Forest(
            len(self.nodes), [(position[a], position[b], cost, mix(a, b)) for a, b, cost in self.edges]
        )

    @cached_property
    def _neighbours(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, set[int]] = {node: set() for node in self.nodes}
        for a, b, _ in self.edges:
            found[a].add(b)
            found[b].add(a)
        return {node: tuple(sorted(others)) for node, others in found.items()}

    def _named(self, positions: Iterable[int]) -> tuple[int, ...]:
        nodes = self.nodes
        return tuple([nodes[position] for position in positions])


_interned: WeakValueDictionary[tuple[tuple[int, ...], tuple[Edge, ...]], Topology] = WeakValueDictionary()


def _reach(start: int, neighbours: Mapping[int, list[int]]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        for other in neighbours[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached
