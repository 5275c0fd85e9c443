"""Maps to files: the project's own format, and those that others read.

What a format has no word for is left out: see each module. A map that is written
in its own format and read again is the same map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from topologies.exporters import graphs, native, plain
from topologies.map import Map

FORMATS: Mapping[str, Callable[[Map], str]] = {
    "map": native.text_of,
    "graphml": graphs.graphml_of,
    "gml": graphs.gml_of,
    "edges": plain.edges_of,
    "minindn": plain.minindn_of,
}
ENDINGS: Mapping[str, str] = {
    ".map": "map", ".graphml": "graphml", ".gml": "gml", ".conf": "minindn", ".edges": "edges",
    ".edgelist": "edges", ".txt": "edges",
}  # fmt: skip


def exported(drawn: Map, form: str) -> str:
    """A map as a text in one of `FORMATS`; KeyError if it is none of them."""
    return FORMATS[form](drawn)
