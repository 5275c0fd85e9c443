"""Multicast by content: every distinct filter is a group, its members the routers that want it (M8).

The routing table of the general model maps groups to the interfaces towards
their members, and H_n is restricted to the children in the source's tree, as in
RTE 3. The data plane has this table by columns: at each interface the filters
mapped to it. A filter that another at the same interface covers is left out
there, which drops all that the subnet rule drops and more, since the rule keeps
a row whose next hops the wider one lacks in part. So the forwarding is that of
PIF; what multicast costs besides, a row for each group, a test computes.
"""

from __future__ import annotations

from nodes.routing.schemes.base import FibSpec, Scheme, View
from nodes.routing.schemes.pif import by_next_hop
from nodes.routing.schemes.sources import source_classes


class Multicast(Scheme):
    """A group for every filter, forwarding within the source's tree."""

    def compile(self, view: View) -> FibSpec:
        """The table of groups by columns, one class a source router."""
        return FibSpec(view.node, source_classes(view), ({**by_next_hop(view), **view.client_tables},))
