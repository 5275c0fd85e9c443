"""Flooding: every router gets every message, and only the clients' own predicates filter.

    Fwd_u(v, m) = child_u(v)

The upper bound of what forwarding costs and the lower bound of what routers
must know: no router holds what the clients of another want. By `broadcast` the
message goes down the source's tree or over every link (P1; `sources`).
"""

from __future__ import annotations

from typing import ClassVar

from nodes.routing.schemes.base import EVERYTHING, FibSpec, Options, Scheme, View
from nodes.routing.schemes.sources import source_classes


class Flood(Scheme):
    """Broadcast within the source's tree, or by reverse paths."""

    floods_interest: ClassVar[bool] = False

    def __init__(self, options: Options) -> None:
        self._broadcast = str(options["broadcast"])

    def compile(self, view: View) -> FibSpec:
        """One class a source router, all over one table in which every router wants everything."""
        to_routers = {interfaces[0]: (EVERYTHING,) for interfaces in view.interfaces.values()}
        table = {**to_routers, **view.client_tables}
        return FibSpec(view.node, source_classes(view, broadcast=self._broadcast), (table,))
