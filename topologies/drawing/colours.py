"""What colour a router has: that of the tag that says most about it.

A number at the end of a tag (`pod-3`) makes it one of many: such a tag has no
colour where there are others. `core` gives way to a region: the core is larger.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from topologies.map import Map, MapNode

COLOURS = (
    ("#0969da", "#58a6ff"), ("#bc4c00", "#f0883e"), ("#1a7f37", "#3fb950"), ("#8250df", "#bc8cff"),
    ("#1b7c83", "#39c5cf"), ("#cf222e", "#ff7b72"), ("#9a6700", "#d29922"), ("#bf3989", "#f778ba"),
)  # fmt: skip
"""On a light and on a dark sheet."""
OTHER = len(COLOURS)
"""Stands for all tags after the last colour."""
_NUMBERED = re.compile(r".*-[0-9]+")
MAJOR = ("core", "transit")


@dataclass(frozen=True, slots=True)
class Colours:
    """Which tags have a colour, and which that is."""

    tags: tuple[str, ...]
    """The first has the first colour; an empty one stands for routers without a tag."""
    others: bool
    """Whether there are tags beyond the last colour."""

    def of(self, node: MapNode) -> int:
        """The number of a router's colour."""
        tag = telling(node)
        return self.tags.index(tag) if tag in self.tags else OTHER

    def legend(self) -> list[tuple[int, str]]:
        """Colours and what they tell; nothing where all are of one colour."""
        shown = [(number, tag or "router") for number, tag in enumerate(self.tags)]
        shown += [(OTHER, "other")] * self.others
        return shown if len(shown) > 1 else []


def colours_of(drawn: Map) -> Colours:
    """The colours of a map's tags, those of most routers first."""
    counts = Counter(telling(node) for node in drawn.nodes)
    known = sorted(counts, key=lambda tag: (-counts[tag], tag))
    return Colours(tuple(known[:OTHER]), len(known) > OTHER)


def telling(node: MapNode) -> str:
    """The tag that says most about a router; empty if it has none."""
    plain = [tag for tag in node.tags if not _NUMBERED.fullmatch(tag)] or list(node.tags)
    return next((tag for tag in plain if tag != "core"), plain[0] if plain else "")


def is_major(node: MapNode) -> bool:
    """Whether it is drawn larger."""
    return any(tag in MAJOR for tag in node.tags)
