"""Which links the trees of publishers use, and how they are to be marked (MM 5.3; E18).

`Shape` follows from the network and from who publishes and subscribes, so all routers of a process that see
the same share one. What a link would cost, and what is downstream of it, is taken from it.

A link is a *cause* if it is better as an s-link by itself; those strongly connected with others are weighed
together, by the router of the least. Every link downstream of a cause is an s-link, and no other. A forced
link is no cause, so links in a ring do not keep each other as they are (decision 31).

Not here: what was announced (`matchmaker_costs`), how two ends change a mark (`matchmaker_links`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

from nodes.matchmaker.problem import Link, Node, Problem, Tree
from nodes.matchmaker.topdown import components
from nodes.routing.trees import Topology

Ends = frozenset[int]


class Shape:
    """The links within trees, who uses them, and who is beyond."""

    def __init__(self, topology: Topology, publishers: Ends, subscribers: Ends) -> None:
        self._topology = topology
        self.publishers = publishers
        self.subscribers = subscribers
        self._forcing: frozenset[Link] | None = None
        self._downstream = set[Link]()

    @classmethod
    def of(cls, topology: Topology, publishers: Ends, subscribers: Ends) -> Shape:
        """The one object for these."""
        known = _shapes.setdefault(topology, {})
        key = publishers, subscribers
        if key not in known:
            if len(known) >= KEPT:
                known.clear()
            known[key] = cls(topology, publishers, subscribers)
        return known[key]

    @cached_property
    def users(self) -> Mapping[Link, dict[int, None]]:
        """The publishers that use each link."""
        return self._ends[0]

    @cached_property
    def beyond(self) -> Mapping[Link, dict[int, None]]:
        """The subscribers that receive over it."""
        return self._ends[1]

    @cached_property
    def below(self) -> Mapping[Link, tuple[Link, ...]]:
        """The links that follow each directly, in some tree."""
        return self.problem({}, {}).below

    @cached_property
    def component(self) -> Mapping[Link, tuple[Link, ...]]:
        """What each link is strongly connected with, ascending."""
        return {
            link: found for part in components(self.below) for found in [tuple(sorted(part))] for link in part
        }

    def problem(self, f: Mapping[int, float], g: Mapping[int, float]) -> Problem:
        """The instance of the optimisation problem with these rates; who is not named has 0."""
        trees: dict[Node, Tree] = {
            x: {b: a for y in self.subscribers for a, b in pairwise(self._topology.path(x, y))}
            for x in self.publishers
        }
        rates: list[dict[Node, float]] = [
            {each: of.get(each, 0) for each in sorted(ends)}
            for ends, of in ((self.publishers, f), (self.subscribers, g))
        ]
        return Problem(rates[0], rates[1], trees)

    def forced(self, causes: Iterable[Link]) -> set[Link]:
        """The causes that are within trees, and all that is downstream of them."""
        within = frozenset(cause for cause in causes if cause in self.users)
        if within != self._forcing:
            self._forcing, self._downstream = within, self._reached(within)
        return self._downstream

    def _reached(self, causes: Iterable[Link]) -> set[Link]:
        reached = {*causes}
        waiting = [*reached]
        while waiting:
            for link in self.below[waiting.pop()]:
                if link not in reached:
                    reached.add(link)
                    waiting.append(link)
        return reached

    @cached_property
    def _ends(self) -> tuple[dict[Link, dict[int, None]], dict[Link, dict[int, None]]]:
        users: dict[Link, dict[int, None]] = {}
        beyond: dict[Link, dict[int, None]] = {}
        for x in sorted(self.publishers):
            for y in sorted(self.subscribers):
                for link in pairwise(self._topology.path(x, y)):
                    users.setdefault(link, {})[x] = None
                    beyond.setdefault(link, {})[y] = None
        return users, beyond


def preference(gain: int, hysteresis: int, before: bool) -> bool:
    """Whether a link is better as an s-link, by what it saves so and by what was thought before (Fig. 9)."""
    if gain > hysteresis or (gain == 0 == hysteresis):
        return True
    return before if gain >= -hysteresis else False


KEPT = 64
"""So many shapes of a network are kept."""
_shapes: WeakKeyDictionary[Topology, dict[tuple[Ends, Ends], Shape]] = WeakKeyDictionary()
