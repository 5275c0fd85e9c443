"""What is to be marked: trees, who publishes and subscribes, and what each link would carry (MM 3.1; K1).

A link is directed, as data goes: (from, to). A tree is given as the node before each
node. Of a publisher's tree only the part counts that leads to subscribers. Per-source
trees may be any; on a shared tree every publisher has the same undirected tree, seen
from itself (`shared_tree`).

Not here: markings (`marking`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

Node = int | str
"""By number or by name, one or the other for all nodes of a problem."""
Link = tuple[Node, Node]
"""(from, to), in the direction of the data."""
Tree = Mapping[Node, Node]
"""The node before each node but the root."""
Rates = Mapping[Node, float]
"""By node: how many content descriptors it has, or how many it changes in a unit of time."""


class TreeError(ValueError):
    """A tree does not lead from its publisher to a subscriber."""


@dataclass(frozen=True)
class Problem:
    """An instance of the Min-Cost Matchmaker problem.

    Args:
        publishers: f, how many descriptors each publisher publishes.
        subscribers: g, how many each subscriber is interested in.
        trees: T_x of each publisher x. It may lead further than to subscribers.
    """

    publishers: Rates
    subscribers: Rates
    trees: Mapping[Node, Tree]

    def path(self, publisher: Node, subscriber: Node) -> list[Link]:
        """The links from a publisher to a subscriber, in order; none if they are one node.

        Raises:
            TreeError: The publisher's tree does not lead there.
        """
        return [*_upwards(self.trees[publisher], publisher, subscriber)][::-1]

    @cached_property
    def used(self) -> Mapping[Node, Mapping[Link, None]]:
        """The links of each publisher's tree that lead to subscribers, as ordered sets."""
        return {x: dict.fromkeys(self._used(x)) for x in self.publishers}

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """T: those within at least one tree, in a fixed order."""
        return tuple(sorted(set[Link]().union(*self.used.values())))

    @cached_property
    def publication(self) -> Mapping[Link, float]:
        """What each link carries if all are p-links: the descriptors of all publishers that use it."""
        found = dict.fromkeys(self.links, 0.0)
        for x, links in self.used.items():
            for link in links:
                found[link] += self.publishers[x]
        return found

    @cached_property
    def subscription(self) -> Mapping[Link, float]:
        """What each link carries if all are s-links: the descriptors of all subscribers beyond it."""
        masks = dict.fromkeys(self.links, 0)
        for x in self.publishers:
            for link, mask in self._beyond(x).items():
                masks[link] |= mask
        rates = [*self.subscribers.values()]
        return {link: sum_of(rates, mask) for link, mask in masks.items()}

    @cached_property
    def below(self) -> Mapping[Link, tuple[Link, ...]]:
        """The links that follow a link directly in some tree; what is downstream is their closure."""
        found: dict[Link, dict[Link, None]] = {link: {} for link in self.links}
        for x, links in self.used.items():
            tree = self.trees[x]
            for link in links:
                if link[0] != x:
                    found[tree[link[0]], link[0]][link] = None
        return {link: tuple(after) for link, after in found.items()}

    def _beyond(self, publisher: Node) -> Mapping[Link, int]:
        """The subscribers beyond each link of a tree, as a mask of their positions."""
        tree, found = self.trees[publisher], dict[Link, int]()
        for position, subscriber in enumerate(self.subscribers):
            for link in _upwards(tree, publisher, subscriber):
                found[link] = found.get(link, 0) | 1 << position
        return found

    def _used(self, publisher: Node) -> Iterator[Link]:
        tree, reached = self.trees[publisher], {publisher}
        for subscriber in self.subscribers:
            for link in _upwards(tree, publisher, subscriber):
                if link[1] in reached:
                    break
                reached.add(link[1])
                yield link


def shared_tree(links: Iterable[Link], publishers: Iterable[Node]) -> dict[Node, Tree]:
    """The trees of publishers over one tree that all share, given by its undirected links."""
    beside: dict[Node, list[Node]] = {}
    for a, b in links:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    return {x: _rooted(beside, x) for x in publishers}


def sum_of(rates: list[float], mask: int) -> float:
    """The rates at the positions of a mask's bits."""
    total = 0.0
    while mask:
        low = mask & -mask
        total += rates[low.bit_length() - 1]
        mask ^= low
    return total


def _rooted(beside: Mapping[Node, list[Node]], root: Node) -> Tree:
    before: dict[Node, Node] = {}
    waiting = [root]
    for node in waiting:
        for other in beside.get(node, ()):
            if other != root and other not in before:
                before[other] = node
                waiting.append(other)
    return before


def _upwards(tree: Tree, root: Node, node: Node) -> Iterator[Link]:
    """The links on the way back to the root."""
    steps = 0
    while node != root:
        if node not in tree or steps > len(tree):
            raise TreeError(f"the tree of {root} does not lead to {node}")
        yield tree[node], node
        node, steps = tree[node], steps + 1
