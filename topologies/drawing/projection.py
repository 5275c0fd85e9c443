"""The earth on paper: from latitude and longitude to a plane, x to the right and y downwards.

A region is drawn by Lambert's azimuthal projection around its middle, which keeps
areas; what reaches around the world by Miller's cylinder, which keeps meridians
upright and has an edge where links to the other side leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from topologies.map import Point

WIDE = 120.0
"""From so many degrees on, a map is one of the world."""
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30)
"""Degrees between the lines of the grid."""


@dataclass(frozen=True, slots=True)
class Projection:
    """One view of the earth."""

    middle: Point
    span: float
    """The greater of the degrees that the places span, north to south and west to east."""

    @classmethod
    def of(cls, places: Sequence[Point]) -> Projection:
        """The view that shows these places."""
        lon, width = _middle_of_circle([lon for _, lon in places])
        south, north = min(lat for lat, _ in places), max(lat for lat, _ in places)
        if width >= WIDE:
            lon = 10.0  # the sea between Asia and America is the widest gap for a map's edge
        return cls(((south + north) / 2, lon), max(width, north - south))

    @property
    def wraps(self) -> float | None:
        """How wide the whole world is, if the view has an edge to leave by."""
        return 2 * math.pi if self.span >= WIDE else None

    def at(self, place: Point) -> Point:
        """Where a place is on paper."""
        lat, lon = math.radians(place[0]), math.radians(_turned(place[1] - self.middle[1]))
        if self.wraps:
            return lon, -1.25 * math.asinh(math.tan(0.8 * lat))
        lat0 = math.radians(self.middle[0])
        cos = math.sin(lat0) * math.sin(lat) + math.cos(lat0) * math.cos(lat) * math.cos(lon)
        k = math.sqrt(2 / max(1e-9, 1 + cos))
        x = k * math.cos(lat) * math.sin(lon)
        return x, -k * (math.cos(lat0) * math.sin(lat) - math.sin(lat0) * math.cos(lat) * math.cos(lon))

    def grid(self) -> Iterator[list[Point]]:
        """Meridians and parallels around the places, as lines on paper."""
        step = next((s for s in _STEPS if self.span / s <= 8), 30)
        reach = 180.0 if self.wraps else min(60.0, 0.8 * self.span)
        lat0, lon0 = self.middle
        top = 85.0 if self.wraps else min(89.0, lat0 + reach)
        bottom = -70.0 if self.wraps else max(-89.0, lat0 - reach)
        fine = max((top - bottom) / 24, 0.01)
        for lon in _multiples(lon0 - reach, lon0 + reach, step):
            yield [self.at((min(bottom + i * fine, top), lon)) for i in range(25)]
        for lat in _multiples(bottom, top, step):
            yield [self.at((lat, lon0 - reach + 1e-6 + i * (2 * reach - 2e-6) / 48)) for i in range(49)]


def _multiples(low: float, high: float, step: float) -> list[float]:
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _turned(degrees: float) -> float:
    """An angle as -180 to 180 degrees."""
    return (degrees + 180) % 360 - 180


def _middle_of_circle(longitudes: Sequence[float]) -> tuple[float, float]:
    """The middle of the shortest arc that holds all, and how many degrees it has."""
    ordered = sorted({lon % 360 for lon in longitudes})
    gaps = [(b - a, a, b) for a, b in zip(ordered, [*ordered[1:], ordered[0] + 360], strict=True)]
    gap, _, east = max(gaps)
    width = 360 - gap
    return _turned(east + width / 2), width
