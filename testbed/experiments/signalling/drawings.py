"""Drawings of what schemes tell while entities walk about: over time, or over what was varied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.figures.chart import Scale, Series, line_chart, short_count, style
from analysis.figures.svg import Figure
from testbed.experiments.experiment import Experiment
from testbed.experiments.results import grouped
from testbed.experiments.signalling.claims import sweeps
from testbed.experiments.signalling.lines import Line, Measured
from testbed.experiments.signalling.measure import Case, Row

ACROSS = {"subscribers": "subscribers", "publishers": "publishers", "squares": "squares along each side"}


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """One for each thing that was varied; if nothing was, the rate over time of the first run."""
    along = sweeps(results)
    if not along:
        return {"": _over_time(experiment, results)}
    names = ["", *(f"-{name}" for name in [*along][1:])]
    return {
        suffix: _over(experiment, name, lines)
        for suffix, (name, lines) in zip(names, along.items(), strict=True)
    }


def _over(experiment: Experiment, name: str, lines: Mapping[str, list[Line]]) -> Figure:
    about = (f"{experiment.name}-{name}", "What routers tell each other", f"Signals a second, by {name}.")
    scales = Scale(ACROSS[name], short_count), Scale("signals a second", short_count)
    found = [
        Series(scheme, _style(at, scheme), tuple((_at(line, name), line.rate) for line in along))
        for at, (scheme, along) in enumerate(lines.items())
    ]
    return line_chart(about, scales, found)


def _at(line: Line, name: str) -> float:
    return float(getattr(line.first, name))


def _over_time(experiment: Experiment, results: Measured) -> Figure:
    first = results.rows[0]
    rows = [row for row in results.rows if _setting(row.case) == _setting(first.case)]
    about = (experiment.name, "What routers tell each other", "Signals a second, over simulated time.")
    scales = Scale("seconds", short_count), Scale("signals a second", short_count)
    return line_chart(about, scales, list(_courses(rows)), dotted=len(rows) < MANY_ROWS)


MANY_ROWS = 100
"""From so many rows on, points would hide the lines."""


def _setting(case: Case) -> tuple[int, int, int, int]:
    return case.publishers, case.subscribers, case.squares, case.run


def _courses(rows: list[Row]) -> Iterator[Series]:
    for at, (scheme, windows) in enumerate(grouped(rows, lambda row: row.scheme).items()):
        points = tuple(
            (row.begin_s + row.seconds / 2, max(row.signals / row.seconds, 1e-3)) for row in windows
        )
        yield Series(scheme, _style(at, scheme), points)


def _style(at: int, scheme: str) -> str:
    return f"{style(at)} dashed" if scheme.endswith("/adv") else style(at)
