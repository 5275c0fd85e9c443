"""A node that sends its neighbours more than anybody needs, over its own sessions, sealed as all it says.

Each act is one filter, change, message or record. Not here: how many there are, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fastpath.wire.codec import encode_link_state
from nodes.client.core import ClientCore
from nodes.model import parse_predicate
from nodes.routing.effects import Core
from nodes.routing.router import Router
from nodes.wire.packets import Kind, Role

ATTRIBUTE = "flood"
"""Of what is asked for and published: nobody else has such an attribute."""
FIRST = 1 << 20
"""Its own numbers of subscriptions begin here, and so do the ids of routers that it invents."""
OF_CLIENTS = ("filters", "changes", "messages")
OF_ROUTERS = ("records",)


class Flooding:
    """One flood.

    Args:
        by: Its ways: a client has `OF_CLIENTS`, a router `OF_ROUTERS`.
        rng: Draws the way of each act.
    """

    def __init__(self, by: Sequence[str], rng: Random) -> None:
        self._by = by
        self._rng = rng
        self._count = 0

    def act(self, core: Core, now_ns: int) -> bool:
        """One act; False if there is none that this node could do now."""
        mine = OF_CLIENTS if isinstance(core, ClientCore) else OF_ROUTERS
        ways = [way for way in self._by if way in mine]
        if not ways:
            return False
        self._count += 1
        if isinstance(core, ClientCore):
            return self._as_client(core, now_ns, self._rng.choice(ways))
        return isinstance(core, Router) and self._invent(core, now_ns)

    def _as_client(self, core: ClientCore, now_ns: int, way: str) -> bool:
        if not core.attached:
            return False
        if way == "messages":
            core.publish(now_ns, {ATTRIBUTE: self._count})
        else:
            number = FIRST if way == "changes" else FIRST + self._count
            core.subscribe(now_ns, parse_predicate(f"{ATTRIBUTE} = {self._count}"), number)
        return True

    def _invent(self, core: Router, now_ns: int) -> bool:
        """A record of a router that is not there, to every neighbour that is a router."""
        record = encode_link_state(FIRST + self._count, 1, ((core.config.node_id, 1),))
        payload = core.rules.signatures.signed(Kind.LINK_STATE, record)  # it has no key but its own
        links = [link for link in core.links if link.up and link.interface.peer_role is Role.ROUTER]
        for link in links:
            link.send(now_ns, Kind.LINK_STATE, payload)
        return bool(links)
