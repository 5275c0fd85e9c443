"""Drawings of groups: distributions of latencies, a quantity of each group, and along an axis of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.figures.axes import duration
from analysis.figures.chart import Scale, Series, line_chart
from analysis.figures.dots import Dot, dots
from analysis.figures.svg import Figure
from analysis.findings import QUANTILES
from analysis.groups.model import Group, Phase, Quantity
from analysis.groups.words import written

COLOURS = 8
"""As many groups as the style sheet has colours for; further ones begin again, dashed, then dotted."""
_DASHES = ("", " dashed", " dotted")


def style(at: int) -> str:
    """The classes of the group at a position."""
    return f"group-{at % COLOURS + 1}{_DASHES[at // COLOURS % len(_DASHES)]}"


def latency_figure(groups: Sequence[Group]) -> Figure | None:
    """Which share of the deliveries took no longer: the mean over a group's runs of each quantile."""
    series = [
        Series(group.name, style(at), tuple(zip(curve, QUANTILES, strict=True)))
        for at, group in enumerate(groups)
        if (curve := mean_curve(group))
    ]
    if not series:
        return None
    about = "latencies", "Latency of deliveries", "Cumulative distribution of latencies, a line a group."
    scales = Scale("latency", duration), Scale("share of deliveries", lambda share: f"{share:.0%}")
    return line_chart(about, scales, series, alone=False, dotted=False)


def mean_curve(group: Group) -> list[float]:
    """The group's latency at each of `QUANTILES`; empty if none of its runs has any."""
    curves = [curve for m in group.members if (curve := m.verdict.get("latency_curve_ns"))]
    return [sum(values) / len(values) for values in zip(*curves, strict=True)]


def quantity_figure(quantity: Quantity, groups: Sequence[Group]) -> Figure | None:
    """Its mean in each group, and the interval around it; None if no group has any."""
    rows = [
        Dot(group.name, found.mean, found.half, style(at))
        for at, group in enumerate(groups)
        if (found := group.spread(quantity)) is not None
    ]
    key = "quantity-" + quantity.key.replace(".", "-").replace("_", "-")
    return dots(key, quantity.title, written(quantity.unit), rows) if rows else None


def axes_of(groups: Sequence[Group]) -> list[str]:
    """The names of values that are different numbers in different groups: three or more of them."""
    names = groups[0].values if groups else ()
    found: dict[str, set[object]] = {name: {g.values.get(name) for g in groups} for name in names}
    return [name for name, values in found.items() if len(values) > 2 and all(map(_is_number, values))]


def axis_figure(axis: str, quantity: Quantity, groups: Sequence[Group]) -> Figure | None:
    """The quantity along an axis, a line for each combination of the other values."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for group in groups:
        found = group.spread(quantity)
        if found is not None:
            others = {name: value for name, value in group.values.items() if name != axis}
            at = float(group.values[axis])
            lines.setdefault(Group(others, ()).name, []).append((at, found.mean))
    series = [
        Series(name, style(at), tuple(sorted(points))) for at, (name, points) in enumerate(lines.items())
    ]
    if not series:
        return None
    key = f"along-{axis}-{quantity.key}".replace(".", "-").replace("_", "-")
    about = (
        key,
        f"{quantity.title} by {axis}",
        f"{quantity.title} for each {axis}, a line for each of the rest.",
    )
    return line_chart(
        about, (Scale(axis, _plain), Scale(quantity.title, written(quantity.unit))), series, alone=False
    )


def phase_figure(quantity: Quantity, phases: Sequence[str], groups: Sequence[Group]) -> Figure | None:
    """The quantity from phase to phase, a line a group."""
    series = [
        Series(group.name, style(at), tuple(_by_phase(quantity, phases, group)))
        for at, group in enumerate(groups)
    ]
    if not any(each.points for each in series):
        return None
    key = f"phases-{quantity.key}".replace(".", "-")
    about = (
        key,
        f"{quantity.title} by phase",
        f"{quantity.title} of what was published in each phase, a line a group.",
    )
    scale = Scale("phase", lambda at: phases[round(at)] if at == round(at) and 0 <= at < len(phases) else "")
    return line_chart(about, (scale, Scale(quantity.title, written(quantity.unit))), series, alone=False)


def _by_phase(quantity: Quantity, phases: Sequence[str], group: Group) -> Iterator[tuple[float, float]]:
    for at, name in enumerate(phases):
        found = Phase(name, group).spread(quantity)
        if found is not None:
            yield float(at), found.mean


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: float) -> str:
    return f"{value:g}"
