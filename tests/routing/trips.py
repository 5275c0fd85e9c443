"""A message's way through the compiled FIBs of all routers, each as the whole network would have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastpath.fib import DropReason, Fib
from nodes.config import NodeConfig
from nodes.model import Predicate, Value
from nodes.routing.install import Installer
from nodes.routing.schemes.base import Options
from nodes.routing.trees import Edge
from nodes.wire.codec import decode, encode, encode_predicate
from nodes.wire.packets import Message, Role
from tests.routing.central import Network
from tests.routing.fabric import configure

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class Trip:
    """What became of one message."""

    crossed: list[tuple[int, int, int]] = field(default_factory=list)
    """(from, to, class) of each link that a copy crossed, sorted."""
    refused: list[tuple[int, int]] = field(default_factory=list)
    """(from, to) of the copies that the router at the end of the link did not take."""
    delivered: list[int] = field(default_factory=list)
    """The routers whose clients got it, as often as they did, sorted."""

    @property
    def links(self) -> list[tuple[int, int]]:
        """The links crossed."""
        return [(a, b) for a, b, _ in self.crossed]


class World:
    """Routers with a client each, at the fixpoint of a scheme. Router n's client is called cn."""

    def __init__(
        self, edges: Iterable[Edge], wants: Mapping[int, Predicate], scheme: str, options: Options
    ) -> None:
        edges = list(edges)
        nodes = sorted({end for edge in edges for end in edge[:2]})
        configs = configure(edges, {f"c{node}": node for node in nodes})
        self.routers = {c.node_id: c for c in configs.values() if c.role is Role.ROUTER}
        self.clients = {node: configs[f"c{node}"].node_id for node in nodes}
        predicates = {self.clients[node]: encode_predicate(wanted) for node, wanted in wants.items()}
        self.network = Network(configs.values(), predicates)
        self.fibs = {node: self._fib(node, scheme, options) for node in nodes}

    def publish(self, source: int, message: Mapping[str, Value]) -> Trip:
        """Let the client of a router publish, and follow all copies."""
        packet = encode(Message(self.clients[source], 1, 0, dict(message)))
        access = self._interface(source, self.clients[source])
        trip = Trip()
        waiting = [(source, access, packet)]
        while waiting:
            node, ingress, packet = waiting.pop()
            drop, copies = self.fibs[node].forward(packet, ingress)
            if drop:
                assert drop in (DropReason.WRONG_INTERFACE, DropReason.UNKNOWN_CLASS), drop
                trip.refused.append((self.routers[node].interfaces[ingress].peer_id, node))
            for interface, copy in copies:
                waiting += self._send(node, interface, copy, trip)
        for each in (trip.crossed, trip.refused, trip.delivered):
            each.sort()
        return trip

    def _send(self, node: int, interface: int, copy: bytes, trip: Trip) -> list[tuple[int, int, bytes]]:
        to, got = self.routers[node].interfaces[interface], decode(copy)
        if to.peer_role is Role.CLIENT:
            trip.delivered.append(node)
            return []
        trip.crossed.append((node, to.peer_id, getattr(got, "header_class", 0)))
        return [(to.peer_id, self._interface(to.peer_id, node), copy)]

    def _interface(self, node: int, peer: int) -> int:
        return next(i.index for i in self.routers[node].interfaces if i.peer_id == peer)

    def _fib(self, node: int, scheme: str, options: Options) -> Fib:
        config: NodeConfig = self.routers[node]
        fib = Installer(config, self.network.store(node)).build(self.network.expected(node, scheme, options))
        assert fib is not None
        return fib


def publish(
    edges: Iterable[Edge],
    wants: Mapping[int, Predicate],
    source: int,
    message: Mapping[str, Value],
    scheme: str = "pif",
    **options: str | float | bool,
) -> Trip:
    """Publish one message in a world of its own."""
    return World(edges, wants, scheme, options).publish(source, message)
