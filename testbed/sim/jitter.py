"""By how much the delay of frames varies, as an impairment says it.

    uniform   anything between -jitter and +jitter is as likely
    normal    `jitter` is the standard deviation; no further than four of it
    pareto    a tail that falls with the fourth power: from 2/3 `jitter` early to four times late, with a mean
              of zero but for the cut of its tail (these are netem's tables)

With correlation a normal variable is blended with that of the frame before,
which keeps it normal, and its rank is read as the shape wants it: whatever the
correlation, the shape stays what it is. (netem blends the ranks themselves,
which draws them to the middle.) `fastpath/cable/fate.hpp` means the same.
"""

from __future__ import annotations

import math
from random import Random

from testbed.plan.model import Impairment

FURTHEST = 4.0
_RAREST = 1e-12


class Jitter:
    """The jitter of one direction of a link, frame by frame."""

    __slots__ = ("_last", "_rng")

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._last: float | None = None

    def draw_ns(self, impairment: Impairment) -> int:
        """How much later, or earlier, the next frame is."""
        if not impairment.jitter_correlation:
            if impairment.jitter_shape == "uniform":
                return self._rng.randint(-impairment.jitter_ns, impairment.jitter_ns)
            if impairment.jitter_shape == "pareto":
                return round(_pareto(self._rng.random()) * impairment.jitter_ns)
        normal = self._normal(impairment.jitter_correlation)
        return round(_shaped(impairment.jitter_shape, normal) * impairment.jitter_ns)

    def _normal(self, correlation: float) -> float:
        fresh = self._rng.gauss(0.0, 1.0)
        if correlation and self._last is not None:
            fresh = correlation * self._last + math.sqrt(1 - correlation**2) * fresh
        self._last = fresh
        return fresh


def _shaped(shape: str, normal: float) -> float:
    """What a normal variable's rank means in that shape, in units of the jitter."""
    if shape == "normal":
        return max(-FURTHEST, min(normal, FURTHEST))
    rank = math.erfc(-normal / math.sqrt(2)) / 2
    return 2 * rank - 1 if shape == "uniform" else _pareto(rank)


def _pareto(rank: float) -> float:
    return min(4 / 3 * (math.pow(max(1 - rank, _RAREST), -1 / 3) - 1.5), FURTHEST)
