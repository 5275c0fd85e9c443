"""The section about the distribution of latencies: a step curve of all deliveries and one a hop count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from analysis.figures.axes import Axis, axis_for, duration, moment
from analysis.figures.svg import Figure, element, number, steps, text
from analysis.findings import QUANTILES, Findings, LatencyCurve
from analysis.report.section import Data, Section

WIDTH, HEIGHT = 680.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 20.0, 16.0, 48.0
SHADES = 8
"""As many hop counts as the style sheet has shades for are drawn; the table has all."""


def latency_figure(curves: Sequence[LatencyCurve]) -> Figure | None:
    """The CDF; None if no delivery could be timed."""
    timed = [c for c in curves if c.quantiles_ns]
    if not timed:
        return None
    across = axis_for([float(q) for c in timed for q in (c.at(0), c.at(1))], LEFT, WIDTH - RIGHT)
    up = Axis(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    shades = shades_of(timed)
    lines = "".join(
        _curve(c, shades[c.hop_count], across, up) for c in reversed(timed) if c.hop_count in shades
    )
    return Figure(
        "latency",
        "Latency of deliveries",
        _description(timed[0]),
        WIDTH,
        HEIGHT,
        _grid(across, up) + lines + _of_span(across, up),
    )


def _of_span(across: Axis, up: Axis) -> str:
    """The curve of a part of the run, once one is chosen (`span.js`), and by what it is drawn."""
    scale = {"low": across.low, "high": across.high, "start": across.start, "end": across.end}
    data = {f"data_{name}": repr(value) for name, value in scale.items()}
    ends = {"data_log": int(across.logarithmic), "data_foot": up.start, "data_top": up.end}
    title = element("title", "of the part of the run that is chosen")
    return element("path", title, d="M0 0", class_="curve span", **data, **ends)


def shades_of(curves: Sequence[LatencyCurve]) -> dict[int | None, str]:
    """The class of each curve that is drawn, by hop count: `all`, and the most frequent hop counts.

    Few hop counts are spread over the shades, the more hops the stronger.
    """
    by_hops = [c for c in curves if c.hop_count is not None and c.quantiles_ns]
    kept = sorted(by_hops, key=lambda c: (-c.timed, c.hop_count))[:SHADES]
    hop_counts = sorted(c.hop_count for c in kept if c.hop_count is not None)
    spread = {h: 1 + (2 * i + 1) * SHADES // (2 * len(hop_counts)) for i, h in enumerate(hop_counts)}
    return {None: "all"} | {h: f"shade-{shade}" for h, shade in spread.items()}


def _curve(curve: LatencyCurve, shade: str, across: Axis, up: Axis) -> str:
    points = [(across.at(x), up.at(p)) for x, p in zip(curve.quantiles_ns, QUANTILES, strict=True)]
    d = steps([(points[0][0], up.start), *points])
    name = "all deliveries" if curve.hop_count is None else f"after {curve.hop_count} routers"
    return element("path", element("title", text(name)), d=d, class_=f"curve {shade}")


def _grid(across: Axis, up: Axis) -> str:
    marks = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = up.at(share)
        marks.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        marks.append(element("text", f"{share:.0%}", x=LEFT - 8, y=y + 4, class_="tick end"))
    for tick in across.ticks():
        x = across.at(tick)
        marks.append(element("line", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 5, class_="axis"))
        marks.append(element("text", text(moment(tick)), x=x, y=HEIGHT - BOTTOM + 20, class_="tick middle"))
    label = "latency, logarithmic" if across.logarithmic else "latency"
    base = f"M{number(LEFT)} {number(HEIGHT - BOTTOM)}H{number(WIDTH - RIGHT)}"
    marks.append(element("path", d=base, class_="axis"))
    marks.append(element("text", label, x=WIDTH - RIGHT, y=HEIGHT - 8.0, class_="label end"))
    return "".join(marks)


def _description(curve: LatencyCurve) -> str:
    return (
        f"Cumulative distribution of the latency of {curve.timed} deliveries: "
        f"half took at most {duration(curve.at(0.5))}, 99 % at most {duration(curve.at(0.99))}, "
        f"the slowest {duration(curve.at(1))}."
    )


def _data(findings: Findings, _verdict: Data) -> Data:
    figure = latency_figure(findings.curves)
    return {
        "figure": figure and Markup(figure.to_svg()),
        "curves": [curve for curve in findings.curves if curve.quantiles_ns],
        "shades": shades_of(findings.curves),
        "points": list(_points(findings.curves)),
    }


def _points(curves: Sequence[LatencyCurve]) -> Iterator[Mapping[str, object]]:
    """The curves that are drawn, as numbers."""
    drawn = shades_of(curves)
    for curve in curves:
        if curve.hop_count in drawn and curve.quantiles_ns:
            routers = "all" if curve.hop_count is None else curve.hop_count
            for share, latency_ns in zip(QUANTILES, curve.quantiles_ns, strict=True):
                yield {"routers": routers, "share": share, "latency_ns": latency_ns}


SECTION = Section(
    "latency",
    "Latency",
    """
{% if figure %}
<div class="beside">
<figure><div class="scroll">{{ figure }}</div>
<figcaption>Share of deliveries that took no longer. From the first capture of the message on its publisher's
access link to its first capture leaving on the subscriber's.
<a class="csv" download="latency-curves.csv" href="{{ points | csv_link }}">CSV</a></figcaption></figure>
{% call table("By routers passed", ["Routers", "#Deliveries", "#min", "#median", "#99 %", "#max"]) %}
{% for c in curves %}
<tr{% if c.hop_count is none %} class="total"{% endif %}><th scope="row">
{%- if c.hop_count in shades %}<i class="key curve {{ shades[c.hop_count] }}"></i>{% endif %}
{{- "all" if c.hop_count is none else c.hop_count }}</th>{{ number(c.timed) }}
{%- for share in (0, 0.5, 0.99, 1) %}{{ cell(c.at(share) | duration) }}{% endfor %}</tr>
{% endfor %}
{% endcall %}
</div>
{% else %}
<p class="note">No delivery could be timed.</p>
{% endif %}
""",
    _data,
)
