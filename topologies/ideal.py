"""The ideal delivery tree: the smallest among the latency-minimal (RTE 2.3, T1, E8).

A tree is latency-minimal if it reaches every destination over a shortest path.
The smallest has the fewest links: each link is a packet. Where shortest paths
are unique it is the union of the paths, which is what PSF does; where they are
not, PSF takes one of the equals without asking which would be shared.

To find it is to find a Steiner arborescence in the graph of all links that lie
on shortest paths. Most of it decides itself. A node that must be reached and has
one predecessor takes it, and that must then be reached as well; one with a
predecessor that must be reached takes that. What is left falls into parts that
have no undecided node in common, and each is solved by dynamic programming over
the subsets of its nodes to be reached. A part with more of these than asked for
is approximated, the nearest node first, and the result is marked as not exact.

Pure graph code: costs are positive numbers, links are alike in both directions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Node = int | str
Edge = tuple[Node, Node, float]
Link = tuple[Node, Node]
"""(from, to)."""
EXACT_UP_TO = 10


@dataclass(frozen=True, slots=True)
class DeliveryTree:
    """Links from a source to destinations."""

    links: tuple[Link, ...]
    exact: bool
    """Whether it is certainly the smallest; it is latency-minimal in any case."""

    @property
    def size(self) -> int:
        """How many packets it takes."""
        return len(self.links)


def ideal_tree(
    edges: Iterable[Edge], source: Node, destinations: Iterable[Node], exact_up_to: int = EXACT_UP_TO
) -> DeliveryTree:
    """The ideal tree of one message; to ask for several of one source, keep its `ShortestPaths`."""
    return ShortestPaths(edges, source).ideal(destinations, exact_up_to)


class ShortestPaths:
    """All shortest paths from one source.

    Raises:
        ValueError: A cost is not positive.
    """

    def __init__(self, edges: Iterable[Edge], source: Node) -> None:
        self.source = source
        self._links: dict[Node, list[tuple[Node, float]]] = {source: []}
        for a, b, cost in edges:
            if cost <= 0:
                raise ValueError(f"the link {a}-{b} has the cost {cost}; expected more than 0")
            self._links.setdefault(a, []).append((b, cost))
            self._links.setdefault(b, []).append((a, cost))
        self.distance = self._distances()
        self._rank = {node: rank for rank, node in enumerate(self.distance)}
        self._before = {node: self._predecessors(node) for node in self.distance}

    def ideal(self, destinations: Iterable[Node], exact_up_to: int = EXACT_UP_TO) -> DeliveryTree:
        """The ideal tree to some destinations.

        Args:
            destinations: Whom to reach; the source may be among them.
            exact_up_to: Up to how many undecided nodes of a part are solved exactly; the time
                grows with the third power of two of it.

        Raises:
            ValueError: One of them cannot be reached.
        """
        wanted = [*dict.fromkeys(destinations)]
        if lost := [node for node in wanted if node not in self.distance]:
            raise ValueError(f"there is no path from {self.source} to {', '.join(map(str, lost))}")
        links, reached, undecided = self._decided(wanted)
        exact = True
        for part in self._parts(reached, undecided):
            exact &= len(part.open) <= exact_up_to
            links += part.solved() if len(part.open) <= exact_up_to else part.approximated()
        return DeliveryTree(tuple(sorted(links, key=lambda link: self._rank[link[1]])), exact)

    def _distances(self) -> dict[Node, float]:
        """By node, nearest first."""
        found: dict[Node, float] = {}
        order = {node: position for position, node in enumerate(self._links)}
        heap = [(0.0, order[self.source], self.source)]
        while heap:
            length, _, node = heapq.heappop(heap)
            if node not in found:
                found[node] = length
                for to, cost in self._links[node]:
                    heapq.heappush(heap, (length + cost, order[to], to))
        return found

    def _predecessors(self, node: Node) -> tuple[Node, ...]:
        return tuple(
            dict.fromkeys(
                before
                for before, cost in self._links[node]
                if self.distance[before] + cost == self.distance[node]
            )
        )

    def _decided(self, wanted: list[Node]) -> tuple[list[Link], set[Node], list[Node]]:
        """Links that are in the tree for sure, nodes that are, and those of them that still lack a link."""
        links: list[Link] = []
        reached, waiting, several = {self.source}, sorted(-self._rank[node] for node in wanted), []
        by_rank = list(self._rank)
        while waiting:
            node = by_rank[-heapq.heappop(waiting)]
            if node in reached:
                continue
            reached.add(node)
            before = self._before[node]
            if len(before) == 1:
                links.append((before[0], node))
                heapq.heappush(waiting, -self._rank[before[0]])
            else:
                several.append(node)
        undecided = []
        for node in several:
            at_hand = next((before for before in self._before[node] if before in reached), None)
            if at_hand is None:
                undecided.append(node)
            else:
                links.append((at_hand, node))
        return links, reached, undecided

    def _parts(self, reached: set[Node], undecided: list[Node]) -> list[_Part]:
        """The undecided nodes with all nodes that may lie before them, apart where these differ."""
        parts: list[_Part] = []
        for node in undecided:
            part = self._behind(node, reached)
            touching = [other for other in parts if not part.between.isdisjoint(other.between)]
            parts = [other for other in parts if other not in touching]
            for other in touching:
                part.open += other.open
                part.between |= other.between
                part.roots |= other.roots
            parts.append(part)
        return parts

    def _behind(self, node: Node, reached: set[Node]) -> _Part:
        part, waiting = _Part(self._before, self._rank, [node]), [node]
        while waiting:
            for before in self._before[waiting.pop()]:
                if before in reached:
                    part.roots.add(before)
                elif before not in part.between:
                    part.between.add(before)
                    waiting.append(before)
        return part


@dataclass(eq=False, slots=True)
class _Part:
    """Nodes to be reached from any of some roots, over nodes between."""

    before: Mapping[Node, tuple[Node, ...]]
    rank: Mapping[Node, int]
    open: list[Node]
    between: set[Node] = field(default_factory=set)
    roots: set[Node] = field(default_factory=set)

    def solved(self) -> list[Link]:
        """The fewest links, by dynamic programming over subsets (Dreyfus and Wagner)."""
        between = sorted(self.between, key=self.rank.__getitem__, reverse=True)
        roots = sorted(self.roots, key=self.rank.__getitem__)
        after: dict[Node, list[Node]] = {node: [] for node in (*between, *roots)}
        for node in (*self.open, *between):
            for before in self.before[node]:
                after[before].append(node)
        best = {node: _Best({1 << position: 0}) for position, node in enumerate(self.open)}
        for node in between:
            best[node] = _Best.of([(to, best[to], 1) for to in after[node]])
        # No link leads from a root to another, nor to an open node: those have been decided.
        from_roots = {root: _Best.of([(to, best[to], 1) for to in after[root]]) for root in roots}
        whole = _Best.of([(root, from_roots[root], 0) for root in roots])
        everything = (1 << len(self.open)) - 1
        return [
            link
            for root, subset in whole.steps(everything)
            for link in _links(root, from_roots[root], subset, best)
        ]

    def approximated(self) -> list[Link]:
        """Few links: repeatedly add the node that is nearest to those already reached."""
        reached, links, missing = {*self.roots}, list[Link](), list(self.open)
        while missing:
            paths = [self._path_back(node, reached) for node in missing]
            nearest = min(range(len(paths)), key=lambda at: len(paths[at]))
            links += paths[nearest]
            reached.update(to for _, to in paths[nearest])
            del missing[nearest]
        return links

    def _path_back(self, node: Node, reached: set[Node]) -> list[Link]:
        """The fewest links from the reached nodes to a node."""
        came: dict[Node, Node] = {}
        waiting = [node]
        for at in waiting:
            if at in reached and at != node:
                return list(_chain(at, came))
            for before in self.before[at]:
                if before not in came:
                    came[before] = at
                    waiting.append(before)
        raise AssertionError("there is a path to every node")


def _chain(first: Node, after: Mapping[Node, Node]) -> Iterator[Link]:
    at = first
    while at in after:
        yield at, after[at]
        at = after[at]


def _links(at: Node, best_there: _Best, subset: int, best: Mapping[Node, _Best]) -> Iterator[Link]:
    for to, part in best_there.steps(subset):
        yield at, to
        yield from _links(to, best[to], part, best)


@dataclass(slots=True)
class _Best:
    """For a node: what it takes to reach each subset of the open nodes from there, and how."""

    cost: dict[int, int]
    next: dict[int, Node] = field(default_factory=dict)
    """The node to go on to, for subsets that are best reached through one."""
    split: dict[int, int] = field(default_factory=dict)
    """A part of the subset, where it is best reached apart from the rest."""

    @classmethod
    def of(cls, ways: list[tuple[Node, _Best, int]]) -> _Best:
        """By the nodes that follow: (node, what can be reached from it, the cost of the link to it)."""
        best = cls({})
        for node, there, step in ways:
            for subset, cost in there.cost.items():
                if subset not in best.cost or cost + step < best.cost[subset]:
                    best.cost[subset], best.next[subset] = cost + step, node
        if len(ways) > 1:
            best._unite()
        return best

    def steps(self, subset: int) -> Iterator[tuple[Node, int]]:
        """The nodes to go on to, and the part of the subset to be reached through each."""
        if subset in self.split:
            yield from self.steps(self.split[subset])
            yield from self.steps(subset ^ self.split[subset])
        elif subset in self.next:
            yield self.next[subset], subset

    def _unite(self) -> None:
        reach = 0
        for subset in self.cost:
            reach |= subset
        subset = 0
        while subset := (subset - reach) & reach:  # ascending: parts come before the whole
            part = (subset - 1) & subset
            while part > subset ^ part:
                self._try(subset, part)
                part = (part - 1) & subset

    def _try(self, subset: int, part: int) -> None:
        rest = subset ^ part
        if part in self.cost and rest in self.cost:
            cost = self.cost[part] + self.cost[rest]
            if subset not in self.cost or cost < self.cost[subset]:
                self.cost[subset], self.split[subset] = cost, part
