"""A row of Fig. 5: unions of so many predicates, drawn in one way."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.experiments.results import Results

UNIFORM, ZIPF = "uniform", "zipf"
SETS, DRAWS = "sets", "draws"
"""The readings of E13: predicates of k different messages; or k draws each, of which some are the same."""


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
    """What the closed formula says of the uniform case (D1)."""
    alpha_mean: float
    alpha_min: float
    alpha_max: float

    @property
    def ratio(self) -> float:
        """Nk / |M|, as on the figure's axis."""
        return self.number * self.size / self.universe


Measured = Results[Row]


def curve(results: Measured, distribution: str, reading: str) -> dict[int, list[Row]]:
    """The rows of a distribution in a reading, by universe, in order of the ratio."""
    rows = [r for r in results.rows if (r.distribution, r.reading) == (distribution, reading)]
    return {
        universe: sorted((r for r in rows if r.universe == universe), key=lambda r: r.ratio)
        for universe in sorted({r.universe for r in rows})
    }
