"""Maps as edge lists and as mini-NDN files.

Neither has words for labels, places and tags of routers. A mini-NDN file has none
for costs either; its delays are in whole microseconds and its routers' places polar.
"""

from __future__ import annotations

import math

from topologies.exporters.native import told_of
from topologies.map import Map, MapLink, MapNode


def edges_of(drawn: Map) -> str:
    """An edge list with what is known of each link."""
    lines = [f"# {drawn.title or drawn.name}"]
    lines += [" ".join([link.a, link.b, *told_of(link)]) for link in drawn.links]
    return "\n".join(lines) + "\n"


def minindn_of(drawn: Map) -> str:
    """What mini-NDN reads."""
    lines = ["[nodes]", *(_node(node) for node in drawn.nodes), "[links]"]
    return "\n".join([*lines, *(_link(link) for link in drawn.links)]) + "\n"


def _node(node: MapNode) -> str:
    if node.at is None:
        return f"{node.name}: _"
    x, y = node.at
    return f"{node.name}: _ radius={math.hypot(x, y):.6f} angle={math.atan2(y, x):.6f}"


def _link(link: MapLink) -> str:
    words = [f"{link.a}:{link.b}"]
    words += [] if link.delay_ns is None else [f"delay={max(1, round(link.delay_ns / 1000))}us"]
    words += [] if link.rate_bps is None else [f"bw={link.rate_bps / 1e6:.15g}"]
    words += [f"loss={link.loss * 100:.15g}"] * bool(link.loss)
    return " ".join(words)
