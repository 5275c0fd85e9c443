"""Where labels go: beside their routers, over no other label and no router.

Of the places around a router, the one that crosses the fewest links is taken. A
label that fits nowhere is left out and shown only when hovering; the picture reports
how many these are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from topologies.map import Point

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Segment = tuple[Point, Point]
_AROUND = (
    (1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -0.8), (0.8, 0.8), (-0.8, -0.8), (-0.8, 0.8),
)  # fmt: skip
_WIDE, _NARROW = "mwMW@%&", "iljtfrI.,:;'|!() 1-"


@dataclass(frozen=True, slots=True)
class Label:
    """A text where it fits; `x` is its middle, `y` its base line."""

    text: str
    x: float
    y: float


@dataclass(slots=True)
class Room:
    """The boxes that are taken on a sheet, in cells so that neighbours are found quickly."""

    width: float
    height: float
    taken: dict[tuple[int, int], list[Box]] = field(default_factory=dict)

    def take(self, box: Box) -> None:
        """Reserve a box."""
        for cell in _cells(box):
            self.taken.setdefault(cell, []).append(box)

    def is_free(self, box: Box) -> bool:
        """Whether a box is on the sheet and over nothing."""
        left, top, right, bottom = box
        if left < 4 or top < 4 or right > self.width - 4 or bottom > self.height - 4:
            return False
        return not any(
            left < other[2] and right > other[0] and top < other[3] and bottom > other[1]
            for cell in _cells(box)
            for other in self.taken.get(cell, ())
        )


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for i in range(int(box[0] // 40), int(box[2] // 40) + 1):
        for j in range(int(box[1] // 40), int(box[3] // 40) + 1):
            yield i, j


def text_width(text: str, size: float) -> float:
    """How wide a text is in most fonts without serifs; rather too wide."""
    units = sum(0.95 if c in _WIDE else 0.36 if c in _NARROW else 0.62 for c in text)
    return units * size


@dataclass(frozen=True, slots=True)
class Spot:
    """A router that needs a label."""

    text: str
    at: Point
    radius: float
    neighbours: Sequence[Point]
    """The label is preferably put away from them."""


def beside(room: Room, spot: Spot, size: float, links: Sequence[Segment]) -> Label | None:
    """The label of a router, and its place taken; None if there is no room.

    Args:
        room: The sheet, on which the label's place is reserved.
        spot: The router.
        size: Of the text.
        links: Lines that the label should not cross.
    """
    best: tuple[int, Label, Box] | None = None
    for way, gap in _ways(spot):
        label, box = _placed(spot.text, spot.at, way, spot.radius + gap, size)
        if room.is_free(box):
            crossed = sum(crosses(segment, box) for segment in links)
            if best is None or crossed < best[0]:
                best = (crossed, label, box)
            if not crossed:
                break
    if best is None:
        return None
    room.take(best[2])
    return best[1]


def _ways(spot: Spot) -> list[tuple[Point, float]]:
    """Directions with gaps: first near ones, and first those away from the neighbours."""
    x = y = 0.0
    for other in spot.neighbours:
        apart = math.dist(spot.at, other) or 1.0
        x -= (other[0] - spot.at[0]) / apart
        y -= (other[1] - spot.at[1]) / apart
    far = math.hypot(x, y)
    if far > 0.4:
        order = sorted(_AROUND, key=lambda way: -round((way[0] * x + way[1] * y) / far / math.hypot(*way), 1))
    else:
        order = list(_AROUND)
    return [(way, gap) for gap in (4.0, 12.0) for way in order]


def _placed(text: str, at: Point, way: Point, reach: float, size: float) -> tuple[Label, Box]:
    half, (dx, dy) = text_width(text, size) / 2, way
    x = at[0] + dx * reach + (half if dx > 0 else -half if dx < 0 else 0)
    y = at[1] + dy * (reach + size / 2)
    box = (x - half - 1, y - size * 0.6, x + half + 1, y + size * 0.6)
    return Label(text, x, y + size * 0.34), box


def along(room: Room, text: str, segment: Segment, size: float) -> Label | None:
    """The label of a link, near its middle; None if there is no room."""
    (ax, ay), (bx, by) = segment
    half = text_width(text, size) / 2
    if 0 < math.dist(*segment) < 3 * half:
        return None
    for share in (0.5, 0.42, 0.58, 0.34, 0.66):
        x, y = ax + share * (bx - ax), ay + share * (by - ay)
        box = (x - half, y - size * 0.55, x + half, y + size * 0.55)
        if room.is_free(box):
            room.take(box)
            return Label(text, x, y + size * 0.34)
    return None


def crosses(segment: Segment, box: Box) -> bool:
    """Whether a line enters a box (Liang and Barsky)."""
    (ax, ay), (bx, by) = segment
    start, end = 0.0, 1.0
    for begin, way, low, high in ((ax, bx - ax, box[0], box[2]), (ay, by - ay, box[1], box[3])):
        if abs(way) < 1e-9:
            if not low <= begin <= high:
                return False
            continue
        first, second = sorted(((low - begin) / way, (high - begin) / way))
        start, end = max(start, first), min(end, second)
    return start <= end


def box_around(points: Iterable[Point], reach: float) -> Box:
    """The box of some points with a margin around them."""
    listed = list(points)
    xs, ys = [x for x, _ in listed], [y for _, y in listed]
    return min(xs) - reach, min(ys) - reach, max(xs) + reach, max(ys) + reach
