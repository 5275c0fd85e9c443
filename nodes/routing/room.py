"""What a client was refused as it holds too much, until there is room for it.

Room comes back when the client withdraws something, or puts something smaller in its place. It is then told
what fits by now, in the order in which it asked, and says it again, or says that it wants it no longer. The
router keeps names and sizes alone, and of what goes beyond `NAMES_KEPT` only that there was some.

Not here: how much a client may hold (`holdings`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nodes.routing.holdings import NOTHING, Size
from nodes.wire.packets import ALL_REFUSED, NAMES_KEPT, Refused


class Waiting:
    """Of one client, and of one kind."""

    def __init__(self) -> None:
        self.forgotten = False
        """Whether something was refused of which not even the name is kept."""
        self._waiting: dict[int, tuple[Refused, Size]] = {}
        self._least: Size | None = None
        """None of these is smaller, in any respect."""
        self._offered: dict[int, Size] = {}
        """For what it was told that there is room; the room is kept until it answers."""

    def add(self, refused: Refused, size: Size) -> None:
        """It was refused."""
        if len(self._waiting) >= NAMES_KEPT:
            self.forgotten = True
            return
        self._waiting[refused.number] = refused, size
        self._least = size if self._least is None else _least(self._least, size)

    def remove(self, number: int) -> bool:
        """The client has said something else of it; False if it was not refused."""
        offered = self._offered.pop(number, None)
        waiting = self._waiting.pop(number, None)
        return offered is not None or waiting is not None

    def clear(self) -> None:
        """The client is gone."""
        self._waiting.clear()
        self._offered.clear()
        self.forgotten, self._least = False, None

    def fitting(self, room: Size) -> Iterator[Refused]:
        """Those that fit together into this room, which are then offered."""
        for size in self._offered.values():
            room = room.minus(size)
        if self._least is not None and self._least.within(room):
            for number, (refused, size) in list(self._waiting.items()):
                if size.within(room):
                    room = room.minus(size)
                    del self._waiting[number]
                    self._offered[number] = size
                    yield refused
            self._find_least()
        if not self._waiting and self.forgotten and NOTHING.within(room):
            self.forgotten = False
            yield ALL_REFUSED

    def _find_least(self) -> None:
        self._least = None
        for _, size in self._waiting.values():
            self._least = size if self._least is None else _least(self._least, size)


def _least(one: Size, other: Size) -> Size:
    return Size(
        min(one.filters, other.filters),
        min(one.constraints, other.constraints),
        min(one.size_bytes, other.size_bytes),
    )
