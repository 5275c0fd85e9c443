"""The trees as `bp`, `bs` and `amsp` see them at one router: where descriptors and matches go (MM 2, 3.1).

Trees are symmetric (E7), so the tree of a subscriber is the way its subscriptions take to all publishers.

Not here: markings (`matchmaker`), what is held (`matchmaker_state`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import final

from nodes.routing.schemes.base import View
from nodes.routing.schemes.matchmaker_marks import Shape

Carries = Callable[[int, bool], bool]
"""Whether the link at an interface carries PCDs away from us (True), or SCDs (False)."""


@final
class Key:
    """What is told between routers: a PCD (no subscriber), an SCD (no publisher), or a match.

    Equal ones are equal and have one hash; they are ordered as their fields are.
    """

    __slots__ = ("_hash", "is_match", "owner", "pcd", "publisher", "scd", "subscriber")

    def __init__(self, publisher: int, pcd: int, subscriber: int, scd: int) -> None:
        self.publisher = publisher
        self.pcd = pcd
        self.subscriber = subscriber
        self.scd = scd
        self.is_match = publisher != 0 and subscriber != 0
        """Whether it is an MCD."""
        self.owner = publisher or subscriber
        """Of a PCD or SCD: whose it is."""
        self._hash = hash((publisher, pcd, subscriber, scd))

    @property
    def fields(self) -> tuple[int, int, int, int]:
        """What it consists of."""
        return self.publisher, self.pcd, self.subscriber, self.scd

    @property
    def descriptors(self) -> tuple[Key, Key]:
        """Of a match: its PCD and its SCD."""
        return Key(self.publisher, self.pcd, 0, 0), Key(0, 0, self.subscriber, self.scd)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return self is other or (self._hash == other._hash and self.fields == other.fields)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Key) -> bool:
        return self.fields < other.fields

    def __repr__(self) -> str:
        return f"Key{self.fields}"


class Trees:
    """The trees of all routers at one of them.

    Args:
        view: The network; of the shared tree alone, if that is used.
        links: The neighbour at each interface on which we have a session.
        shape: Who publishes and subscribes, over which links.
        carries: The markings.
    """

    def __init__(self, view: View, links: Mapping[int, int], shape: Shape, carries: Carries) -> None:
        self.node = view.node
        self._topology = view.topology
        self._links = links
        self._shape = shape
        self._carries = carries
        self._next = view.topology.first_hops(view.node)
        self._children = view.topology.children(view.node)
        self._onward: dict[tuple[int, int], list[int]] = {}
        """By (publisher, 0) or (0, subscriber): where its descriptors may go on, whatever the marks."""
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
        if publisher == self.node:
            return subscriber in self._next
        return subscriber in self._below.get(publisher, ())

    def spread(self, key: Key) -> frozenset[int]:
        """The interfaces on which a PCD goes on over p-links, and an SCD over s-links."""
        down = key.publisher != 0
        owner = key.publisher, key.subscriber
        if owner not in self._onward:
            children = [child for child in self._children.get(key.owner, ()) if self._uses(key, child)]
            self._onward[owner] = [self._speak_on[child] for child in children if child in self._speak_on]
        return frozenset([each for each in self._onward[owner] if self._carries(each, down)])

    @cached_property
    def _below(self) -> Mapping[int, frozenset[int]]:
        """By publisher, the routers that its messages reach by us, and ourselves."""
        groups = (
            (group.sources, frozenset((*group.below, self.node)))
            for group in self._topology.groups(self.node)
        )
        return {source: below for sources, below in groups for source in sources}

    def _uses(self, key: Key, child: int) -> bool:
        """Whether anybody is beyond a neighbour for whom a descriptor is."""
        if key.publisher:
            return key.publisher in self._shape.users.get((self.node, child), ())
        return key.subscriber in self._shape.beyond.get((child, self.node), ())
