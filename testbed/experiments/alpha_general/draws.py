"""Predicates as sets of messages, drawn at random; what their unions save (RTE 4.1, D1).

Messages are the numbers from 0 to |M| - 1. Under Zipf's law with exponent 1 message
i comes with a weight of 1 / (i + 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import numpy.typing as npt

from testbed.experiments.alpha_general.rows import SETS, UNIFORM, ZIPF

Messages = npt.NDArray[np.int64]


def expected_alpha(universe: int, size: int, number: int) -> float:
    """E(alpha) = (|M| / nk) (1 - (1 - k / |M|)^n).

    >>> round(expected_alpha(10_000, 100, 5), 4)
    0.9802
    """
    share = size / universe
    return (1 - (1 - share) ** number) / (number * share)


def expected_of_draws(universe: int, size: int, number: int) -> float:
    """The same for predicates that are draws under Zipf's law: sum of 1 - (1 - p_i)^(nk), over nk."""
    draws = number * size
    return float(-np.expm1(draws * np.log1p(-_zipf(universe))).sum() / draws)


class Urn:
    """Draws messages by one distribution, always the same ones for the same seed."""

    def __init__(self, universe: int, distribution: str, seed: str) -> None:
        self.universe = universe
        self._cumulated = _zipf(universe).cumsum() if distribution == ZIPF else None
        self._uniform = distribution == UNIFORM
        self._rng = np.random.Generator(np.random.PCG64(Random(seed).getrandbits(128)))

    def draws(self, count: int) -> Messages:
        """So many draws, each from all messages."""
        if self._cumulated is None:
            return self._rng.integers(0, self.universe, count)
        places = self._cumulated.searchsorted(self._rng.random(count), side="right")
        return np.minimum(places, self.universe - 1)

    def members(self, size: int) -> Messages:
        """So many different messages: draws, leaving out what was drawn before."""
        if self._uniform:
            return self._rng.choice(self.universe, size, replace=False, shuffle=False)
        drawn = self.draws(2 * size)
        while True:
            first = np.sort(np.unique(drawn, return_index=True)[1])
            if len(first) >= size:
                return np.asarray(drawn[first[:size]])
            drawn = np.concatenate([drawn, self.draws(2 * size)])


def alphas(urn: Urn, reading: str, size: int, numbers: list[int]) -> Iterator[float]:
    """The advantage of a growing union of predicates, at each of the ascending numbers of them.

    One union grows through all numbers: what one number's predicates were, the next one's begin with.
    """
    union = np.zeros(urn.universe, dtype=np.bool_)
    done = 0
    for number in numbers:
        if reading == SETS:
            for _ in range(number - done):
                union[urn.members(size)] = True
        else:
            union[urn.draws((number - done) * size)] = True
        done = number
        yield int(np.count_nonzero(union)) / (number * size)


def _zipf(universe: int) -> npt.NDArray[np.float64]:
    weights = 1.0 / np.arange(1, universe + 1)
    return np.asarray(weights / weights.sum())
