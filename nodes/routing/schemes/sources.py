"""The classes of schemes that forward within the tree of the source: one class a source router.

The header class is the source router's id, written by the first router (Init)
and left alone by the others (Hdr; E10). A message is taken from the neighbour
that is next on the way back to its source alone, so in any state of the tables
it passes each link of the tree once (P1, E7).
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.routing.schemes.base import ClassSpec, View, mask


def source_classes(view: View, tables: Mapping[int, int] | None = None) -> tuple[ClassSpec, ...]:
    """A class for each source router; `tables` says by which table its messages go, if not by the first."""
    towards = view.topology.first_hops(view.node)
    return tuple(
        ClassSpec(
            header_class=source,
            accept=mask(view.interfaces.get(towards.get(source, 0), ())),
            out=view.client_mask | out_mask(view, children),
            table=0 if tables is None else tables[source],
            rewrite=source,
        )
        for source, children in view.topology.children(view.node).items()
    )


def out_mask(view: View, neighbours: list[int]) -> int:
    """The interfaces on which to send to these neighbours."""
    return mask(tuple(view.interfaces[each][0] for each in neighbours if each in view.interfaces))
