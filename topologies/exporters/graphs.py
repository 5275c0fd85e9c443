"""Maps as GraphML and GML, with the attributes that the Topology Zoo has, and our own."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from topologies import quantities as q
from topologies.map import Map, MapLink, MapNode

_NODE_KEYS = {"label": "string", "Latitude": "double", "Longitude": "double", "x": "double", "y": "double",
              "tags": "string"}  # fmt: skip
_LINK_KEYS = {"delay": "string", "rate": "string", "loss": "double", "cost": "int", "tags": "string"}


def graphml_of(drawn: Map) -> str:
    """GraphML; notes are left out."""
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
        told = _data("node", _node_told(node), "      ")
        lines += [f"    <node id={quoteattr(node.name)}>", *told, "    </node>"]
    for link in drawn.links:
        head = f"    <edge source={quoteattr(link.a)} target={quoteattr(link.b)}>"
        lines += [head, *_data("edge", _link_told(link), "      "), "    </edge>"]
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


def _data(kind: str, told: dict[str, str], indent: str) -> list[str]:
    return [
        f'{indent}<data key="{kind}-{key}">{escape(value)}</data>' for key, value in told.items() if value
    ]


def gml_of(drawn: Map) -> str:
    """GML; sources and notes are left out."""
    lines = ["graph [", "  directed 0", *_pairs({"label": drawn.title}, "  ")]
    for number, node in enumerate(drawn.nodes):
        told = {"label": node.title, **_node_told(node)}
        lines += ["  node [", f"    id {number}", *_pairs(told, "    "), "  ]"]
    numbers = {node.name: number for number, node in enumerate(drawn.nodes)}
    for link in drawn.links:
        ends = [f"    source {numbers[link.a]}", f"    target {numbers[link.b]}"]
        lines += ["  edge [", *ends, *_pairs(_link_told(link), "    "), "  ]"]
    return "\n".join([*lines, "]", ""])


def _pairs(told: dict[str, str], indent: str) -> list[str]:
    return [f'{indent}{key} "{_entities(value)}"' for key, value in told.items() if value]


def _entities(text: str) -> str:
    """GML is ASCII: what is not, and quotes, are written as entities."""
    bare = text.replace("&", "&amp;").replace('"', "&quot;")
    return bare.encode("ascii", "xmlcharrefreplace").decode()


def _node_told(node: MapNode) -> dict[str, str]:
    told = {"label": node.title, "tags": ",".join(node.tags)}
    if node.place is not None:
        told |= {"Latitude": repr(float(node.place[0])), "Longitude": repr(float(node.place[1]))}
    if node.at is not None:
        told |= {"x": repr(float(node.at[0])), "y": repr(float(node.at[1]))}
    return told


def _link_told(link: MapLink) -> dict[str, str]:
    return {
        "delay": "" if link.delay_ns is None else q.delay_text(link.delay_ns),
        "rate": "" if link.rate_bps is None else q.rate_text(link.rate_bps),
        "loss": repr(link.loss) if link.loss else "",
        "cost": str(link.cost) if link.cost != 1 else "",
        "tags": ",".join(link.tags),
    }
