"""The rows of Figs. 6 and 7 as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.figures.axes import count
from testbed.experiments.alpha_model.rows import KERNEL, Measured, curve, sets_of_names
from testbed.experiments.alpha_model.sweep import Names

HOW = (
    "Constraints that are left, over those that were drawn. By pairs, as in the paper: within a "
    "conjunction goes what one other constraint implies, within the disjunction what one other "
    "conjunction covers constraint by constraint. The last column is what `fastpath.cover` leaves, "
    "which also sees what several constraints imply together, and drops what no message can match."
)
HEAD = """\
| predicates | least | 5 % | median | 95 % | greatest | median by the kernel |
|---:|---:|---:|---:|---:|---:|---:|"""


def table(results: Measured) -> str:
    """A table a set of names."""
    parts = ["## Every number", HOW]
    for names in sets_of_names(results):
        parts += [f"### {str(names).capitalize()}", "\n".join([HEAD, *_lines(results, names)])]
    return "\n\n".join(parts)


def _lines(results: Measured, names: Names) -> Iterator[str]:
    kernel = {row.number: row for row in curve(results, names, KERNEL)}
    for row in curve(results, names):
        cells = (row.least, row.p5, row.median, row.p95, row.most, kernel[row.number].median)
        yield f"| {count(row.number)} | {' | '.join(f'{cell:.3f}' for cell in cells)} |"
