"""A comparison as text for a terminal, and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.diff.differences import figure, signed
from analysis.diff.model import Comparison, CountRow, TimeRow
from analysis.report.frame import css, environment
from topologies.quantities import duration_text

ROWS = 24
"""Lines of a table that are shown; --json has all."""


def to_text(comparison: Comparison) -> str:
    """All of it; the answer first."""
    return "\n".join(_lines(comparison))


def _lines(found: Comparison) -> Iterator[str]:
    yield _headline(found)
    yield from _listed("", found.differences)
    yield from _listed("first deliveries of one run alone:", map(_example, found.deliveries["examples"]))
    yield from _listed("what was different to begin with:", found.circumstances)
    yield from _listed("to keep in mind:", found.notes)
    yield from _listed("fidelity:", _fidelity(found.fidelity))
    if not found.same:
        yield from _titled("times", _times(found.times))
        yield from _titled("counts", _counts(found.counts))


def _headline(found: Comparison) -> str:
    if found.same:
        return f"no difference between {found.before} and {found.after}"
    many = "1 difference" if len(found.differences) == 1 else f"{len(found.differences)} differences"
    return f"{many} between {found.before} (before) and {found.after} (after)"


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    texts = list(items)
    if texts and title:
        yield title
    yield from (f"  {text}" for text in texts)


def _example(delivery: Mapping[str, Any]) -> str:
    what = "missing" if delivery["gone"] else "new"
    return f"{what}: message {delivery['sequence']} of {delivery['publisher']} to {delivery['subscriber']}"


def _fidelity(certificates: Mapping[str, Any]) -> Iterator[str]:
    if all(certificates.get(which) is None for which in ("before", "after")):
        return
    for which in ("before", "after"):
        fidelity = certificates.get(which)
        yield f"{which}: {fidelity.get('verdict') if isinstance(fidelity, Mapping) else 'not measured'}"


def _titled(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if len(rows) < 2:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    yield ""
    for number, row in enumerate(rows[: ROWS + 1]):
        first = row[0] or (title if number == 0 else "")
        cells = [first.ljust(max(widths[0], len(title)))]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        yield "  ".join([*cells, row[-1]]).rstrip()
    if len(rows) > ROWS + 1:
        yield f"... and {len(rows) - ROWS - 1} more (--json has all)"


def _times(rows: Sequence[TimeRow]) -> list[tuple[str, ...]]:
    """Those that moved first."""
    head = ("", "n", "n'", "median", "median'", "shift", "95 %", "delta", "p", "")
    ordered = sorted(rows, key=lambda r: not (r.moved or r.spread))
    return [head, *map(_time, ordered)]


def _time(row: TimeRow) -> tuple[str, ...]:
    shift = row.shift
    return (
        row.what,
        f"{row.before_n:,}",
        f"{row.after_n:,}",
        duration_text(row.before_ns),
        duration_text(row.after_ns),
        signed(shift.estimate),
        f"{signed(shift.low)} {signed(shift.high)}",
        f"{row.delta:+.2f}",
        f"{row.p_value:.1g}",
        "moved" if row.moved else "spread" if row.spread else "",
    )


def _counts(rows: Sequence[CountRow]) -> list[tuple[str, ...]]:
    shown = [row for row in rows if row.unit != "bytes" and (row.before or row.after)]
    ordered = sorted(shown, key=lambda r: not r.differs)
    lines = [
        (r.what, figure(r, r.before), figure(r, r.after), "differs" if r.differs else "") for r in ordered
    ]
    return [("", "before", "after", ""), *lines]


_HERE = Path(__file__).resolve().parent


def to_page(comparison: Comparison) -> str:
    """The page, in the looks of a run's report."""
    templates = environment(_HERE)
    templates.filters.update(duration=duration_text, signed=signed)
    page: str = templates.get_template("page.html.j2").render(
        found=comparison,
        css=css(),
        figure=figure,
        times=sorted(comparison.times, key=lambda r: not (r.moved or r.spread)),
        counts=sorted((r for r in comparison.counts if r.before or r.after), key=lambda r: not r.differs),
    )
    return page
