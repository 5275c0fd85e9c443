"""The content of a file: its bytes and text within limits, and the topology before it is cleaned.

A `Raw` has any names and any number of links.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from topologies.errors import MapError
from topologies.map import Point

FILE_MAX = 16 * 1024 * 1024


def content_of(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        MapError: It cannot be read, is too large, or holds nothing.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX + 1)
    except OSError as error:
        raise MapError(f"the map cannot be read: {error.strerror}", str(path)) from None
    if len(data) > FILE_MAX:
        raise MapError("the file is too large for a map", str(path), expected="at most 16 MiB")
    if not data.strip():
        raise MapError("the file is empty", str(path), expected="a map with at least one node")
    return data


def decoded(data: bytes, path: str) -> str:
    """A text in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        MapError: It is neither; with the line.
    """
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "convert it, as in: iconv -f latin1 -t utf-8 FILE > NEW"
        raise MapError("the text is not UTF-8", path, line, expected="UTF-8", hint=hint) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise MapError("there is a zero byte in it: this is no text", path, line, expected="a text file")
    return text


def plain_label(text: str) -> str:
    """A label in one line, without what does not print; at most 80 characters."""
    kept = "".join(c if unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    return " ".join(kept.split())[:80].strip()


@dataclass(slots=True)
class RawNode:
    """A node as the file has it."""

    key: str
    """What links call it."""
    line: int
    label: str = ""
    place: Point | None = None
    at: Point | None = None
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class RawLink:
    """A link as the file has it."""

    a: str
    b: str
    line: int
    delay_ns: int | None = None
    rate_bps: int | None = None
    loss: float = 0.0
    cost: int = 1
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class Raw:
    """A topology as the file has it."""

    path: str
    nodes: dict[str, RawNode] = field(default_factory=dict)
    links: list[RawLink] = field(default_factory=list)
    named: bool = False
    """Whether the nodes' keys are routers' names already; otherwise labels are better names than keys."""
    name: str = ""
    title: str = ""
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_node(self, node: RawNode) -> None:
        """One more node.

        Raises:
            MapError: There is one of that key.
        """
        if node.key in self.nodes:
            first = self.nodes[node.key].line
            raise MapError(
                f"there are two nodes called {shown(node.key)}",
                self.path,
                node.line,
                expected=f"each node once (first in line {first})",
            )
        self.nodes[node.key] = node

    def check_ends(self) -> None:
        """Links lead to nodes that are there.

        Raises:
            MapError: One does not.
        """
        for link in self.links:
            for end in (link.a, link.b):
                if end not in self.nodes:
                    raise MapError(
                        f"a link leads to {shown(end)}, and there is no node of that name",
                        self.path,
                        link.line,
                        expected="links between nodes that the file names",
                    )


def shown(text: str) -> str:
    """A text of a file as an error shows it: short, and nothing a terminal would obey."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")
