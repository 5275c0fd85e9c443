"""Soft state of `bp`, `bs` and `amsp`: what is not told again expires (MM 5.4; K9; decision 31).

Every `refresh_ms` a router tells again, with the flag AGAIN, its own descriptors and the matches that it has
made; whoever holds them holds them for another `lifetime_ms`, and tells them on to where it told them
before. What was not told again for that long is taken as withdrawn. A match that was made here, whose
descriptors no longer both come here, is withdrawn after that time: another router makes it now.

Not here: what is held and told (`fastpath.meeting`).
"""

from __future__ import annotations

import random
from collections import deque

from nodes.config import MILLISECOND_NS
from nodes.model.meeting import Key

JITTER = 0.1
"""A refresh comes earlier or later by up to this share."""
Held = tuple[int, Key]
"""Something held from an interface."""


class Lifetimes:
    """How long what is held lives, and when what is ours is to be told again.

    Args:
        refresh_ms: How often that is.
        lifetime_ms: How long after it was last told something lives.
        rng: Of the jitter.
    """

    def __init__(self, refresh_ms: int, lifetime_ms: int, rng: random.Random) -> None:
        self._refresh_ms = refresh_ms
        self._lifetime_ns = lifetime_ms * MILLISECOND_NS
        self._rng = rng
        self._refresh_at: int | None = None
        self._told: dict[Held, int] = {}
        """When each was last told; also of some that are not held any more."""
        self._order: deque[tuple[int, Held]] = deque()

    def touch(self, now_ns: int, interface: int, key: Key) -> None:
        """Something has come over a link, or come again."""
        held = interface, key
        self._told[held] = now_ns
        self._order.append((now_ns, held))

    def begin(self, now_ns: int, interface: int, key: Key) -> None:
        """Something has lost its reason, now if not earlier: it has this long to find another."""
        if (interface, key) not in self._told:
            self.touch(now_ns, interface, key)

    def take_expired(self, now_ns: int) -> list[Held]:
        """What has not been told for too long, if it is still held."""
        found = []
        while self._order and self._order[0][0] + self._lifetime_ns <= now_ns:
            told_ns, held = self._order.popleft()
            if self._told.get(held) == told_ns:
                del self._told[held]
                found.append(held)
        return found

    def start(self, now_ns: int) -> None:
        """Begin to tell again, if that has not begun."""
        if self._refresh_at is None:
            factor = 1 + JITTER * (2 * self._rng.random() - 1)
            self._refresh_at = now_ns + max(1, round(self._refresh_ms * factor * MILLISECOND_NS))

    def take_refresh(self, now_ns: int) -> bool:
        """Whether what is ours is to be told again now."""
        if self._refresh_at is None or now_ns < self._refresh_at:
            return False
        self._refresh_at = None
        self.start(now_ns)
        return True

    def next_deadline(self) -> int | None:
        """When something may expire, or is to be told again; None before the start."""
        times = [self._refresh_at] if self._refresh_at is not None else []
        times += [self._order[0][0] + self._lifetime_ns] if self._order else []
        return min(times, default=None)
