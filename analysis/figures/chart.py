"""A line chart that stands alone as an SVG file: its own colours, in light and in dark.

What the lines show is decided by whoever draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from analysis.figures.axes import Axis, axis_for
from analysis.figures.svg import Figure, element, number, path, text

WIDTH, HEIGHT = 760.0, 420.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 24.0, 20.0, 52.0
LEGEND_ROW, LEGEND_COLUMNS = 20.0, 3

STYLE = """
:root { --paper: #fbfaf7; --ink: #1d1c1a; --soft: #5f5b55; --grid: #ebe8e1;
 --counting: #8a8378; --selective: #b4580f; --fast: #2a5f9e; --cold: #2a5f9e;
 --printed: #b3261e; }
@media (prefers-color-scheme: dark) {
 :root { --paper: #16181b; --ink: #e9e6e0; --soft: #a19c94; --grid: #292d32;
 --counting: #a8a196; --selective: #f0a35e; --fast: #7fb2ea; --cold: #7fb2ea;
 --printed: #ff8a80; }
}
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }
.key { fill: var(--ink); }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.paper { fill: var(--paper); } .grid { stroke: var(--grid); } .axis { stroke: var(--soft); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.dashed { stroke-dasharray: 7 4; } .dotted { stroke-dasharray: 2 4; stroke-linecap: round; }
.counting { stroke: var(--counting); } .selective { stroke: var(--selective); } .fast { stroke: var(--fast); }
circle.counting { fill: var(--counting); } circle.selective { fill: var(--selective); }
circle.fast { fill: var(--fast); } .cold { stroke: var(--cold); } circle.cold { fill: var(--cold); }
.printed { stroke: var(--printed); fill: none; stroke-width: 2; }
text.printed { fill: var(--printed); stroke: none; }
"""

COLOURS, DASHES = ("selective", "fast", "counting"), ("", " dashed", " dotted")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """A line and its points."""

    name: str
    style: str
    """Classes of the style sheet: whose line it is, and how it is dashed."""
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A single point that somebody else printed."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """What an axis measures and how its values are written."""

    label: str
    written: Callable[[float], str]


def line_chart(
    about: tuple[str, str, str],
    scales: tuple[Scale, Scale],
    series: Iterable[Series],
    marks: Iterable[Mark] = (),
    *,
    alone: bool = True,
    dotted: bool = True,
) -> Figure:
    """The chart.

    Args:
        about: The figure's key, title and description.
        scales: Across and up. Ranges that span much are logarithmic.
        series: The lines, in the order of the legend; those without points are left out.
        marks: Points beside them.
        alone: Whether it is a file of its own; in a page, the page's style sheet colours it.
        dotted: Whether the points are marked.
    """
    key, title, description = about
    series, marks = [each for each in series if each.points], list(marks)
    top = TOP + 12 + LEGEND_ROW * -(-len(series) // LEGEND_COLUMNS)
    xs = [p[0] for s in series for p in s.points] + [m.x for m in marks]
    ys = [p[1] for s in series for p in s.points] + [m.y for m in marks]
    across, up = axis_for(xs, LEFT, WIDTH - RIGHT), axis_for(ys, HEIGHT - BOTTOM, top)
    body = [
        *(
            [element("style", STYLE), element("rect", width=WIDTH, height=HEIGHT, class_="paper")]
            if alone
            else []
        ),
        _grid(across, up, scales),
        *(_legend(at, each) for at, each in enumerate(series)),
        *(_line(each, across, up, dotted) for each in series),
        *(_mark(each, across, up) for each in marks),
    ]
    return Figure(key, title, description, WIDTH, HEIGHT, "".join(body))


def style(at: int) -> str:
    """The style of the line at a position: as many as there are colours, then these dashed, then dotted."""
    return COLOURS[at % 3] + DASHES[at // 3 % 3]


def short_count(value: float) -> str:
    """`500 k`, `5 M`."""
    for size, unit in ((1_000_000, " M"), (1000, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _legend(at: int, series: Series) -> str:
    row, column = divmod(at, LEGEND_COLUMNS)
    x = LEFT + column * (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS
    y = TOP - 4 + row * LEGEND_ROW
    swatch = element("path", d=path([(x, y), (x + 26, y)]), class_=f"line {series.style}")
    return swatch + element("text", text(series.name), x=x + 33, y=y + 4, class_="key")


def _line(series: Series, across: Axis, up: Axis, dotted: bool) -> str:
    places = [(across.at(x), up.at(y)) for x, y in series.points]
    colour = series.style.split()[0]
    dots = [element("circle", cx=x, cy=y, r=2.8, class_=colour) for x, y in places if dotted]
    name = element("title", text(series.name))
    return element("path", name, d=path(places), class_=f"line {series.style}") + "".join(dots)


def _mark(mark: Mark, across: Axis, up: Axis) -> str:
    """A cross, named above, on the side where there is room."""
    x, y = across.at(mark.x), up.at(mark.y)
    side = "printed end" if x > WIDTH / 2 else "printed"
    cross = f"M{number(x - 5)} {number(y - 5)}l10 10m0 -10l-10 10"
    name = element("text", text(mark.text), x=x, y=y - 10, class_=side)
    return element("path", d=cross, class_="printed") + name


def _grid(across: Axis, up: Axis, scales: tuple[Scale, Scale]) -> str:
    return _levels(up, scales[1]) + _feet(across, scales[0])


def _levels(up: Axis, scale: Scale) -> str:
    parts = []
    for tick in up.ticks():
        y = up.at(tick)
        style = "axis" if tick == 0 and up.low < 0 else "grid"
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_=style))
        parts.append(element("text", text(scale.written(tick)), x=LEFT - 8, y=y + 4, class_="end"))
    middle = (up.start + up.end) / 2
    turned = f"rotate(-90 16 {number(middle)})"
    parts.append(
        element("text", text(_named(up, scale)), x=16.0, y=middle, transform=turned, class_="middle")
    )
    return "".join(parts)


def _feet(across: Axis, scale: Scale) -> str:
    base = HEIGHT - BOTTOM
    parts = [element("path", d=path([(LEFT, base), (WIDTH - RIGHT, base)]), class_="axis")]
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(element("line", x1=x, x2=x, y1=base, y2=base + 5, class_="axis"))
        parts.append(element("text", text(scale.written(tick)), x=x, y=base + 20, class_="middle"))
    parts.append(element("text", text(_named(across, scale)), x=WIDTH - RIGHT, y=HEIGHT - 10.0, class_="end"))
    return "".join(parts)


def _named(axis: Axis, scale: Scale) -> str:
    return f"{scale.label}, logarithmic" if axis.logarithmic else scale.label
