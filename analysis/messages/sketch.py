"""Quantiles of values that are counted in parts: exact up to a number of values, close to it beyond.

A sketch holds values in ascending order, each for some of all that there are. If they are more than `most`,
neighbours are joined, so that every value stands for about as many. What is read at a position is then a
value at most `count / most` positions away, if parts are added in one step, and a little more if in several.
The least and the largest are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
"""Whole numbers, or others."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """Values, and how many each stands for."""

    values: Values
    weights: NDArray[np.int64]
    total: float
    """Of all values."""
    most: int
    """More values than this are not held."""

    @classmethod
    def of(cls, values: Values, most: int) -> Sketch:
        """Of some values, in any order."""
        total = math.fsum(values.tolist()) if len(values) <= most else float(values.sum(dtype=np.float64))
        return cls(*_held(np.sort(values), np.ones(len(values), np.int64), most), total, most)

    @property
    def count(self) -> int:
        """How many values there are."""
        return int(self.weights.sum())

    @property
    def mean(self) -> float:
        """Of all values; 0 if there are none."""
        return self.total / self.count if len(self.values) else 0.0

    def quantiles(self, shares: Iterable[float]) -> list[float | int]:
        """The values at position ceil(share * n), the first being 1; nothing, if there are no values."""
        if not len(self.values):
            return []
        ends = np.cumsum(self.weights)
        count = int(ends[-1])
        places = [max(1, math.ceil(share * count)) for share in shares]
        found: list[float | int] = self.values[np.searchsorted(ends, places, "left")].tolist()
        return found


def by_key(key: NDArray[np.int64], values: Values, most: int) -> dict[int, Sketch]:
    """A sketch for each key; `key` is by value."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    begins = np.flatnonzero(np.diff(ascending, prepend=ascending[:1] - 1))
    parts = np.split(values[order], begins[1:])
    return {int(at): Sketch.of(part, most) for at, part in zip(ascending[begins], parts, strict=False)}


def joined(sketches: Iterable[Sketch], most: int) -> Sketch:
    """Those of several parts together."""
    parts = [part for part in sketches if len(part.values)]
    if not parts:
        return Sketch.of(np.empty(0, np.int64), most)
    values = np.concatenate([part.values for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    order = np.argsort(values, kind="stable")
    held = _held(values[order], weights[order], most)
    return Sketch(*held, math.fsum(part.total for part in parts), most)


def _held(values: Values, weights: NDArray[np.int64], most: int) -> tuple[Values, NDArray[np.int64]]:
    """At most so many of them, and the weight of those that are left out added to one near it."""
    if len(values) <= most:
        return values, weights
    ends = np.cumsum(weights)
    count = int(ends[-1])
    edges = np.unique(np.searchsorted(ends, np.linspace(0, count, most - 1)[1:-1], "left"))
    edges = np.unique(np.concatenate([[0], edges, [len(values) - 2]])) + 1
    starts = np.unique(np.concatenate([[0], edges]))  # the first and the last value stand alone
    sums = np.add.reduceat(weights, starts)
    middle = np.searchsorted(ends, ends[starts] - weights[starts] + (sums + 1) // 2, "left")
    middle[0], middle[-1] = 0, len(values) - 1
    return values[middle], sums
