"""Where a subscription or an advertisement may go: the complement of NST (ADR 3.5, eq. 1; E15).

On one tree or on many:

`shared`: one spanning tree of the network, the shortest-path tree of the least
router id. What came from a neighbour on the tree goes to all others on it,
whoever subscribed first, so nobody is named: the issuer is 0. NST(f) is the
neighbours off the tree, and the one f came from if nobody else subscribed.

`source`: the shortest-path tree of each original subscriber, the issuer, whom
subscriptions name. They go to our children in its tree and count only if they
came from our parent in it. As trees are symmetric (E7), that is the way back
for the messages that it wants.

Not here: what is forwarded of what may be (`siena_poset`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Protocol
from weakref import WeakKeyDictionary

from nodes.routing.schemes.base import View, mask
from nodes.routing.trees import Topology

ANYBODY = 0
"""The issuer on a shared tree."""


class Trees(Protocol):
    """The trees as one router sees them."""

    def counts(self, interface: int, issuer: int) -> bool:
        """Whether subscriptions of an issuer may come over this interface."""

    def open_to(self, interface: int, issuer: int) -> int:
        """The interfaces on which to forward what came so: neighbors - NST."""

    def back(self, interface: int) -> int:
        """The interface on which to send to whom an interface leads to, as a mask; 0 if to no neighbour."""

    def towards(self, issuer: int, publisher: int) -> int:
        """The interface on which an issuer's subscriptions go on to a publisher's router, as a mask.

        0 if they do not come by here.
        """


class NoTree:
    """Before anything is known of the network."""

    def counts(self, interface: int, issuer: int) -> bool:
        """Nothing does."""
        del interface, issuer
        return False

    def open_to(self, interface: int, issuer: int) -> int:
        """Nowhere."""
        del interface, issuer
        return 0

    def back(self, interface: int) -> int:
        """None."""
        del interface
        return 0

    def towards(self, issuer: int, publisher: int) -> int:
        """None."""
        del issuer, publisher
        return 0


class SharedTree:
    """The one tree.

    Args:
        view: The network.
        links: The neighbour at each interface on which we have a session.
    """

    def __init__(self, view: View, links: Mapping[int, int]) -> None:
        self._links = links
        self._clients = frozenset(view.clients)
        self._speak_on = _speak_on(view, links)
        self._beside = frozenset(shared_tree(view.topology).neighbours(view.node))
        self._all = mask(tuple(i for n, i in self._speak_on.items() if n in self._beside))

    def counts(self, interface: int, issuer: int) -> bool:
        """As `Trees` says."""
        return issuer == ANYBODY and (
            interface in self._clients or self._links.get(interface) in self._beside
        )

    def open_to(self, interface: int, issuer: int) -> int:
        """As `Trees` says."""
        return self._all & ~self.back(interface) if self.counts(interface, issuer) else 0

    def back(self, interface: int) -> int:
        """As `Trees` says."""
        return _back(self._links, self._speak_on, interface)

    def towards(self, issuer: int, publisher: int) -> int:
        """On the one tree nobody is named: everywhere on it."""
        del issuer, publisher
        return self._all


class SourceTrees:
    """A tree an issuer. Arguments as of `SharedTree`."""

    def __init__(self, view: View, links: Mapping[int, int]) -> None:
        self._node = view.node
        self._links = links
        self._clients = frozenset(view.clients)
        self._parents = view.topology.first_hops(view.node)
        self._topology = view.topology
        self._speak_on = _speak_on(view, links)
        self._open = {
            issuer: mask(tuple(self._speak_on[child] for child in children if child in self._speak_on))
            for issuer, children in view.topology.children(view.node).items()
        }
        self._below: dict[int, frozenset[int]] = {}
        """By issuer, the routers that its subscriptions reach by us; made when asked for first."""

    def counts(self, interface: int, issuer: int) -> bool:
        """As `Trees` says."""
        if interface in self._clients:
            return issuer == self._node
        return interface in self._links and self._parents.get(issuer) == self._links[interface]

    def open_to(self, interface: int, issuer: int) -> int:
        """As `Trees` says."""
        return self._open[issuer] if self.counts(interface, issuer) else 0

    def back(self, interface: int) -> int:
        """As `Trees` says."""
        return _back(self._links, self._speak_on, interface)

    def towards(self, issuer: int, publisher: int) -> int:
        """As `Trees` says."""
        if not self._below:
            groups = self._topology.groups(self._node)
            self._below = {source: frozenset(g.below) for g in groups for source in g.sources}
        if publisher not in self._below.get(issuer, ()):
            return 0
        interface = self._speak_on.get(self._parents.get(publisher, 0))
        return 0 if interface is None else 1 << interface


def shared_tree(topology: Topology) -> Topology:
    """The shortest-path tree of the least router id, the same at all routers that see the same network."""
    if len(topology.edges) < len(topology.nodes):
        return topology
    found = _shared.get(topology)
    if found is None:
        root = topology.nodes[0]
        last_steps = [
            list(pairwise(topology.path(root, node)))[-1] for node in topology.nodes if node != root
        ]
        edges = sorted((min(step), max(step), 1) for step in last_steps)
        found = _shared[topology] = Topology.intern(topology.nodes, tuple(edges))
    return found


def on_shared_tree(view: View) -> View:
    """The same view of a network that is its shared tree and nothing else."""
    return replace(view, topology=shared_tree(view.topology))


_shared: WeakKeyDictionary[Topology, Topology] = WeakKeyDictionary()


def _speak_on(view: View, links: Mapping[int, int]) -> dict[int, int]:
    """The interface on which to send to each neighbour: the best over which we are joined."""
    best: dict[int, int] = {}
    for neighbour, found in view.interfaces.items():
        for interface in found:
            if interface in links:
                best.setdefault(neighbour, interface)
    return best


def _back(links: Mapping[int, int], speak_on: Mapping[int, int], interface: int) -> int:
    found = speak_on.get(links.get(interface, 0))
    return 0 if found is None else 1 << found
