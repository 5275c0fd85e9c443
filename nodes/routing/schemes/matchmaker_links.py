"""The mark of one link in each direction, and how its two ends change it (MM 5.3; K7, K8; decision 31).

The upstream end decides. While a change is under way both sorts of descriptors are held over the link:

    s becomes p: CHANGE_MARKING carries the PCDs, the SCDs that are held stay until the reply
    p becomes s: PCDs go on, the reply carries the SCDs

Not here: which mark it is to be (`matchmaker_marks`), what is held (`matchmaker_state`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache

from nodes.routing.digests import SetDigest, hashed
from nodes.routing.schemes.matchmaker_trees import Key

_KEY = struct.Struct(">4Q")
NUMBERS = (1 << 32) - 1
"""Changes are numbered from 1 to this, and then from 1 again."""


@dataclass(slots=True)
class Link:
    """A link that has joined, as one of its ends has it."""

    neighbour: int
    is_p_out: bool
    """The mark away from us, which we decide; the one asked for while `asked_ns` is set."""
    is_p_in: bool
    """The mark towards us."""
    number: int = 0
    """Of the last change away from us."""
    asked_ns: int | None = None
    """Since when a reply is awaited."""
    answered: int = NUMBERS
    """The number of the last change towards us; one that no first change has before there was any."""
    doubted_ns: int | None = None
    """Since when the mark towards us is not what announced causes make it, or since we said so."""
    sent: SetDigest = field(default_factory=SetDigest)
    received: SetDigest = field(default_factory=SetDigest)
    count: int = 0
    """How much is held from it."""

    def carries_out(self, published: bool) -> bool:
        """Whether PCDs go over it away from us, or SCDs."""
        if published:
            return self.is_p_out or self.asked_ns is not None
        return not self.is_p_in

    def carries_in(self, published: bool) -> bool:
        """Whether PCDs may come over it, or SCDs."""
        if published:
            return self.is_p_in
        return not self.is_p_out or self.asked_ns is not None

    def ask(self, now_ns: int, is_p: bool) -> None:
        """Begin a change."""
        self.is_p_out = is_p
        self.number = self.number % NUMBERS + 1
        self.asked_ns = now_ns

    def doubt(self, now_ns: int, is_wrong: bool) -> None:
        """Note whether the mark towards us is another than it should be."""
        if not is_wrong:
            self.doubted_ns = None
        elif self.doubted_ns is None:
            self.doubted_ns = now_ns

    def state(self) -> tuple[int, bool, bool, bool]:
        """The neighbour, the marks away from us and towards us, and whether ours is changing."""
        return self.neighbour, self.is_p_out, self.is_p_in, self.asked_ns is not None

    def marks(self) -> tuple[str, str]:
        """For the digests of both ends: (away from us, towards us)."""
        waiting = "?" if self.asked_ns is not None else ""
        return f"{int(self.is_p_out)}{waiting}", f"{int(self.is_p_in)}"


def toggle(digest: SetDigest, key: Key) -> None:
    """A key was told, or withdrawn."""
    digest.toggle_hash(_hashed(key))


@lru_cache(maxsize=4_096)
def _hashed(key: Key) -> int:
    return hashed(0, _KEY.pack(*key.fields))  # counted at both ends of many links
