"""A section of the report: a title, a Jinja template, and what the template shows.

A section is declared where its data is made, and takes its place in `page.SECTIONS`. Templates
have the macros of `macros.html.j2` and, besides their own data, `findings` and `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.findings import Findings

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """One section; it is left out where `data` returns None."""

    anchor: str
    """Unique in the page: the section's `id`."""
    title: str
    template: str
    data: Callable[[Findings, Data], Data | None]
    """From the findings and the verdict. The key `tone` is the section's class in the style sheet."""
