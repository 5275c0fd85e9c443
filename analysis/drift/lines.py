"""The lines through time that the difference of two clocks can be, between bounds from both directions.

What one node sends to the other bounds from above by how much the receiver's clock can be ahead, at the
moment of sending; what comes back bounds it from below. If both clocks run evenly, their difference is a
line, and a line is its values at two moments: the first and the last. So all lines between the bounds are a
convex polygon, and what they differ by at these two moments is how little is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_DRIFT = 500e-6
"""Of any clock: more is no clock but a defect; NTP gives up there, too."""
ROUNDING_NS = 0.01
"""Lines may be outside of bounds by this: corners far away are as precise as that."""
FAR_NS = 1e12
"""So far lines are looked for: differences of clocks are small after a rough estimate."""

Floats = NDArray[np.float64]


class Line(NamedTuple):
    """By how much a clock is ahead, in nanoseconds, at the first and the last moment."""

    first: float
    last: float

    def at(self, share: Floats) -> Floats:
        """At moments between: 0 is the first, 1 the last."""
        return self.first + (self.last - self.first) * share

    def plus(self, other: Line) -> Line:
        """The sum."""
        return Line(self.first + other.first, self.last + other.last)

    def minus(self, other: Line) -> Line:
        """The difference."""
        return Line(self.first - other.first, self.last - other.last)


ZERO = Line(0.0, 0.0)


class Points(NamedTuple):
    """Bounds of one kind: when, as a share of the time between the two moments, and how much."""

    share: Floats
    ns: Floats


@dataclass(frozen=True, slots=True)
class Box:
    """The least and the most that a line can be at both moments."""

    low: Line
    high: Line

    def plus(self, other: Box) -> Box:
        """Of the sum of two lines, each within one of the boxes."""
        return Box(self.low.plus(other.low), self.high.plus(other.high))

    def reversed(self) -> Box:
        """Of the line with the other sign."""
        return Box(ZERO.minus(self.high), ZERO.minus(self.low))

    @property
    def width_ns(self) -> float:
        """The larger of both."""
        return max(self.high.minus(self.low))

    def farthest_ns(self, line: Line) -> float:
        """How far a line of the box can be from this one, at any moment between."""
        return max(0.0, *line.minus(self.low), *self.high.minus(line))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the difference of two clocks."""

    above: Points
    """The difference is at most this."""
    below: Points
    """It is at least this."""
    most_slope_ns: float
    """So much it can change from the first moment to the last."""

    def violation_ns(self, line: Line) -> float:
        """By how much a line is outside of the bounds; negative: it is inside everywhere, by so much."""
        over = line.at(self.above.share) - self.above.ns
        under = self.below.ns - line.at(self.below.share)
        return float(max(over.max(initial=-FAR_NS), under.max(initial=-FAR_NS)))

    def constant_beside(self, line: Line) -> float | None:
        """A constant whose difference to `line` is between the bounds, in the middle of those; None: none is.

        If one side is not bounded, it is at the other.
        """
        high = (self.above.ns + line.at(self.above.share)).min(initial=np.inf)
        low = (self.below.ns + line.at(self.below.share)).max(initial=-np.inf)
        if low > high:
            return None
        known = [float(each) for each in (low, high) if np.isfinite(each)]
        return sum(known) / len(known)

    def lines(self, slack_ns: float = 0.0) -> list[Line]:
        """The corners of the polygon of all lines within the bounds, or outside by at most the slack."""
        slope = self.most_slope_ns
        corners = [
            Line(-FAR_NS, -FAR_NS - slope),
            Line(FAR_NS, FAR_NS - slope),
            Line(FAR_NS, FAR_NS + slope),
            Line(-FAR_NS, -FAR_NS + slope),
        ]
        slack_ns += ROUNDING_NS
        for share, ns in _hull(self.above, 1.0):
            corners = _cut(corners, share, ns + slack_ns, 1.0)
        for share, ns in _hull(self.below, -1.0):
            corners = _cut(corners, share, ns - slack_ns, -1.0)
        return corners

    def slack_ns(self, most_ns: float) -> float | None:
        """The least slack with which there is a line, if there is none without; None: above `most_ns`."""
        if not self.lines(most_ns):
            return None
        low, high = 0.0, most_ns
        while high - low > max(1.0, high / 1000):
            middle = (low + high) / 2
            low, high = (low, middle) if self.lines(middle) else (middle, high)
        return high


def box_of(corners: Sequence[Line]) -> Box:
    """Around these lines."""
    firsts, lasts = zip(*corners, strict=True)
    return Box(Line(min(firsts), min(lasts)), Line(max(firsts), max(lasts)))


def middle_of(corners: Sequence[Line]) -> Line:
    """A line of the polygon: the mean of those that are least and most at both moments."""
    extremes = [pick(corners, key=itemgetter(n)) for pick in (min, max) for n in (0, 1)]
    return Line(sum(line.first for line in extremes) / 4, sum(line.last for line in extremes) / 4)


def _hull(points: Points, sign: float) -> list[tuple[float, float]]:
    """The points that matter to a line below all of them (sign 1), or above all of them (sign -1)."""
    order = np.lexsort([sign * points.ns, points.share])
    hull: list[tuple[float, float]] = []
    for x, y in zip(points.share[order].tolist(), (sign * points.ns[order]).tolist(), strict=True):
        if hull and hull[-1][0] == x:
            continue
        while len(hull) > 1 and _turns_right(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return [(x, sign * y) for x, y in hull]


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) <= (b[1] - a[1]) * (c[0] - a[0])


def _cut(corners: list[Line], share: float, ns: float, sign: float) -> list[Line]:
    """The part of a convex polygon whose lines are at most (sign 1) or at least (-1) so much at a moment."""
    over = [sign * (line.first + (line.last - line.first) * share - ns) for line in corners]
    kept: list[Line] = []
    for n, line in enumerate(corners):
        before, here = over[n - 1], over[n]
        if (before < 0 < here) or (here < 0 < before):
            other, part = corners[n - 1], before / (before - here)
            kept.append(
                Line(
                    other.first + (line.first - other.first) * part,
                    other.last + (line.last - other.last) * part,
                )
            )
        if here <= 0:
            kept.append(line)
    return kept
