"""Maps to files: the project's own format, and those that other tools read.

What a format has no word for is left out: GraphML has none for notes, GML none for
sources and notes; edge lists and mini-NDN files none for the labels, places and tags
of routers. A mini-NDN file has no costs either; its delays are whole microseconds and
its places polar. A map that is written in its own format and read again is the same map.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from xml.sax.saxutils import escape, quoteattr

from topologies import quantities as q
from topologies.map import Map, MapLink, MapNode

_BARE = re.compile(r"[A-Za-z0-9._,+/-]+")
_NODE_KEYS = {"label": "string", "Latitude": "double", "Longitude": "double", "x": "double", "y": "double",
              "tags": "string"}  # fmt: skip
_LINK_KEYS = {"delay": "string", "rate": "string", "loss": "double", "cost": "int", "tags": "string"}


def exported(drawn: Map, form: str) -> str:
    """A map as a text in one of `FORMATS`; KeyError if it is none of them."""
    return FORMATS[form](drawn)


def _native(drawn: Map) -> str:
    """The project's own format; `importers.native` reads back the same map."""
    head = [("map", drawn.name), ("title", drawn.title)]
    head += [("source", text) for text in drawn.sources] + [("note", text) for text in drawn.notes]
    lines = [f"{word} {_quoted(text)}" for word, text in head if text]
    lines += [_native_node(node) for node in drawn.nodes]
    lines += [" ".join(["link", link.a, link.b, *_properties(link)]) for link in drawn.links]
    return "\n".join(lines) + "\n"


def _native_node(node: MapNode) -> str:
    words = ["node", node.name]
    words += [] if node.place is None else [repr(float(node.place[0])), repr(float(node.place[1]))]
    words += [f"label={_quoted(node.label)}"] * bool(node.label)
    words += [] if node.at is None else [f"at={float(node.at[0])!r},{float(node.at[1])!r}"]
    words += [f"tags={','.join(node.tags)}"] * bool(node.tags)
    return " ".join(words)


def _properties(link: MapLink) -> list[str]:
    """The properties of a link that it has, as `key=value`."""
    return [f"{key}={value}" for key, value in _link_values(link).items() if value]


def _quoted(text: str) -> str:
    if _BARE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _edges(drawn: Map) -> str:
    lines = [f"# {drawn.title or drawn.name}"]
    lines += [" ".join([link.a, link.b, *_properties(link)]) for link in drawn.links]
    return "\n".join(lines) + "\n"


def _minindn(drawn: Map) -> str:
    nodes, links = map(_minindn_node, drawn.nodes), map(_minindn_link, drawn.links)
    return "\n".join(["[nodes]", *nodes, "[links]", *links]) + "\n"


def _minindn_node(node: MapNode) -> str:
    if node.at is None:
        return f"{node.name}: _"
    x, y = node.at
    return f"{node.name}: _ radius={math.hypot(x, y):.6f} angle={math.atan2(y, x):.6f}"


def _minindn_link(link: MapLink) -> str:
    words = [f"{link.a}:{link.b}"]
    words += [] if link.delay_ns is None else [f"delay={max(1, round(link.delay_ns / 1000))}us"]
    words += [] if link.rate_bps is None else [f"bw={link.rate_bps / 1e6:.15g}"]
    words += [f"loss={link.loss * 100:.15g}"] * bool(link.loss)
    return " ".join(words)


def _graphml(drawn: Map) -> str:
    """With the attributes of the Topology Zoo, and our own."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    for kind, keys in (("node", _NODE_KEYS), ("edge", _LINK_KEYS), ("graph", {"label": "string"})):
        lines += [
            f'  <key id="{kind}-{key}" for="{kind}" attr.name="{key}" attr.type="{type_}"/>'
            for key, type_ in keys.items()
        ]
    lines.append('  <graph edgedefault="undirected">')
    lines += _data("graph", {"label": drawn.title}, "    ")
    for node in drawn.nodes:
        data = _data("node", _node_values(node), "      ")
        lines += [f"    <node id={quoteattr(node.name)}>", *data, "    </node>"]
    for link in drawn.links:
        head = f"    <edge source={quoteattr(link.a)} target={quoteattr(link.b)}>"
        lines += [head, *_data("edge", _link_values(link), "      "), "    </edge>"]
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _data(kind: str, values: dict[str, str], indent: str) -> list[str]:
    return [
        f'{indent}<data key="{kind}-{key}">{escape(value)}</data>' for key, value in values.items() if value
    ]


def _gml(drawn: Map) -> str:
    lines = ["graph [", "  directed 0", *_pairs({"label": drawn.title}, "  ")]
    for number, node in enumerate(drawn.nodes):
        values = {"label": node.title, **_node_values(node)}
        lines += ["  node [", f"    id {number}", *_pairs(values, "    "), "  ]"]
    numbers = {node.name: number for number, node in enumerate(drawn.nodes)}
    for link in drawn.links:
        ends = [f"    source {numbers[link.a]}", f"    target {numbers[link.b]}"]
        lines += ["  edge [", *ends, *_pairs(_link_values(link), "    "), "  ]"]
    return "\n".join([*lines, "]", ""])


def _pairs(values: dict[str, str], indent: str) -> list[str]:
    return [f'{indent}{key} "{_entities(value)}"' for key, value in values.items() if value]


def _entities(text: str) -> str:
    """GML is ASCII: other characters, and quotes, are written as entities."""
    bare = text.replace("&", "&amp;").replace('"', "&quot;")
    return bare.encode("ascii", "xmlcharrefreplace").decode()


def _node_values(node: MapNode) -> dict[str, str]:
    values = {"label": node.title, "tags": ",".join(node.tags)}
    if node.place is not None:
        values |= {"Latitude": repr(float(node.place[0])), "Longitude": repr(float(node.place[1]))}
    if node.at is not None:
        values |= {"x": repr(float(node.at[0])), "y": repr(float(node.at[1]))}
    return values


def _link_values(link: MapLink) -> dict[str, str]:
    """The properties of a link as text; empty where it has none or the default."""
    return {
        "delay": "" if link.delay_ns is None else q.delay_text(link.delay_ns),
        "rate": "" if link.rate_bps is None else q.rate_text(link.rate_bps),
        "loss": repr(link.loss) if link.loss else "",
        "cost": str(link.cost) if link.cost != 1 else "",
        "tags": ",".join(link.tags),
    }


FORMATS: Mapping[str, Callable[[Map], str]] = {
    "map": _native,
    "graphml": _graphml,
    "gml": _gml,
    "edges": _edges,
    "minindn": _minindn,
}
ENDINGS: Mapping[str, str] = {
    ".map": "map", ".graphml": "graphml", ".gml": "gml", ".conf": "minindn", ".edges": "edges",
    ".edgelist": "edges", ".txt": "edges",
}  # fmt: skip
