"""Where each router of a map is on the sheet.

By its place on earth if at least half of the routers have one, else by the place in a
drawing that the map gives it, else by the graph alone. Routers without a place are put
beside their neighbours; no router covers another.

A region of the earth is drawn by Lambert's azimuthal projection around its middle, which
keeps areas; a map that reaches around the world by Miller's cylinder, which keeps
meridians upright and has an edge where links to the other side leave.

Without places, distances on the sheet approximate those in the graph: stress is reduced
pair by pair with ever smaller steps. For large graphs only links, and the distances to
some routers, are used. The random stream has a fixed seed, so the same graph is always
drawn alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

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
    drawn_at = {node.name: node.at for node in drawn.nodes if node.at is not None}
    if 2 * len(drawn_at) >= len(drawn.nodes):
        return _completed(drawn, drawn_at), None
    return laid_out(drawn.neighbours()), None


def _pull(points: list[Point]) -> Callable[[Point], Point]:
    """Draws far routers nearer if a few of them would make the others small."""
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
    """Push routers apart that are too near, in small steps."""
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


WIDE = 120.0
"""A map that spans at least this many degrees is one of the world."""
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


ALL_PAIRS_UP_TO = 160
PIVOTS = 24
ROUNDS = 24
Term = tuple[int, int, float]
"""Two routers and how far apart they should be."""


def laid_out(neighbours: Mapping[str, Sequence[str]]) -> dict[str, Point]:
    """A place for each router of a connected graph; wider than high."""
    names = list(neighbours)
    number = {name: i for i, name in enumerate(names)}
    near = [[number[other] for other in neighbours[name]] for name in names]
    rng = Random("drawing")
    x = [rng.uniform(-1, 1) * math.sqrt(len(names)) for _ in names]
    y = [rng.uniform(-1, 1) * math.sqrt(len(names)) for _ in names]
    terms = _terms(near, rng)
    if terms:
        _settle(x, y, terms, rng)
    return dict(zip(names, _lying(x, y), strict=True))


def _terms(near: list[list[int]], rng: Random) -> list[Term]:
    count = len(near)
    from_ = range(count) if count <= ALL_PAIRS_UP_TO else sorted(rng.sample(range(count), PIVOTS))
    terms: dict[tuple[int, int], float] = {(a, b): 1.0 for a in range(count) for b in near[a] if a < b}
    for a in from_:
        for b, distance in enumerate(_distances(near, a)):
            if b != a and distance:
                terms.setdefault((min(a, b), max(a, b)), float(distance))
    return [(a, b, distance) for (a, b), distance in terms.items()]


def _distances(near: list[list[int]], first: int) -> list[int]:
    found = [0] * len(near)
    order = [first]
    for node in order:
        for other in near[node]:
            if not found[other] and other != first:
                found[other] = found[node] + 1
                order.append(other)
    return found


def _settle(x: list[float], y: list[float], terms: list[Term], rng: Random) -> None:
    longest = max(distance for *_, distance in terms)
    step, least = longest**2, 0.1
    cooling = (least / step) ** (1 / (ROUNDS - 1)) if step > least else 1.0
    for _ in range(ROUNDS):
        rng.shuffle(terms)
        for a, b, wanted in terms:
            dx, dy = x[a] - x[b], y[a] - y[b]
            apart = math.sqrt(dx * dx + dy * dy) or 1e-9
            move = min(step / (wanted * wanted), 1.0) * (apart - wanted) / (2 * apart)
            x[a] -= move * dx
            y[a] -= move * dy
            x[b] += move * dx
            y[b] += move * dy
        step *= cooling


def _lying(x: list[float], y: list[float]) -> list[Point]:
    """Turned so that the long side is across."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xx = sum((a - mean_x) ** 2 for a in x)
    yy = sum((b - mean_y) ** 2 for b in y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    turn = math.atan2(2 * xy, xx - yy) / 2
    cos, sin = math.cos(turn), math.sin(turn)
    return [
        ((a - mean_x) * cos + (b - mean_y) * sin, (b - mean_y) * cos - (a - mean_x) * sin)
        for a, b in zip(x, y, strict=True)
    ]
