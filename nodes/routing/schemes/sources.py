"""What schemes share that forward within the tree of the source.

The header class is the source router's id, written by the first router (Init)
and left alone by the others (Hdr; E10), or, where a scheme rewrites it, the id
of a router on the way. Either way the path back to the router it names is the
path the message came by. A message is taken from the neighbour that is next on
that path alone, so it passes each link of the tree once (P1, E7).

`tree` sends to the router's children in the source's tree. `reverse-path` does
without the trees of others (P1: reverse-path broadcast): it sends on all
interfaces but the one towards the source. Copies that cross a link outside of
the tree are refused at its end, having cost the crossing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodes.routing.schemes.base import ClassSpec, View, mask

TREE = "tree"
REVERSE_PATH = "reverse-path"


def source_classes(
    view: View, tables: Mapping[int, int] | None = None, broadcast: str = TREE
) -> tuple[ClassSpec, ...]:
    """A class for each source router; `tables` says by which table its messages go, if not by the first."""
    towards = view.topology.first_hops(view.node)
    receivers = _receivers(view, towards, broadcast)
    return tuple(
        class_of(view, source, towards, to, table=0 if tables is None else tables[source], rewrite=source)
        for source, to in receivers.items()
    )


def class_of(
    view: View, source: int, towards: Mapping[int, int], receivers: Sequence[int], *, table: int, rewrite: int
) -> ClassSpec:
    """The class named after a router: taken from the way back to it, sent to these neighbours and clients."""
    return ClassSpec(
        header_class=source,
        accept=mask(view.interfaces.get(towards.get(source, 0), ())),
        out=view.client_mask | out_mask(view, receivers),
        table=table,
        rewrite=rewrite,
    )


def out_mask(view: View, neighbours: Sequence[int]) -> int:
    """The interfaces on which to send to these neighbours."""
    return mask(tuple(view.interfaces[each][0] for each in neighbours if each in view.interfaces))


def _receivers(view: View, towards: Mapping[int, int], broadcast: str) -> Mapping[int, Sequence[int]]:
    if broadcast == TREE:
        return view.topology.children(view.node)
    neighbours = view.topology.neighbours(view.node)
    return {
        source: [each for each in neighbours if each != towards.get(source)] for source in view.topology.nodes
    }
