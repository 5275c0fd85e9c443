"""The mean of a few values, and how far the true mean may be from it: Student's t."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """Some values of one quantity, one a run."""

    count: int
    mean: float
    half: float | None
    """Half the width of the interval around the mean; None for a single value."""


def spread(values: Sequence[float]) -> Spread | None:
    """Mean and interval of values that are drawn independently; None if there is none."""
    if not values:
        return None
    count = len(values)
    half = student_t(count - 1) * math.sqrt(variance(values) / count) if count > 1 else None
    return Spread(count, mean(values), half)


def mean(values: Collection[float]) -> float:
    """Of at least one value."""
    return math.fsum(values) / len(values)


def variance(values: Collection[float]) -> float:
    """Estimated from at least two values of what they are drawn from."""
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


@cache
def student_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The bound between whose positive and negative value Student's t lies with a probability."""
    low, high = 0.0, 20.0
    while _within(high, freedom) < confidence:
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def _within(bound: float, freedom: int) -> float:
    """The probability of a t between -bound and bound: the finite series for whole degrees of freedom."""
    angle = math.atan2(bound, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    first = math.cos(angle) if freedom % 2 else 1.0
    total, term = 0.0, first if freedom > 1 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= square * (k - 1) / k
    if freedom % 2:
        return 2 / math.pi * (angle + sine * total)
    return sine * total
