"""Tests, effect sizes and intervals of two samples; and what many tests at once ask for.

Rank tests, for latencies are not normal: skewed, with far outliers and many
ties. Arrays in, numbers out; which numbers count as a difference is not said
here (`limits`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sample = NDArray[np.int64]

SHIFT_SAMPLE = 300
"""Of so many values of each side all differences are taken: 90,000, enough for two digits or three."""
EXACT_MAX = 2000
_Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class RankTest:
    """Mann-Whitney's U of two samples: whether values of the second tend to be greater."""

    p_value: float
    """Two-sided, by the normal approximation with corrections for ties and continuity."""
    delta: float
    """Cliff's: the share of pairs in which the second is greater, less that in which it is smaller."""


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the second sample lies higher: Hodges and Lehmann's estimate with its interval."""

    estimate: float
    low: float
    high: float


def rank_test(before: Sample, after: Sample) -> RankTest:
    """Mann-Whitney; of samples that are all one value, or empty, nothing can be said (p = 1)."""
    n, m = len(before), len(after)
    if not n or not m:
        return RankTest(1.0, 0.0)
    ordered = np.sort(before)
    below = np.searchsorted(ordered, after, "left").sum()
    up_to = np.searchsorted(ordered, after, "right").sum()
    u = (int(below) + int(up_to)) / 2  # pairs in which after is greater, ties by half
    delta = 2 * u / (n * m) - 1
    _, ties = np.unique(np.concatenate((before, after)), return_counts=True)
    tied = float((ties.astype(float) ** 3 - ties).sum())
    total = n + m
    variance = n * m / 12 * ((total + 1) - tied / (total * (total - 1))) if total > 1 else 0.0
    if variance <= 0:
        return RankTest(1.0, delta)
    z = max(abs(u - n * m / 2) - 0.5, 0.0) / math.sqrt(variance)
    return RankTest(math.erfc(z / math.sqrt(2)), delta)


def distance_test(before: Sample, after: Sample) -> tuple[float, float]:
    """Kolmogorov and Smirnov's: the greatest distance of the distribution functions, and its p-value."""
    n, m = len(before), len(after)
    if not n or not m:
        return 0.0, 1.0
    first, second = np.sort(before), np.sort(after)
    points = np.concatenate((first, second))
    distances = np.searchsorted(first, points, "right") / n - np.searchsorted(second, points, "right") / m
    distance = float(np.abs(distances).max())
    root = math.sqrt(n * m / (n + m))
    return distance, _kolmogorov((root + 0.12 + 0.11 / root) * distance)


def _kolmogorov(x: float) -> float:
    """The chance that a distance is that great: Kolmogorov's series, which for small x does not converge."""
    if x < 0.3:
        return 1.0
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))
    return float(min(1.0, max(0.0, sum(terms))))


def shift_of(before: Sample, after: Sample) -> Shift | None:
    """The median of all differences after - before, with its 95 % interval; None of an empty sample."""
    if not len(before) or not len(after):
        return None
    first, second = _thinned(before), _thinned(after)
    n, m = len(first), len(second)
    differences = np.sort((second[:, None] - first[None, :]).ravel())
    margin = _Z95 * math.sqrt(n * m * (n + m + 1) / 12)
    low = max(int(n * m / 2 - margin), 0)
    high = min(math.ceil(n * m / 2 + margin), n * m - 1)
    return Shift(float(np.median(differences)), float(differences[low]), float(differences[high]))


def _thinned(sample: Sample) -> Sample:
    """Evenly over the sorted values, so that the distribution stays what it is."""
    if len(sample) <= SHIFT_SAMPLE:
        return sample
    at = np.linspace(0, len(sample) - 1, SHIFT_SAMPLE).round().astype(int)
    thinned: Sample = np.sort(sample)[at]
    return thinned


def share_test(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Fisher's exact p-value, two-sided, that two shares are one; each is (how many, out of how many).

    Of very many the normal approximation is as good, and quicker.
    """
    (a, n), (b, m) = before, after
    total, hits = n + m, a + b
    if not n or not m or not hits or hits == total:
        return 1.0
    if min(hits, total - hits) > EXACT_MAX:
        return _normal_share_test(a / n, b / m, hits / total, 1 / n + 1 / m)
    low, high = max(0, hits - m), min(hits, n)
    chances = [_hypergeometric(k, n, hits, total) for k in range(low, high + 1)]
    observed = chances[a - low] * (1 + 1e-7)
    return min(1.0, sum(chance for chance in chances if chance <= observed))


def _normal_share_test(before: float, after: float, pooled: float, spread: float) -> float:
    z = abs(after - before) / math.sqrt(pooled * (1 - pooled) * spread)
    return math.erfc(z / math.sqrt(2))


def _hypergeometric(k: int, n: int, hits: int, total: int) -> float:
    ways = _log_choose(hits, k) + _log_choose(total - hits, n - k) - _log_choose(total, n)
    return math.exp(ways)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values as they count when so many are looked at (Holm): each may be held against one limit."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, p_values[at] * (len(p_values) - rank)))
        adjusted[at] = highest
    return adjusted


def wandering(values: Sample, blocks: int = 8) -> float:
    """How far the median moves within one run: from block to block of its time.

    Values one after the other resemble each other (what keeps a machine busy
    lasts), so a test that takes them for independent finds differences between
    any two runs. What a run does by itself is the measure of what counts.
    """
    if len(values) < 2 * blocks:
        return 0.0
    medians = np.array([np.median(block) for block in np.array_split(values, blocks)])
    return float(np.median(np.abs(medians - np.median(medians)))) * 1.4826
