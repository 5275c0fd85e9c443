"""Figs. 6 and 7: a drawing for each set of names, with the least, the greatest and three percentiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from analysis.figures.svg import Figure
from testbed.experiments.alpha_model.rows import KERNEL, PAIRS, Measured, Row, curve, sets_of_names
from testbed.experiments.alpha_model.sweep import Names
from testbed.experiments.chart import Mark, Scale, Series, line_chart, short_count

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment

LINES = (
    ("greatest", "most", PAIRS, "counting dotted"),
    ("95th percentile", "p95", PAIRS, "counting dashed"),
    ("median", "median", PAIRS, "selective"),
    ("5th percentile", "p5", PAIRS, "counting dashed"),
    ("least", "least", PAIRS, "counting dotted"),
    ("median by the kernel", "median", KERNEL, "fast dashed"),
)
SCALES = Scale("predicates", short_count), Scale("disjunction advantage", lambda v: f"{v:g}")
MARKED = "-uniform-500"


def figures(experiment: Experiment, results: Measured) -> Mapping[str, Figure]:
    """One a set of names."""
    return {_suffix(names): _figure(experiment, results, names) for names in sets_of_names(results)}


def _suffix(names: Names) -> str:
    return f"-{names.distribution}-{names.count}"


def _figure(experiment: Experiment, results: Measured, names: Names) -> Figure:
    series = [
        Series(label, style, _points(curve(results, names, rule), field))
        for label, field, rule, style in LINES
    ]
    told = f"The disjunction advantage by the number of predicates, {names}."
    head = experiment.name + _suffix(names), f"{experiment.title}: {names}", told
    marks = [Mark(p.x, p.y, p.text) for p in experiment.points] if _suffix(names) == MARKED else []
    return line_chart(head, SCALES, series, marks)


def _points(rows: list[Row], field: str) -> tuple[tuple[float, float], ...]:
    return tuple((float(row.number), getattr(row, field)) for row in rows)
