"""Where each router of a map stands on the sheet.

By its place on earth where most have one, else by the place the map gives it in a
drawing, else by the graph alone. Routers without a place stand beside their
neighbours; none stands on another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topologies.drawing.projection import Projection
from topologies.drawing.spring import laid_out
from topologies.map import Map, Point

WIDTH = 960.0
MARGIN = 56.0
TALLEST, LOWEST = 720.0, 170.0
Line = list[Point]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A map on paper: sizes and places in pixels."""

    width: float
    height: float
    at: Mapping[str, Point]
    radius: float
    """Of a router of few links."""
    grid: tuple[Line, ...] = ()
    """Meridians and parallels, where places are on earth."""
    wraps: float | None = None
    """How far it is around the world, where the sheet shows all of it."""


def sheet_of(drawn: Map) -> Sheet:
    """The sheet for a map."""
    count = len(drawn.nodes)
    raw, view = _raw(drawn)
    pull = _pull(list(raw.values())) if view and not view.wraps else lambda point: point
    raw = {name: pull(point) for name, point in raw.items()}
    scale, move, height = _fit(raw)
    at = {name: move(point) for name, point in raw.items()}
    radius = max(2.0, min(7.0, 34 / math.sqrt(count)))
    height = _spread(at, 4 * radius + 6 if count <= 60 else 2 * radius + 2, height)
    grid = tuple([move(pull(point)) for point in line] for line in view.grid()) if view else ()
    wraps = view.wraps * scale if view and view.wraps else None
    return Sheet(WIDTH, height, at, radius, grid, wraps)


def _raw(drawn: Map) -> tuple[dict[str, Point], Projection | None]:
    placed = {node.name: node.place for node in drawn.nodes if node.place is not None}
    if 2 * len(placed) >= len(drawn.nodes):
        view = Projection.of(list(placed.values()))
        return _completed(drawn, {name: view.at(place) for name, place in placed.items()}), view
    told = {node.name: node.at for node in drawn.nodes if node.at is not None}
    if 2 * len(told) >= len(drawn.nodes):
        return _completed(drawn, told), None
    return laid_out(drawn.neighbours()), None


def _pull(points: list[Point]) -> Callable[[Point], Point]:
    """Draws the far ends of the earth nearer, where a few routers would make the others small."""
    x0 = sorted(x for x, _ in points)[len(points) // 2]
    y0 = sorted(y for _, y in points)[len(points) // 2]
    far = sorted(math.dist((x0, y0), point) for point in points)
    near = 1.3 * far[int(0.8 * (len(far) - 1))]
    if len(points) < 8 or far[-1] < 2 * near or not near:
        return lambda point: point

    def nearer(point: Point) -> Point:
        distance = math.dist((x0, y0), point)
        share = near * (1 + 0.5 * math.log(distance / near)) / distance if distance > near else 1.0
        return x0 + (point[0] - x0) * share, y0 + (point[1] - y0) * share

    return nearer


def _completed(drawn: Map, known: Mapping[str, Point]) -> dict[str, Point]:
    """Those without a place in a fan beside the first neighbour that has one, away from the middle."""
    near, at = drawn.neighbours(), dict(known)
    fans: dict[str, int] = {}
    step = _usual_length(drawn, known) * 0.3
    centre = _mean(list(known.values()))
    waiting = [name for name in near if name in known]
    for name in waiting:
        for other in (n for n in near[name] if n not in at):
            x, y = at[name]
            turn = fans[name] = fans.get(name, -1) + 1
            outwards = math.atan2(y - centre[1], x - centre[0]) if (x, y) != centre else -math.pi / 2
            angle = outwards + (turn + 1) // 2 * 0.6 * (-1 if turn % 2 else 1)
            at[other] = (x + step * math.cos(angle), y + step * math.sin(angle))
            waiting.append(other)
    return {name: at[name] for name in near if name in at}


def _usual_length(drawn: Map, known: Mapping[str, Point]) -> float:
    lengths = sorted(math.dist(known[k.a], known[k.b]) for k in drawn.links if k.a in known and k.b in known)
    return lengths[len(lengths) // 2] if lengths and lengths[-1] else 1.0


def _mean(points: list[Point]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _fit(raw: Mapping[str, Point]) -> tuple[float, Callable[[Point], Point], float]:
    """Scale, the way from a place to the sheet, and the sheet's height."""
    left, right = min(x for x, _ in raw.values()), max(x for x, _ in raw.values())
    top, bottom = min(y for _, y in raw.values()), max(y for _, y in raw.values())
    wide, high = max(right - left, 1e-9), max(bottom - top, 1e-9)
    across = WIDTH - 2 * MARGIN
    scale = min(across / wide, (TALLEST - 2 * MARGIN) / high)
    if len(raw) == 1:
        scale = 1.0
    height = max(LOWEST, high * scale + 2 * MARGIN)
    x0 = WIDTH / 2 - scale * (left + right) / 2
    y0 = height / 2 - scale * (top + bottom) / 2
    return scale, lambda point: (x0 + scale * point[0], y0 + scale * point[1]), height


def _spread(at: dict[str, Point], apart: float, height: float) -> float:
    """Push apart those that are too near, a little at a time."""
    names = list(at)
    apart = min(apart, 0.7 * math.sqrt(WIDTH * height / len(names)))
    for _ in range(60):
        if not _push(at, names, apart, height):
            break
    return height


def _push(at: dict[str, Point], names: list[str], apart: float, height: float) -> bool:
    order = sorted(names, key=lambda name: at[name])
    moved = False
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            (ax, ay), (bx, by) = at[a], at[b]
            if bx - ax >= apart:
                break
            distance = math.hypot(bx - ax, by - ay)
            if distance < apart - 0.1:
                moved = True
                # Two at one point part along a direction of their own.
                turn = math.atan2(by - ay, bx - ax) if distance > 0.01 else 2.4 * i
                push = (apart - distance) / 2
                at[a] = _inside(ax - push * math.cos(turn), ay - push * math.sin(turn), height)
                at[b] = _inside(bx + push * math.cos(turn), by + push * math.sin(turn), height)
    return moved


def _inside(x: float, y: float, height: float) -> Point:
    return min(max(x, 20.0), WIDTH - 20.0), min(max(y, 20.0), height - 20.0)
