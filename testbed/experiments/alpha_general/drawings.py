"""Fig. 5 in two drawings, as in the paper: the whole range, and Zipf's curves near zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from analysis.figures.svg import Figure
from testbed.experiments.alpha_general.findings import universe
from testbed.experiments.alpha_general.rows import DRAWS, SETS, UNIFORM, ZIPF, Measured, Row, curve
from testbed.experiments.chart import Mark, Scale, Series, line_chart

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

ZOOM = 0.1
STYLES = {(UNIFORM, SETS): "counting", (ZIPF, SETS): "fast", (ZIPF, DRAWS): "selective"}
DASHES = (" dotted", " dashed", "")
SCALES = Scale("nk / |M|", lambda v: f"{v:g}"), Scale("disjunction advantage", lambda v: f"{v:g}")


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """Both."""
    whole = list(_lines(results, ((UNIFORM, SETS), (ZIPF, SETS), (ZIPF, DRAWS)), float("inf")))
    near = list(_lines(results, ((ZIPF, SETS), (ZIPF, DRAWS)), ZOOM))
    marks = [Mark(p.x, p.y, p.text) for p in experiment.points]
    title = f"{experiment.title} ({experiment.paper})"
    told = "The disjunction advantage by how many messages the predicates have together, over all there are."
    return {
        "": line_chart((experiment.name, title, told), SCALES, whole),
        "-zoom": line_chart((f"{experiment.name}-zoom", f"{title}: near zero", told), SCALES, near, marks),
    }


def _lines(results: Measured, which: Iterable[tuple[str, str]], up_to: float) -> Iterator[Series]:
    for distribution, reading in which:
        for at, (size, rows) in enumerate(curve(results, distribution, reading).items()):
            name = f"{distribution}, {reading}, {universe(size)}"
            points = _points([r for r in rows if r.ratio <= up_to])
            if points:
                yield Series(name, STYLES[distribution, reading] + DASHES[at % 3], points)


def _points(rows: Iterable[Row]) -> tuple[tuple[float, float], ...]:
    return tuple((row.ratio, row.alpha_mean) for row in rows)
