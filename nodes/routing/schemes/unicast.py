"""Unicast: the source resolves a message to its destination routers and sends each a copy of its own.

The general model with router ids as addresses and one next hop an address (M8,
ADR 2.2): what content-based routing is measured against. As `drp`, but a link
that leads to several destinations carries as many copies.
"""

from __future__ import annotations

from nodes.routing.schemes.base import FibSpec, Scheme, View
from nodes.routing.schemes.drp import routed


class Unicast(Scheme):
    """A copy for every destination."""

    def compile(self, view: View) -> FibSpec:
        """DRP's tables; the data plane does not join copies."""
        return routed(view, one_each=True)
