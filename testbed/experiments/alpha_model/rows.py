"""A row of Figs. 6 and 7: the advantage of so many predicates over one set of names."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.experiments.alpha_model.sweep import Names
from testbed.experiments.results import Results

PAIRS, KERNEL = "pairs", "kernel"
"""How a disjunction was reduced: by the paper's rule on pairs, or by all that `fastpath.cover` knows."""


@dataclass(frozen=True, slots=True)
class Row:
    """The constraints left of `number` predicates, over those they had; from the least to the greatest."""

    distribution: str
    names: int
    rule: str
    number: int
    repeat: int
    least: float
    p5: float
    median: float
    p95: float
    most: float

    @property
    def of(self) -> Names:
        """Over which names."""
        return Names(self.distribution, self.names)


Measured = Results[Row]


def curve(results: Measured, names: Names, rule: str = PAIRS) -> list[Row]:
    """The rows over a set of names by a rule, in order of the number of predicates."""
    rows = [r for r in results.rows if r.of == names and r.rule == rule]
    return sorted(rows, key=lambda r: r.number)


def sets_of_names(results: Measured) -> list[Names]:
    """In the order in which they were measured."""
    return list(dict.fromkeys(r.of for r in results.rows))
