"""Predicates as sets of messages, drawn at random; what their unions save (RTE 4.1, D1).

Messages are the numbers from 0 to |M| - 1. Under Zipf's law with exponent 1 message
i comes with a weight of 1 / (i + 1). For each universe, distribution and reading many
unions of growing size are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from statistics import fmean

import numpy as np
import numpy.typing as npt

from testbed.experiments import kind
from testbed.runs.world import Progress

UNIFORM, ZIPF = "uniform", "zipf"
SETS, DRAWS = "sets", "draws"
"""The readings of E13: predicates of k different messages; or k draws each, of which some are the same."""

Messages = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sweep(kind.Sweep):
    """How many messages there are, and how many predicates are united."""

    repeat: int
    universes: tuple[int, ...]
    one_in: int
    """A predicate takes one of so many messages: k = |M| / one_in."""
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The disjunction advantage of `number` predicates of `size` messages out of `universe`."""

    universe: int
    distribution: str
    reading: str
    size: int
    """k: nominal where a predicate is so many draws."""
    number: int
    """n"""
    repeat: int
    expected: float
    """What the closed formula gives for the uniform case (D1)."""
    alpha_mean: float
    alpha_min: float
    alpha_max: float

    @property
    def ratio(self) -> float:
        """Nk / |M|, as on the figure's axis."""
        return self.number * self.size / self.universe


def measure(sweep: Sweep, seed: int, shown: Progress) -> Iterator[Row]:
    """Draw all unions."""
    curves = list(product(sweep.universes, (UNIFORM, ZIPF), (SETS, DRAWS)))
    for at, (universe, distribution, reading) in enumerate(curves, 1):
        named = f"{universe:,} messages, {distribution}, predicates as {reading}"
        shown.phase(f"curve {at} of {len(curves)}: {named}", sweep.repeat)
        size, numbers = universe // sweep.one_in, sorted(sweep.numbers)
        found: list[list[float]] = []
        for done in range(1, sweep.repeat + 1):
            urn = Urn(universe, distribution, f"{seed}/{universe}/{distribution}/{reading}/{done}")
            found.append(list(alphas(urn, reading, size, numbers)))
            shown.advance(done)
        for number, values in zip(numbers, zip(*found, strict=True), strict=True):
            figures = expected_alpha(universe, size, number), fmean(values), min(values), max(values)
            rounded = (round(figure, 5) for figure in figures)
            yield Row(universe, distribution, reading, size, number, sweep.repeat, *rounded)


def expected_alpha(universe: int, size: int, number: int) -> float:
    """E(alpha) = (|M| / nk) (1 - (1 - k / |M|)^n).

    >>> round(expected_alpha(10_000, 100, 5), 4)
    0.9802
    """
    share = size / universe
    return (1 - (1 - share) ** number) / (number * share)


class Urn:
    """Draws messages by one distribution, always the same ones for the same seed."""

    def __init__(self, universe: int, distribution: str, seed: str) -> None:
        self.universe = universe
        self._cumulated = zipf(universe).cumsum() if distribution == ZIPF else None
        self._rng = np.random.Generator(np.random.PCG64(Random(seed).getrandbits(128)))

    def draws(self, count: int) -> Messages:
        """So many draws, each from all messages."""
        if self._cumulated is None:
            return self._rng.integers(0, self.universe, count)
        places = self._cumulated.searchsorted(self._rng.random(count), side="right")
        return np.minimum(places, self.universe - 1)

    def members(self, size: int) -> Messages:
        """So many different messages: draws, leaving out what was drawn before."""
        if self._cumulated is None:
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


def zipf(universe: int) -> npt.NDArray[np.float64]:
    """The probability of each message under Zipf's law."""
    weights = 1.0 / np.arange(1, universe + 1)
    return np.asarray(weights / weights.sum())
