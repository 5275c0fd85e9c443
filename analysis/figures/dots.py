"""A drawing of a few values side by side: a dot each, with the interval around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis.figures.axes import Axis, axis_for
from analysis.figures.svg import Figure, element, path, text

WIDTH, TOP, ROW, FOOT, RIGHT = 760.0, 12.0, 26.0, 46.0, 24.0
CHARACTER = 6.6
"""Width of a character of a name: the font is not known, so an estimate on the wide side."""
LONGEST = 44


@dataclass(frozen=True, slots=True)
class Dot:
    """A value and what it is of."""

    name: str
    value: float
    half: float | None
    """Half the interval around it; None: there is none."""
    colour: str
    """A class of the style sheet."""


def dots(key: str, title: str, written: Callable[[float], str], rows: Sequence[Dot]) -> Figure:
    """The drawing.

    Args:
        key: Unique in the page.
        title: What the values are, with their unit.
        written: How a value is written.
        rows: From top to bottom.
    """
    left = min(max(len(row.name) for row in rows), LONGEST) * CHARACTER + 18
    bounds = [row.value + sign * (row.half or 0.0) for row in rows for sign in (-1, 1)]
    across = axis_for(bounds, left, WIDTH - RIGHT)
    foot = TOP + ROW * len(rows)
    body = [_ticks(across, written, foot, title)]
    body += [_row(row, across, TOP + ROW * (at + 0.5), written) for at, row in enumerate(rows)]
    about = "; ".join(_said(row, written) for row in rows)
    return Figure(key, title, f"{title}: {about}.", WIDTH, foot + FOOT, "".join(body))


def _row(row: Dot, across: Axis, y: float, written: Callable[[float], str]) -> str:
    name = row.name if len(row.name) <= LONGEST else row.name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    parts = [element("title", text(_said(row, written)))]
    parts.append(element("text", text(name), x=across.start - 10, y=y + 4, class_="end group-name"))
    if row.half:
        ends = [(across.at(row.value + sign * row.half), y) for sign in (-1, 1)]
        parts.append(element("path", d=path(ends), class_=f"line {row.colour}"))
    parts.append(element("circle", cx=across.at(row.value), cy=y, r=4.5, class_=f"dot {row.colour}"))
    return element("g", *parts)


def _said(row: Dot, written: Callable[[float], str]) -> str:
    return f"{row.name} {written(row.value)}" + (f" ± {written(row.half)}" if row.half is not None else "")


def _ticks(across: Axis, written: Callable[[float], str], foot: float, title: str) -> str:
    parts = []
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(element("line", x1=x, x2=x, y1=TOP, y2=foot, class_="grid"))
        parts.append(element("text", text(written(tick)), x=x, y=foot + 16, class_="middle"))
    label = f"{title}, logarithmic" if across.logarithmic else title
    parts.append(element("text", text(label), x=across.end, y=foot + 36, class_="end"))
    return "".join(parts)
