"""SVG as text: elements, escaping, figures that say what they show.

Colours are not written here: figures carry classes and the page's style sheet
gives them their colours, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

Attribute = str | int | float


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and its size in units of its own."""

    key: str
    """Unique in the page; a CSS class and the stem of ids."""
    title: str
    description: str
    width: float
    height: float
    body: str

    def to_svg(self) -> str:
        """The whole `svg` element, with title and description for those who do not see it."""
        return element(
            "svg",
            element("title", text(self.title), id=f"{self.key}-title"),
            element("desc", text(self.description), id=f"{self.key}-desc"),
            self.body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {number(self.width)} {number(self.height)}",
            class_=f"figure {self.key}",
            role="img",
            aria_labelledby=f"{self.key}-title {self.key}-desc",
        )


def element(tag: str, *children: str, **attributes: Attribute | None) -> str:
    """One element; `_` in an attribute's name stands for `-`, a trailing one for none."""
    said = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(_plain(value))}"
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{tag}{said}>{inside}</{tag}>" if inside else f"<{tag}{said}/>"


def text(value: object) -> str:
    """Character data."""
    return escape(str(value))


def number(value: float) -> str:
    """A coordinate: two decimals at most, none without need."""
    rounded = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if rounded == "-0" else rounded


def path(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line through the points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def steps(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line that goes across, then up, from point to point."""
    parts: list[str] = []
    for x, y in points:
        parts.append(f"H{number(x)}V{number(y)}" if parts else f"M{number(x)} {number(y)}")
    return "".join(parts)


def _plain(value: Attribute) -> str:
    return number(value) if isinstance(value, float) else str(value)
