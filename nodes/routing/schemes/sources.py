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


def source_classes(view: View, broadcast: str = TREE) -> tuple[ClassSpec, ...]:
    """A class for each source router, all by one table."""
    towards = view.topology.first_hops(view.node)
    # Many sources, few masks: both are the neighbours', of whom there are few.
    accept = {router: mask(interfaces) for router, interfaces in view.interfaces.items()}
    out: dict[tuple[int, ...], int] = {}
    classes = []
    for source, to in _receivers(view, towards, broadcast).items():
        if (receivers := tuple(to)) not in out:
            out[receivers] = view.client_mask | out_mask(view, receivers)
        classes.append(ClassSpec(source, accept.get(towards.get(source, 0), 0), out[receivers], 0, source))
    return tuple(classes)


def accept_mask(view: View, towards: Mapping[int, int], router: int) -> int:
    """The interfaces on the way back to a router: from where its class is taken."""
    return mask(view.interfaces.get(towards.get(router, 0), ()))


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
