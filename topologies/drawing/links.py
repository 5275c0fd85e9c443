"""The lines of links: straight, but bent around routers they would run through, and around the world."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from topologies.drawing.labels import Segment
from topologies.drawing.placing import Sheet
from topologies.map import Map, MapLink, Point

BENT_UP_TO = 60
"""Links; with more, all lines are straight, since curves would not make them clearer."""


@dataclass(frozen=True, slots=True)
class Line:
    """A link on the sheet."""

    link: MapLink
    path: str
    """The `d` of an SVG path."""
    segments: tuple[Segment, ...]
    """Roughly where it runs."""
    whole: bool = True
    """Whether it runs from end to end, rather than off the sheet and in again."""


def lines_of(drawn: Map, sheet: Sheet) -> list[Line]:
    """The lines of all links of a map."""
    look = len(drawn.links) <= BENT_UP_TO
    return [_line(link, sheet, look) for link in drawn.links]


def _line(link: MapLink, sheet: Sheet, look: bool) -> Line:
    a, b = sheet.at[link.a], sheet.at[link.b]
    if sheet.wraps and abs(a[0] - b[0]) > sheet.wraps / 2:
        return _around_the_world(link, a, b, sheet)
    if look and any(_runs_through(a, b, sheet, link)):
        return _bent(link, a, b, sheet.at)
    return Line(link, _straight(a, b), ((a, b),))


def _around_the_world(link: MapLink, a: Point, b: Point, sheet: Sheet) -> Line:
    west, east = sorted((a, b))
    assert sheet.wraps is not None
    beyond = (east[0] - sheet.wraps, east[1])
    share = (west[0] - 0.0) / (west[0] - beyond[0])
    edge_y = west[1] + share * (beyond[1] - west[1])
    # On the other side it comes in at the height at which it is that far from the east.
    other = (west[0] + sheet.wraps, west[1])
    inner = (sheet.width - east[0]) / (other[0] - east[0])
    there_y = east[1] + inner * (other[1] - east[1])
    parts = ((west, (0.0, edge_y)), (east, (sheet.width, there_y)))
    return Line(link, "".join(_straight(*part) for part in parts), parts, whole=False)


def _runs_through(a: Point, b: Point, sheet: Sheet, link: MapLink) -> Iterator[bool]:
    reach = sheet.radius + 1
    low_x, high_x = min(a[0], b[0]) - reach, max(a[0], b[0]) + reach
    for name, point in sheet.at.items():
        if low_x <= point[0] <= high_x and name not in (link.a, link.b):
            yield _distance(point, a, b) < reach


def _distance(point: Point, a: Point, b: Point) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy
    if length < 1e-9:
        return math.dist(point, a)
    share = max(0.0, min(1.0, ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / length))
    return math.dist(point, (a[0] + share * dx, a[1] + share * dy))


def _bent(link: MapLink, a: Point, b: Point, at: Mapping[str, Point]) -> Line:
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy)
    bend = min(48.0, 0.08 * length + 10) / max(length, 1e-9)
    # To the side away from the middle of all: there is more room.
    middle = (sum(x for x, _ in at.values()) / len(at), sum(y for _, y in at.values()) / len(at))
    mx, my = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    side = 1 if (mx - middle[0]) * -dy + (my - middle[1]) * dx >= 0 else -1
    top = (mx - side * dy * bend, my + side * dx * bend)
    control = (2 * top[0] - mx, 2 * top[1] - my)
    path = f"M{_xy(a)}Q{_xy(control)} {_xy(b)}"
    return Line(link, path, ((a, top), (top, b)))


def _straight(a: Point, b: Point) -> str:
    return f"M{_xy(a)}L{_xy(b)}"


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
