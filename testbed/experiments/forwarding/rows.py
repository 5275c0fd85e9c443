"""A row of the forwarding paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.experiments.results import Results


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm on one table. Times are microseconds a message."""

    algorithm: str
    rounds: int
    """Of preselection; 0 where there is none."""
    interfaces: int
    filters: int
    constraints: int
    """As written; those that a filter repeats are kept once (E5)."""
    constraints_low: int
    """Per filter, at least so many."""
    cold: bool
    """The caches were flushed before each message."""
    messages: int
    matched_mean: float
    """Interfaces a message goes to."""
    eliminated_mean: float | None
    """Interfaces that preselection rules out, where they were counted."""
    build_s: float
    bytes_per_constraint: float
    time_us: float
    """Of each message the least time over all repeats; their mean."""
    counting_us: float
    """The same of `counting`, measured in turns with this row."""
    mean_us: float
    """The least mean over a block of whole passes, as `cbn bench match` has it."""
    p99_us: float
    max_us: float

    @property
    def central(self) -> bool:
        """One filter an interface."""
        return self.filters == self.interfaces

    @property
    def gain(self) -> float:
        """By how many per cent this takes less time than `counting`."""
        return 100 * (1 - self.time_us / self.counting_us)


Measured = Results[Row]


def rows_of(results: Measured, algorithm: str) -> list[Row]:
    """The rows of an algorithm."""
    return [row for row in results.rows if row.algorithm == algorithm]
