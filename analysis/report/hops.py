"""The section about how many routers the deliveries passed: a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from analysis.figures.axes import Axis, count
from analysis.figures.svg import Figure, element, number
from analysis.findings import Findings, LatencyCurve
from analysis.report.section import Data, Section

WIDTH, HEIGHT = 680.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 20.0, 28.0, 48.0
BAR_MAX, GAP, ROUND = 64.0, 2.0, 4.0
WORDS = 28.0
"""A slot must be so wide for a bar to be named."""


def hop_figure(curves: Sequence[LatencyCurve]) -> Figure | None:
    """The histogram; None if there were no deliveries."""
    bars = {c.hop_count: c.deliveries for c in curves if c.hop_count is not None}
    if not bars:
        return None
    low, high = min(bars), max(bars)
    slot = (WIDTH - LEFT - RIGHT) / (high - low + 1)
    up = Axis(0.0, float(max(bars.values())), HEIGHT - BOTTOM, TOP)
    every = math.ceil(WORDS / slot)
    drawn = [
        _bar(h, bars.get(h, 0), LEFT + (h - low + 0.5) * slot, slot, up, named=(h - low) % every == 0)
        for h in range(low, high + 1)
    ]
    counts = ", ".join(f"{n} after {h}" for h, n in sorted(bars.items()))
    return Figure(
        "hops",
        "Routers passed",
        f"Deliveries by the number of routers they passed: {counts}.",
        WIDTH,
        HEIGHT,
        "".join(drawn) + _axis(),
    )


def _bar(hop_count: int, deliveries: int, x: float, slot: float, up: Axis, *, named: bool) -> str:
    """A bar with its count above and its hop count below; of crowded bars only some are named.

    By its numbers it is drawn anew where a part of the run is chosen (`span.js`).
    """
    width = min(BAR_MAX, max(slot - GAP, 1.0))
    top, bottom = up.at(deliveries), up.start
    parts = []
    if deliveries:
        shape = _rounded(x - width / 2, top, width, bottom - top)
        size = {"data_height": (bottom - top), "data_foot": bottom, "data_most": bottom - up.end}
        parts.append(element("path", d=shape, class_="bar", data_hops=hop_count, **size))
    if slot >= WORDS:
        value = element("text", count(deliveries), x=x, y=top - 7, class_="value middle", data_hops=hop_count)
        parts.append(value)
    if named:
        parts.append(element("text", str(hop_count), x=x, y=bottom + 20, class_="tick middle"))
    return "".join(parts)


def _rounded(x: float, y: float, width: float, height: float) -> str:
    """A bar that stands on the axis: rounded above, square below."""
    r = min(ROUND, width / 2, height)
    return (
        f"M{number(x)} {number(y + height)}V{number(y + r)}q0 {number(-r)} {number(r)} {number(-r)}"
        f"h{number(width - 2 * r)}q{number(r)} 0 {number(r)} {number(r)}V{number(y + height)}Z"
    )


def _axis() -> str:
    y = HEIGHT - BOTTOM
    line = element("path", d=f"M{number(LEFT)} {number(y)}H{number(WIDTH - RIGHT)}", class_="axis")
    return line + element("text", "routers passed", x=WIDTH - RIGHT, y=HEIGHT - 8.0, class_="label end")


def _data(findings: Findings, _verdict: Data) -> Data:
    figure = hop_figure(findings.curves)
    return {"figure": figure and Markup(figure.to_svg()), "curves": findings.curves}


SECTION = Section(
    "hops",
    "Hops",
    """
{% if figure %}
<div class="beside">
<figure><div class="scroll">{{ figure }}</div>
<figcaption>Deliveries by the number of routers they passed;
{{ "%.2f" % verdict.hops.mean }} on average.</figcaption>
</figure>
{% call table("Deliveries", ["Routers passed", "#Deliveries", "#Share"]) %}
{% for c in curves if c.hop_count is not none %}
<tr data-hops="{{ c.hop_count }}"><th scope="row">{{ c.hop_count }}</th>{{ number(c.deliveries) }}
{{- cell(c.deliveries | share(curves[0].deliveries)) }}</tr>
{% endfor %}
{% endcall %}
</div>
{% else %}
<p class="note">Nothing was delivered.</p>
{% endif %}
""",
    _data,
)
