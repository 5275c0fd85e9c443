"""DRP: dynamic receiver partitioning (RTE 3.4, T5).

    Init_v(m)  = H_W, W = {x : m in pred(x)}
    Fwd_u(H_W) = {unicast_u(x) : x in W, x != u}
    Hdr_u      = W partitioned by next hop, without u (E10, E11)

The source finds all interested routers, and the message carries them. A router
on the way looks at them alone to send it on: what it needs is where each router
lies, and no tree but its own.

The class names the source. Shortest paths are unique (E7), so the copy for a
destination comes along the source's tree, and a router that it can come to takes it
from its parent there alone: that is its own next hop to the source. A copy that
somebody else sends again is dropped.

Every destination is in one copy at any time, so a message comes to no router
twice whatever the state of the tables, and where routers disagree for a moment
the hop limit ends what goes in circles.
"""

from __future__ import annotations

from nodes.routing.schemes.base import ClassSpec, FibSpec, RouteSpec, Scheme, View, of_router
from nodes.routing.schemes.sources import accept_mask

CLIENT_TABLE, ROUTER_TABLE = 0, 1


class Drp(Scheme):
    """Dynamic receiver partitioning."""

    def compile(self, view: View) -> FibSpec:
        """A class for each source, the predicates of all routers, and the way to each."""
        return routed(view)


def routed(view: View, one_each: bool = False) -> FibSpec:
    """Destinations resolved at the source; with `one_each` a copy for each."""
    destinations = unicast(view)
    wanting = frozenset(view.wanting)
    wanted = {
        position: (of_router(router),)
        for position, (router, _) in enumerate(destinations)
        if router in wanting
    }
    towards, clients = view.topology.first_hops(view.node), view.client_mask
    classes = tuple(
        ClassSpec(source, accept_mask(view, towards, source), clients, CLIENT_TABLE, source, routed=True)
        for source in view.topology.nodes
    )
    route = RouteSpec(ROUTER_TABLE, destinations, one_each)
    return FibSpec(view.node, classes, (view.client_tables, wanted), route)


def unicast(view: View) -> tuple[tuple[int, int], ...]:
    """unicast_v: every other router that can be reached, ascending, and the interface towards it."""
    hops = sorted(view.topology.first_hops(view.node).items())
    return tuple((router, view.interfaces[hop][0]) for router, hop in hops if hop in view.interfaces)
