"""Maps from files: which format a file is in, and the way from the file to a map.

`read_map` is the entry. The formats have a module each (`graphml`, `gml`, `minindn`,
`edge_list`, `native`); each makes a `Raw` of the text, and `cleaning` makes a
`Map` of that, the same way for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from topologies.errors import MapError
from topologies.importers import edge_list, gml, graphml, minindn, native
from topologies.importers.cleaning import MapOptions, cleaned
from topologies.importers.raw import Raw, content_of, decoded
from topologies.map import Map

__all__ = ["EXTENSIONS", "FORMATS", "MapOptions", "read_map"]

FORMATS: Mapping[str, Callable[[bytes, str], Raw]] = {
    "graphml": graphml.read,
    "gml": lambda data, path: gml.read(decoded(data, path), path),
    "minindn": lambda data, path: minindn.read(decoded(data, path), path),
    "map": lambda data, path: native.read(decoded(data, path), path),
    "edges": lambda data, path: edge_list.read(decoded(data, path), path),
}
EXTENSIONS: Mapping[str, str] = {
    ".graphml": "graphml", ".xml": "graphml", ".gml": "gml", ".conf": "minindn", ".map": "map",
    ".edges": "edges", ".edgelist": "edges", ".csv": "edges", ".tsv": "edges", ".txt": "edges",
}  # fmt: skip
"""The format of a file by the ending of its name."""


def read_map(
    path: str | Path, options: MapOptions | None = None, form: str | None = None, called: str = ""
) -> Map:
    """The map in a file.

    Args:
        path: The file.
        options: What to leave out.
        form: One of `FORMATS`; by default by the ending of the name, else by the text.
        called: What errors call the file; by default its path.

    Raises:
        MapError: The file cannot be read, or makes no usable map.
    """
    shown, data = called or str(path), content_of(Path(path))
    if form is not None and form not in FORMATS:
        raise MapError(f"unknown format {form}", shown, expected=f"one of {', '.join(FORMATS)}")
    form = form or EXTENSIONS.get(Path(path).suffix.lower()) or _looks_like(data)
    return cleaned(FORMATS[form](data, shown), Path(path).stem, shown, options or MapOptions())


def _looks_like(data: bytes) -> str:
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    lines = [line.strip() for line in start.splitlines() if line.strip() and not line.startswith(b"#")]
    first = lines[0] if lines else b""
    if first.startswith(b"<") or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "graphml"
    if first.split()[:1] in ([b"graph"], [b"Creator"]) or first.startswith(b"graph["):
        return "gml"
    if first.startswith(b"["):
        return "minindn"
    return "map" if first.startswith((b"map ", b"title ", b"node ")) else "edges"
