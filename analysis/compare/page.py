"""A comparison as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.compare.counts import figure
from analysis.compare.latencies import signed
from analysis.compare.model import Comparison
from topologies.quantities import duration_text

_HERE = Path(__file__).resolve().parent


def to_page(comparison: Comparison) -> str:
    """The page, in the looks of a run's report."""
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    environment.filters.update(duration=duration_text, signed=signed)
    css = (_HERE.parent / "report" / "page.css").read_text(encoding="utf-8")
    page: str = environment.get_template("page.html.j2").render(
        found=comparison,
        css=Markup(css),
        figure=figure,
        times=sorted(comparison.times, key=lambda r: not (r.moved or r.spread)),
        counts=sorted((r for r in comparison.counts if r.before or r.after), key=lambda r: not r.differs),
    )
    return page
