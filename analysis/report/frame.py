"""What all pages share: how their templates are read, the style sheet and the scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.figures import axes

_HERE = Path(__file__).resolve().parent


def environment(*folders: Path) -> Environment:
    """Templates of these folders and of this one, in which figures are written as everywhere."""
    found = Environment(
        loader=FileSystemLoader([*folders, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=axes.count,
        duration=axes.duration,
        moment=axes.moment,
        volume=axes.volume,
        share=axes.share,
        csv_link=csv_link,
    )
    found.globals["dash"] = axes.NONE
    return found


def csv_link(rows: Sequence[Mapping[str, object]]) -> str:
    """Where rows of plain values are saved from as CSV: the numbers of a drawing."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return "data:text/csv;charset=utf-8," + quote(out.getvalue())


def css() -> Markup:
    """The style sheet."""
    return Markup((_HERE / "page.css").read_text(encoding="utf-8"))


def script(name: str) -> Markup:
    """A script, by the name of its file."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))
