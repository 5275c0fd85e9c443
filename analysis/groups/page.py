"""A comparison of groups as one self-contained HTML page, in the looks of a run's report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment

from analysis.figures.svg import Figure
from analysis.findings import QUANTILES
from analysis.groups import figures
from analysis.groups.comparing import Compared
from analysis.groups.model import PHASE_QUANTITIES, QUANTITIES, Group, Phase, Quantity
from analysis.groups.words import beside, interval, size, with_spread, written
from analysis.report.frame import css, environment, script
from testbed.plan.recorded import REPORT

Rows = Sequence[Mapping[str, object]]
_HERE = Path(__file__).resolve().parent
ALONG = ("latency.p50", "latency.p99", "control_bytes", "state_bytes", "crossings")
"""The quantities that are drawn along an axis of numbers."""


def to_page(found: Compared, folder: Path) -> str:
    """The page.

    Args:
        found: The comparison.
        folder: Where the page will be, for links to the runs' reports.
    """
    shown = [q for q in QUANTITIES if any(group.by_seed(q) for group in found.groups)]
    latency = figures.latency_figure(found.groups)
    axes_found = figures.axes_of(found.groups)
    phase_quantities = [q for q in PHASE_QUANTITIES if found.phases]
    template = _environment().get_template("page.html.j2")
    page: str = template.render(
        found=found,
        css=css(),
        script=script("page.js"),
        quantities=shown,
        heads=[f"#{q.title}" for q in shown],
        latency=latency,
        latency_rows=list(_curves(found.groups)),
        phases=list(_phases(found)),
        phase_quantities=phase_quantities,
        phase_heads=[f"#{name}: {q.title}" for name in found.phases for q in phase_quantities],
        along=[drawn for axis in axes_found for drawn in _along(axis, shown, found.groups)],
        along_names=" and ".join(axes_found),
        drawings=list(_quantities(shown, found.groups)),
        links={m.path: _link(m.path, folder) for group in found.groups for m in group.members},
    )
    return page


def _environment() -> Environment:
    found = environment(_HERE)
    found.filters.update(
        style=figures.style,
        beside=beside,
        interval=interval,
        size=size,
        written=lambda value, quantity: written(quantity.unit)(value),
        value_of=lambda quantity, group: with_spread(quantity, group.spread(quantity)),
        phase_value=lambda quantity, name, group: with_spread(quantity, Phase(name, group).spread(quantity)),
    )
    return found


def _link(run: Path, folder: Path) -> str | None:
    report = run / REPORT
    return quote(os.path.relpath(report, folder)) if report.exists() else None


def _curves(groups: Sequence[Group]) -> Iterator[Mapping[str, object]]:
    for group in groups:
        for share, value in zip(QUANTILES, figures.mean_curve(group), strict=False):
            yield {**group.values, "share": share, "latency_ns": round(value)}


def _quantities(shown: Sequence[Quantity], groups: Sequence[Group]) -> Iterator[tuple[Figure, Rows]]:
    for quantity in shown:
        figure = figures.quantity_figure(quantity, groups)
        if figure is not None:
            yield figure, _rows(quantity, groups)


def _along(axis: str, shown: Sequence[Quantity], groups: Sequence[Group]) -> Iterator[tuple[Figure, Rows]]:
    for quantity in shown:
        if quantity.key in ALONG:
            figure = figures.axis_figure(axis, quantity, groups)
            if figure is not None:
                yield figure, _rows(quantity, groups)


def _phases(found: Compared) -> Iterator[tuple[Figure, Rows]]:
    for quantity in PHASE_QUANTITIES if len(found.phases) > 1 else ():
        figure = figures.phase_figure(quantity, found.phases, found.groups)
        if figure is not None:
            rows = [
                {**group.values, "phase": name, quantity.key: spread.mean, "ci95": spread.half}
                for group in found.groups
                for name in found.phases
                if (spread := Phase(name, group).spread(quantity)) is not None
            ]
            yield figure, rows


def _rows(quantity: Quantity, groups: Sequence[Group]) -> Rows:
    return [
        {**group.values, "runs": found.count, quantity.key: found.mean, "ci95": found.half}
        for group in groups
        if (found := group.spread(quantity)) is not None
    ]
