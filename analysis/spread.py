"""The mean of a few values, and how far the true mean may be from it: Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    count, mean = len(values), math.fsum(values) / len(values)
    if count == 1:
        return Spread(1, mean, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Spread(count, mean, student_t(count - 1) * math.sqrt(variance / count))


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
