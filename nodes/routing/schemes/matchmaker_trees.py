"""The trees as `bp`, `bs` and `amsp` see them at one router: where descriptors and matches go (MM 2, 3.1).

Trees are symmetric (E7), so the tree of a subscriber is the way its subscriptions take to all publishers.

Not here: markings (`matchmaker`), what is held (`fastpath.meeting`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodes.routing.schemes.base import View
from nodes.routing.schemes.matchmaker_marks import Shape


class Trees:
    """The trees of all routers at one of them.

    Args:
        view: The network; of the shared tree alone, if that is used.
        links: The neighbour at each interface on which we have a session.
        shape: Who publishes and subscribes, over which links.
    """

    def __init__(self, view: View, links: Mapping[int, int], shape: Shape) -> None:
        self.node = view.node
        self.links = links
        self.next_hops: Mapping[int, int] = view.topology.first_hops(view.node)
        self._topology = view.topology
        self._shape = shape
        self._children = view.topology.children(view.node)
        self.ways = {
            neighbour: interface
            for neighbour, interfaces in view.interfaces.items()
            for interface in [next((i for i in interfaces if i in links), None)]
            if interface is not None
        }
        """By neighbour, the interface on which to speak to it."""

    def onward(self, publisher: int, subscriber: int) -> list[int]:
        """The interfaces on which a publisher's PCDs, or a subscriber's SCDs, may go on by the trees."""
        children = self._children.get(publisher or subscriber, ())
        used = [child for child in children if self._uses(publisher, subscriber, child)]
        return [self.ways[child] for child in used if child in self.ways]

    def groups(self) -> Iterable[tuple[list[int], list[int]]]:
        """Publishers whose messages come by us, and the routers that these reach from here."""
        groups = self._topology.groups(self.node)
        return [([*group.sources], [*group.below]) for group in groups]

    def _uses(self, publisher: int, subscriber: int, child: int) -> bool:
        """Whether anybody is beyond a neighbour for whom a descriptor is."""
        if publisher:
            return publisher in self._shape.users.get((self.node, child), ())
        return subscriber in self._shape.beyond.get((child, self.node), ())
