"""What came of a scheme in a setting, over all its runs: what tables, findings and drawings are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.spread import student_t, variance
from testbed.experiments.results import Results, grouped
from testbed.experiments.signalling.measure import Row

Measured = Results[Row]
CONFIDENCE = 0.90


@dataclass(frozen=True, slots=True)
class Line:
    """What came of a scheme in a setting, over all runs and windows."""

    first: Row
    rates: tuple[float, ...]
    """Signals a second, of each run."""
    rows: tuple[Row, ...]

    @property
    def rate(self) -> float:
        """Signals a second."""
        return fmean(self.rates)

    @property
    def bytes_rate(self) -> float:
        """Of signals, in a second."""
        return self._sum("signal_bytes") / self._sum("seconds")

    @property
    def spread(self) -> float:
        """Half of the confidence interval of the rate; 0 for a single run."""
        runs = len(self.rates)
        return student_t(runs - 1, CONFIDENCE) * (variance(self.rates) / runs) ** 0.5 if runs > 1 else 0.0

    @property
    def changes_rate(self) -> float:
        """Changes of descriptors in a second."""
        return self._sum("changes") / self._sum("seconds")

    @property
    def marking_share(self) -> float:
        """Of the signals, those that decide how links are marked."""
        return self._sum("marking") / max(self._sum("signals"), 1)

    @property
    def runs(self) -> list[Row]:
        """A row of each run."""
        return [rows[0] for rows in grouped(self.rows, lambda row: row.run).values()]

    def _sum(self, name: str) -> float:
        return float(sum(getattr(row, name) for row in self.rows))


def lines(results: Measured) -> list[Line]:
    """By setting and scheme, in the order of the rows."""
    found = grouped(results.rows, lambda row: (row.publishers, row.subscribers, row.squares, row.scheme))
    return [_line(rows) for rows in found.values()]


def _line(rows: Sequence[Row]) -> Line:
    runs = grouped(rows, lambda row: row.run).values()
    rates = (sum(row.signals for row in run) / sum(row.seconds for row in run) for run in runs)
    return Line(rows[0], tuple(rates), tuple(rows))


def by_setting(results: Measured) -> list[list[Line]]:
    """The lines of all schemes in each setting."""
    found = grouped(lines(results), lambda k: (k.first.publishers, k.first.subscribers, k.first.squares))
    return list(found.values())
