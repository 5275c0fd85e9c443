"""By load, a line a network: the median latency from client to client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from analysis.figures.axes import duration
from analysis.figures.svg import Figure
from testbed.experiments.chart import Scale, Series, line_chart, short_count
from testbed.experiments.emulated.rows import Measured, scenarios_of

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

COLOURS, DASHES = ("selective", "fast", "counting"), ("", " dashed", " dotted")
ACROSS = Scale("messages published a second", short_count)
UP = Scale("median latency from client to client", duration)


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """One a scenario; what its name says beyond the first's tells them apart."""
    first = scenarios_of(results)[0]
    return {
        scenario.removeprefix(first): line_chart(
            (scenario, experiment.title, f"Median latency by load, {scenario}."),
            (ACROSS, UP),
            list(_lines(results, scenario)),
        )
        for scenario in scenarios_of(results)
    }


def _lines(results: Measured, scenario: str) -> Iterator[Series]:
    rows = [row for row in results.rows if row.scenario == scenario]
    for at, routers in enumerate(dict.fromkeys(row.routers for row in rows)):
        mine = [row for row in rows if row.routers == routers]
        name = "one router" if routers == 1 else f"{routers} routers, {mine[0].interfaces} interfaces"
        points = tuple((row.rate, row.end_to_end_p50_us * 1000) for row in mine)
        yield Series(name, COLOURS[at % 3] + DASHES[at // 3 % 3], points)
