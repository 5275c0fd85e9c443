"""What a file says of a topology, before it is put in order: any names, any number of links."""

from __future__ import annotations

from dataclasses import dataclass, field

from topologies.errors import MapError
from topologies.map import Point


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
    """Whether the nodes' keys are routers' names already; elsewhere a label says more than a key."""
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
