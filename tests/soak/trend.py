"""Does a figure grow? A line through samples by least squares, and what of its slope is noise.

Not here: taking samples (`watching`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

DAY_S = 86_400.0
WARM_UP = 0.25
"""The share of the samples, from the first on, in which caches and pools still fill."""
FEWEST = 8
"""Fewer samples say nothing."""
SURE = 3.0
"""Standard errors by which a slope has to exceed its bound."""

Sample = tuple[float, float]
"""Seconds, and a value."""


@dataclass(frozen=True)
class Bound:
    """What growth is noise."""

    a_day: float
    """A slope up to this."""
    in_all: float
    """Growth up to this after the warm-up, however steep it is: an allocator takes memory in steps."""


@dataclass(frozen=True)
class Trend:
    """A line through samples."""

    first: float
    last: float
    slope_a_day: float
    error_a_day: float
    """Its standard error, for samples that depend on the one before."""
    growth: float
    """Of the line, from the end of the warm-up to the end."""

    def grows(self, bound: Bound) -> bool:
        """Whether it does, beyond what is noise."""
        surely_a_day = self.slope_a_day - SURE * self.error_a_day
        return self.growth > bound.in_all and surely_a_day > bound.a_day


def trend(samples: Sequence[Sample]) -> Trend | None:
    """The line through what comes after the warm-up; None: there is too little of it."""
    later = samples[int(len(samples) * WARM_UP) :]
    if len(later) < FEWEST:
        return None
    mean_s, mean = (sum(each[i] for each in later) / len(later) for i in (0, 1))
    spread = sum((at_s - mean_s) ** 2 for at_s, _ in later)
    slope = sum((at_s - mean_s) * (value - mean) for at_s, value in later) / spread
    rests = [value - mean - slope * (at_s - mean_s) for at_s, value in later]
    error = math.sqrt(sum(rest**2 for rest in rests) / _independent(rests) / spread)
    growth = slope * (later[-1][0] - later[0][0])
    return Trend(later[0][1], later[-1][1], slope * DAY_S, error * DAY_S, growth)


def _independent(rests: Sequence[float]) -> float:
    """So many samples would say as much if none depended on the one before; less what the line took."""
    squares = sum(rest**2 for rest in rests)
    if not squares:
        return float(len(rests))
    alike = max(0.0, sum(a * b for a, b in pairwise(rests)) / squares)
    return max(1.0, (len(rests) - 2) * (1 - alike) / (1 + alike))
