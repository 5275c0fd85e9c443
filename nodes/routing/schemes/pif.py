"""PIF: one predicate an interface, forwarding within the source's tree (RTE 3.3, T4).

    F*_u(w)    = OR over v of F_u(v, w)
    Fwd_u(v,m) = {w in child_u(v) : m in F*_u(w)}

With symmetric trees (E7) F*_u(w) is the union of the predicates of the routers
whose unicast next hop is w, so no tree but our own is needed for it. The header
class is the source router's id, written by the first router (Init) and left
alone by the others (Hdr; E10).
"""

from __future__ import annotations

from typing import ClassVar

from nodes.model import UsageError
from nodes.routing.predicates import union
from nodes.routing.schemes.base import ClassSpec, FibSpec, Options, View, mask


class Pif:
    """Per-interface forwarding."""

    name: ClassVar[str] = "pif"

    def __init__(self, options: Options) -> None:
        if options:
            raise UsageError(f"scheme pif has no options; got {', '.join(sorted(options))}")

    def compile(self, view: View) -> FibSpec:
        """One class a source router, all over one table."""
        table = {**_by_next_hop(view), **view.clients}
        return FibSpec(view.node, tuple(_classes(view)), (table,))


def _by_next_hop(view: View) -> dict[int, tuple[bytes, ...]]:
    """F*, by the interface we send on."""
    groups: dict[int, list[memoryview]] = {}
    for router, hop in view.topology.first_hops(view.node).items():
        if router in view.interests and hop in view.interfaces:
            groups.setdefault(view.interfaces[hop][0], []).append(view.interests[router])
    return {interface: union(predicates) for interface, predicates in sorted(groups.items())}


def _classes(view: View) -> list[ClassSpec]:
    towards = view.topology.first_hops(view.node)
    clients = view.client_mask
    return [
        ClassSpec(
            header_class=source,
            accept=mask(view.interfaces.get(towards.get(source, 0), ())),
            out=clients | _out(view, children),
            table=0,
            rewrite=source,
        )
        for source, children in view.topology.children(view.node).items()
    ]


def _out(view: View, children: list[int]) -> int:
    return mask(tuple(view.interfaces[child][0] for child in children if child in view.interfaces))
