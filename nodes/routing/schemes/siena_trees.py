"""Where a subscription may go: the complement of NST (ADR 3.5, eq. 1; E15), on one tree or on many.

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
        back = self._speak_on.get(self._links.get(interface, 0))
        return self._all & ~(0 if back is None else 1 << back) if self.counts(interface, issuer) else 0


class SourceTrees:
    """A tree an issuer. Arguments as of `SharedTree`."""

    def __init__(self, view: View, links: Mapping[int, int]) -> None:
        self._node = view.node
        self._links = links
        self._clients = frozenset(view.clients)
        self._parents = view.topology.first_hops(view.node)
        speak_on = _speak_on(view, links)
        self._open = {
            issuer: mask(tuple(speak_on[child] for child in children if child in speak_on))
            for issuer, children in view.topology.children(view.node).items()
        }

    def counts(self, interface: int, issuer: int) -> bool:
        """As `Trees` says."""
        if interface in self._clients:
            return issuer == self._node
        return interface in self._links and self._parents.get(issuer) == self._links[interface]

    def open_to(self, interface: int, issuer: int) -> int:
        """As `Trees` says."""
        return self._open[issuer] if self.counts(interface, issuer) else 0


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
