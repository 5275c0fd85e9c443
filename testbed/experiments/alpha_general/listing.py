"""The rows of Fig. 5 as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.figures.axes import count
from testbed.experiments.alpha_general.rows import DRAWS, SETS, UNIFORM, ZIPF, Measured, Row

COLUMNS = ((UNIFORM, SETS), (UNIFORM, DRAWS), (ZIPF, SETS), (ZIPF, DRAWS))
SPREAD = "Means over the repeats; in brackets how far the least and the greatest are from one another."
HEAD = """\
| messages | predicates | nk / \\|M\\| | formula | uniform, sets | uniform, draws | zipf, sets | zipf, draws |
|---:|---:|---:|---:|---:|---:|---:|---:|"""


def table(results: Measured) -> str:
    """One line a universe and number of predicates."""
    return "\n".join(["## Every number", "", SPREAD, "", HEAD, *_lines(results)])


def _lines(results: Measured) -> Iterator[str]:
    rows = {(r.universe, r.number, r.distribution, r.reading): r for r in results.rows}
    for universe, number in sorted({(r.universe, r.number) for r in results.rows}):
        line = [rows[universe, number, *column] for column in COLUMNS]
        said = [count(universe), count(number), f"{line[0].ratio:g}", f"{line[0].expected:.4f}"]
        yield f"| {' | '.join(said + [_cell(row) for row in line])} |"


def _cell(row: Row) -> str:
    return f"{row.alpha_mean:.3f} ({row.alpha_max - row.alpha_min:.3f})"
