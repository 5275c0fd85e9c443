"""Random waypoint: somebody walks straight to a point of a square world, then to another (MM 6, K10).

Positions are shares of the world's side, from 0 to below 1, so that a walk is the same
whatever number of squares the world is divided into. Not here: who walks, and what
comes of a new square (`dis`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot
from random import Random

Point = tuple[float, float]
Square = tuple[int, int]
"""Column and row, from 0."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A straight way at one speed."""

    begin_s: float
    lasts_s: float
    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Gait:
    """How somebody walks."""

    side_m: float
    """Of the world."""
    metres_per_second: tuple[float, float]
    """Between which the speed of each leg is drawn."""
    pause_s: float
    """From one leg to the next."""


def square_of(point: Point, squares: int) -> Square:
    """Where a point is, in a world of so many squares a side."""
    return _position(point[0], squares), _position(point[1], squares)


def walk(rng: Random, gait: Gait, begin_s: float, start: Point) -> Iterator[Leg]:
    """Legs without end: each to a random point, at a speed of its own."""
    at_s, point = begin_s, start
    while True:
        goal = random_point(rng)
        metres = hypot(goal[0] - point[0], goal[1] - point[1]) * gait.side_m
        leg = Leg(at_s, metres / rng.uniform(*gait.metres_per_second), point, goal)
        yield leg
        at_s, point = leg.begin_s + leg.lasts_s + gait.pause_s, goal


def random_point(rng: Random) -> Point:
    """Anywhere in the world, all places equally likely."""
    return rng.random(), rng.random()


def crossings(leg: Leg, squares: int) -> Iterator[tuple[float, Square]]:
    """When another square is entered on the way, and which: at a corner both at once."""
    square = square_of(leg.start, squares)
    changes = sorted([*_lines(leg, 0, squares), *_lines(leg, 1, squares)])
    for position, (share, axis, entered) in enumerate(changes):
        square = (entered, square[1]) if axis == 0 else (square[0], entered)
        if position + 1 == len(changes) or changes[position + 1][0] != share:
            yield leg.begin_s + share * leg.lasts_s, square


def _lines(leg: Leg, axis: int, squares: int) -> Iterator[tuple[float, int, int]]:
    """The lines between columns (axis 0) or rows on the way: the share of it, the axis, what is entered."""
    first, last = leg.start[axis] * squares, leg.end[axis] * squares
    begin, end = _position(leg.start[axis], squares), _position(leg.end[axis], squares)
    step = 1 if end > begin else -1
    for left in range(begin, end, step):
        line = max(left, left + step)
        yield (line - first) / (last - first), axis, left + step


def _position(coordinate: float, squares: int) -> int:
    return min(int(coordinate * squares), squares - 1)
