"""Which links messages have crossed, and which of these crossings nobody got anything of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MessageId = tuple[int, int]
"""(source, sequence)."""


@dataclass(slots=True)
class Crossings:
    """Of the messages of a window."""

    all: int = 0
    wasted: int = 0


@dataclass(slots=True)
class Paths:
    """Links between routers that messages have crossed, message by message."""

    _links: dict[MessageId, list[tuple[str, str]]] = field(default_factory=dict)
    _window: dict[MessageId, int] = field(default_factory=dict)

    def crossed(self, message: MessageId, window: int, from_: str, to: str) -> None:
        """A message of a window has crossed a link."""
        self._links.setdefault(message, []).append((from_, to))
        self._window[message] = window

    def counted(
        self, events: Iterable[Mapping[str, Any]], homes: Mapping[str, str]
    ) -> Mapping[int, Crossings]:
        """How many there were, by window.

        Args:
            events: Of the clients: what was delivered to whom.
            homes: Each client's router.
        """
        reached: dict[MessageId, set[str]] = defaultdict(set)
        for event in events:
            if event["event"] == "deliver":
                reached[event["source"], event["sequence"]].add(homes[event["node"]])
        found: dict[int, Crossings] = defaultdict(Crossings)
        for message, links in self._links.items():
            counts = found[self._window[message]]
            counts.all += len(links)
            counts.wasted += len(links) - _useful(links, reached[message])
        return found


def _useful(links: list[tuple[str, str]], reached: set[str]) -> int:
    """How many of the links lead to a router with a delivery: the ways back from these to the source."""
    before = {to: from_ for from_, to in reversed(links)}
    """From where a message first came."""
    seen: set[str] = set()
    for router in reached:
        at = router
        while at in before and at not in seen:
            seen.add(at)
            at = before[at]
    return len(seen)
