"""PIF: one predicate an interface, forwarding within the source's tree (RTE 3.3, T4).

    F*_u(w)    = OR over v of F_u(v, w)
    Fwd_u(v,m) = {w in child_u(v) : m in F*_u(w)}

With symmetric trees (E7) F*_u(w) is the union of the predicates of the routers
whose unicast next hop is w, so no tree but our own is needed for it. The header
class is the source router's id, written by the first router (Init) and left
alone by the others (Hdr; E10). With `broadcast: reverse-path` a router does
without child_u: it sends wherever F*_u matches but back, and what did not come
by the reverse path is refused (P1, `sources`).
"""

from __future__ import annotations

from nodes.routing.schemes.base import FibSpec, Options, Scheme, Source, View, of_router
from nodes.routing.schemes.sources import source_classes


class Pif(Scheme):
    """Per-interface forwarding."""

    def __init__(self, options: Options) -> None:
        self._broadcast = str(options["broadcast"])

    def compile(self, view: View) -> FibSpec:
        """One class a source router, all over one table."""
        table = {**by_next_hop(view), **view.client_tables}
        return FibSpec(view.node, source_classes(view, broadcast=self._broadcast), (table,))


def by_next_hop(view: View) -> dict[int, tuple[Source, ...]]:
    """F*, by the interface we send on."""
    towards = view.topology.first_hops(view.node)
    groups: dict[int, list[Source]] = {}
    for router in view.wanting:
        hop = towards.get(router, 0)
        if hop in view.interfaces:
            groups.setdefault(view.interfaces[hop][0], []).append(of_router(router))
    return {interface: tuple(routers) for interface, routers in sorted(groups.items())}
