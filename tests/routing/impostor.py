"""Somebody who speaks to a router on a link of a real session and says what no honest neighbour would."""

from __future__ import annotations

from nodes.routing.router import Router
from nodes.wire.codec import encode
from nodes.wire.packets import Control
from tests.routing.fabric import Network


class Impostor:
    """Speaks to a router on a link of a real session, as its neighbour would."""

    def __init__(self, net: Network, interface: int, to: str = "r1") -> None:
        self.net = net
        self.interface = interface
        self.to = to
        link = net.router(to).links[interface]
        core = net.cores[link.interface.peer_name]
        ends = core.links if isinstance(core, Router) else [core.core.link]
        peer = next(end for end in ends if end.interface.peer_name == to)
        self.ours, self.theirs = peer.incarnation, link.incarnation
        self.next = link._channel._in.received + 1  # type: ignore[union-attr]

    def packet(self, kind: int, payload: bytes, first: bool = True, last: bool = True) -> bytes:
        """The next packet of the session."""
        number, self.next = self.next, self.next + 1
        return encode(Control(kind, self.ours, self.theirs, number, 0, 16, first, last, payload))

    def say(self, packet: bytes) -> None:
        self.net.router(self.to).receive(self.net.now_ns, self.interface, packet)
        self.net.after(self.to)

    def send(self, kind: int, payload: bytes) -> None:
        self.say(self.packet(kind, payload))
