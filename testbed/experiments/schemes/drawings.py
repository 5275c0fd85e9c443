"""By the number of routers, a line a scheme: crossings over the ideal, what is held, control until ready."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from analysis.figures.axes import volume
from analysis.figures.svg import Figure
from testbed.experiments.chart import Scale, Series, line_chart, short_count
from testbed.experiments.schemes.rows import Measured, Row, rows_of, schemes_of

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

Value = Callable[[Row], float]

COLOURS, DASHES = ("selective", "fast", "counting"), ("", " dashed", " dotted")
ROUTERS = Scale("routers", short_count)
SHAPE = "random"
"""The paper's schemes differ most where there are cycles."""


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """All three, of random graphs under the load that most of them have."""
    load = _common_load(results)
    drawn: dict[str, tuple[str, Scale, Value]] = {
        "": ("Crossings over the ideal", Scale("crossings / ideal", short_count), lambda r: r.ratio),
        "-state": ("What all routers hold", Scale("constraints", short_count), _held),
        "-control": ("Control traffic until ready", Scale("bytes", _bytes), _control),
    }
    return {
        suffix: line_chart(
            (experiment.name + suffix, title, _told(title, load)),
            (ROUTERS, up),
            list(_lines(results, load, value)),
        )
        for suffix, (title, up, value) in drawn.items()
    }


def _told(title: str, load: tuple[int, int]) -> str:
    return f"{title}, on random graphs with {load[0]} senders and {load[1]} receivers."


def _lines(results: Measured, load: tuple[int, int], value: Value) -> Iterator[Series]:
    for at, scheme in enumerate(schemes_of(results)):
        rows = [r for r in rows_of(results, scheme) if r.shape == SHAPE and (r.senders, r.receivers) == load]
        points = tuple(sorted((float(r.routers), value(r)) for r in rows))
        if points:
            yield Series(scheme, COLOURS[at % 3] + DASHES[at // 3 % 3], points)


def _common_load(results: Measured) -> tuple[int, int]:
    loads = Counter((r.senders, r.receivers) for r in results.rows if r.shape == SHAPE)
    return loads.most_common(1)[0][0] if loads else (0, 0)


def _held(row: Row) -> float:
    return float(max(row.constraints, 1))


def _control(row: Row) -> float:
    return float(max(row.control_bytes, 1))


def _bytes(value: float) -> str:
    return volume(round(value))
