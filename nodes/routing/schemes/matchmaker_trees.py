"""The trees as `bp`, `bs` and `amsp` see them at one router: where descriptors and matches go (MM 2, 3.1).

Trees are symmetric (E7), so the tree of a subscriber is the way its subscriptions take to all publishers.

Not here: markings (`matchmaker`), what is held (`matchmaker_state`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from nodes.routing.schemes.base import View

Marks = Callable[[int, int], bool]
"""Whether the link (from, to) of two neighbours is a p-link."""


class Key(NamedTuple):
    """What is told between routers: a PCD (no subscriber), an SCD (no publisher), or a match."""

    publisher: int
    pcd: int
    subscriber: int
    scd: int

    @property
    def is_match(self) -> bool:
        """Whether it is an MCD."""
        return bool(self.publisher and self.subscriber)

    @property
    def owner(self) -> int:
        """Of a PCD or SCD: whose it is."""
        return self.publisher or self.subscriber


class Trees:
    """The trees of all routers at one of them.

    Args:
        view: The network; of the shared tree alone, if that is used.
        links: The neighbour at each interface on which we have a session.
        is_p_link: The markings.
    """

    def __init__(self, view: View, links: Mapping[int, int], is_p_link: Marks) -> None:
        self.node = view.node
        self._links = links
        self._is_p_link = is_p_link
        self._next = view.topology.first_hops(view.node)
        self._children = view.topology.children(view.node)
        self._speak_on = {
            neighbour: interface
            for neighbour, interfaces in view.interfaces.items()
            for interface in [next((i for i in interfaces if i in links), None)]
            if interface is not None
        }

    def towards(self, router: int) -> int | None:
        """The interface on which to send towards a router; None if it is we, or cannot be reached."""
        return self._speak_on.get(self._next.get(router, 0))

    def is_from(self, interface: int, router: int) -> bool:
        """Whether an interface leads to the neighbour that is next on the way to a router."""
        return interface in self._links and self._links[interface] == self._next.get(router, 0)

    def is_between(self, publisher: int, subscriber: int) -> bool:
        """Whether we are on the path from one to another."""
        ends = [0 if end == self.node else self._next.get(end) for end in (publisher, subscriber)]
        return None not in ends and ends[0] != ends[1]

    def spread(self, key: Key) -> frozenset[int]:
        """The interfaces on which a PCD goes on over p-links, and an SCD over s-links."""
        down = key.publisher != 0
        return frozenset(
            self._speak_on[child]
            for child in self._children.get(key.owner, ())
            if child in self._speak_on and self._is_marked(child, down)
        )

    def _is_marked(self, child: int, down: bool) -> bool:
        link = (self.node, child) if down else (child, self.node)
        return self._is_p_link(*link) is down
