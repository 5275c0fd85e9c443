"""The table of many runs as people see it: its columns, and one line for runs that differ in the seed alone.

Here: choosing, averaging and printing. Not here: what a run came to (`table`).
"""

from __future__ import annotations

import csv
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.spread import Spread, spread
from testbed.cli import exits
from testbed.cli.table import NUMBERS, Row, numbers_of
from testbed.plan.problems import did_you_mean

WIDTH = 100
"""Of a table where nothing says how wide the terminal is."""
SEED = "seed"
PRIORITY = (
    "owed", "missing", "lost", "p50", "p99", "control_bytes", "message_bytes", "wasted", "crossings",
    "judged",
)  # fmt: skip
"""What is shown unless columns are chosen, as far as there is room: the first of them first."""
ONLY_IF_ANY = ("matches_owed", "matches_missing", "duplicate", "duplicate_allowed", "spurious", "unknown")
"""What is shown as well where it is not zero everywhere."""
WORDS = ("outcome", "verdict", "fidelity", "expectations", "passed")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: one run, or the runs of several seeds."""

    values: Mapping[str, Any]
    rows: Sequence[Row]
    numbers: Mapping[str, Spread | None]

    @property
    def judged(self) -> int:
        """How many runs of it have a verdict."""
        return sum(bool(row.verdict) for row in self.rows)

    @property
    def passed(self) -> bool | None:
        """Whether all of them are as they should be; None: none was judged."""
        known = [row.passed for row in self.rows if row.passed is not None]
        return all(known) if known else None


def lines_of(rows: Sequence[Row]) -> list[Line]:
    """A line a run; runs that differ in the seed alone make one line."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(v for name, v in row.values.items() if name != SEED), []).append(row)
    if all(len(group) == 1 for group in groups.values()):
        return [_line(row.values, [row]) for row in rows]
    return [
        _line({name: v for name, v in group[0].values.items() if name != SEED}, group)
        for group in groups.values()
    ]


def _line(values: Mapping[str, Any], rows: Sequence[Row]) -> Line:
    found = [numbers_of(row) for row in rows]
    return Line(
        values,
        rows,
        {name: spread([n for each in found if (n := each[name]) is not None]) for name in NUMBERS},
    )


def chosen_columns(text: str | None) -> list[str] | None:
    """The columns that `--columns` names; None: it does not.

    Raises:
        CommandError: There is no such column.
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = (*NUMBERS, *WORDS)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise exits.CommandError(f"--columns: there is no column {name}; {hint}")
    return names


def print_csv(rows: Sequence[Row], columns: Sequence[str] | None) -> None:
    """The table for programs: plain numbers, times in nanoseconds, sizes in bytes."""
    names, lines = columns or [*NUMBERS, "outcome", "verdict", "passed"], lines_of(rows)
    averaged = any(len(line.rows) > 1 for line in lines)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    heads = [head for name in names for head in _csv_heads(name, averaged)]
    writer.writerow([*lines[0].values, *(["n"] if averaged else []), *heads])
    for line in lines:
        cells = [cell for name in names for cell in _csv_cells(line, name, averaged)]
        writer.writerow([*line.values.values(), *([line.judged] if averaged else []), *cells])


def _csv_heads(name: str, averaged: bool) -> list[str]:
    return [name, f"{name}_ci95"] if averaged and name in NUMBERS else [name]


def _csv_cells(line: Line, name: str, averaged: bool) -> list[object]:
    if name not in NUMBERS:
        return [_word(line, name)]
    found = line.numbers[name]
    mean, half = (None, None) if found is None else (found.mean, found.half)
    plain = int(mean) if mean is not None and mean.is_integer() else mean
    return [plain, half] if averaged else [plain]


def print_table(rows: Sequence[Row], columns: Sequence[str] | None = None) -> None:
    """The table for people, and what did not go as it should."""
    lines = lines_of(rows)
    if columns is None:
        cells, left_out = _fitting(lines, shutil.get_terminal_size((WIDTH, 24)).columns)
    else:
        cells, left_out = _cells(lines, columns), []
    _print(cells, lines)
    if any(len(line.rows) > 1 for line in lines):
        print("mean of the n runs with other seeds ± half the 95 % confidence interval (Student's t)")
    if left_out:
        print(textwrap.fill(f"--columns has more: {', '.join(left_out)}", WIDTH))
    for row in rows:
        if row.message:
            print(f"{row.cell}: {row.message}")
        for expectation in row.expectations:
            if not expectation["holds"]:
                print(f"{row.cell}: does not hold: {expectation['text']}")


def _fitting(lines: Sequence[Line], width: int) -> tuple[list[list[str]], list[str]]:
    """The columns there is room for, and the names of the others that have something to show."""
    names = [name for name in PRIORITY if _shown(lines, name)]
    names += [name for name in ONLY_IF_ANY if any(n.mean for n in _numbers(lines, name))]
    words = [name for name in WORDS if _telling(lines, name)]
    left_out: list[str] = []
    while names and _width(_cells(lines, [*names, *words])) > width:
        left_out.insert(0, names.pop(names.index(next(n for n in reversed(PRIORITY) if n in names))))
    others = [name for name in NUMBERS if name not in (*names, *left_out) and _shown(lines, name)]
    return _cells(lines, [*names, *words]), [*left_out, *others]


def _numbers(lines: Sequence[Line], name: str) -> list[Spread]:
    return [found for line in lines if (found := line.numbers[name]) is not None]


def _shown(lines: Sequence[Line], name: str) -> bool:
    return bool(_numbers(lines, name))


def _telling(lines: Sequence[Line], name: str) -> bool:
    """Whether a column of words says more than that all is as usual."""
    words = {_word(line, name) for line in lines} - {""}
    usual = {"outcome": {"complete"}, "fidelity": {"exact", "trusted"}}.get(name, set())
    return bool(words - usual) or (name == "outcome" and not any(line.judged for line in lines))


def _cells(lines: Sequence[Line], names: Sequence[str]) -> list[list[str]]:
    """The heads, and what stands under them."""
    averaged = any(len(line.rows) > 1 for line in lines)
    heads = [*lines[0].values, *(["n"] if averaged else []), *names]
    return [heads, *(_line_cells(line, names, averaged) for line in lines)]


def _line_cells(line: Line, names: Sequence[str], averaged: bool) -> list[str]:
    count = [str(line.judged)] if averaged else []
    cells = [_number(name, line.numbers[name]) if name in NUMBERS else _word(line, name) for name in names]
    return [*map(str, line.values.values()), *count, *cells]


def _word(line: Line, name: str) -> str:
    if name == "passed":
        return {None: "", True: "yes", False: "NO"}[line.passed]
    if name == "expectations":
        held = [bool(e["holds"]) for row in line.rows for e in row.expectations]
        return f"{sum(held)} of {len(held)}" if held else ""
    words = [str(getattr(row, name)) for row in line.rows if getattr(row, name)]
    kinds = dict.fromkeys(words)
    if len(kinds) < 2:
        return next(iter(kinds), "")
    return ", ".join(f"{words.count(kind)} {kind}" for kind in kinds)


def _number(name: str, found: Spread | None) -> str:
    if found is None:
        return ""
    text = _FORMS[NUMBERS[name]]
    return text(found.mean) + (f" ±{text(found.half)}" if found.half else "")


def _count(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:,.1f}"


def _volume(value: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 999.5 * size else f"{value / size:,.0f} {unit}"
    return f"{value:.0f} B"


_FORMS: Mapping[str, Callable[[float], str]] = {
    "count": _count,
    "bytes": _volume,
    "share": lambda value: f"{value:.1%}",
    "ns": lambda value: f"{value / 1e6:.3f} ms",
    "ratio": lambda value: f"{value:.2f}",
}


def _width(cells: Sequence[Sequence[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in zip(*cells, strict=True)) - 2


def _print(cells: Sequence[Sequence[str]], lines: Sequence[Line]) -> None:
    from rich.console import Console
    from rich.table import Table

    heads, *rows = cells
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in heads:
        table.add_column(name, justify="right" if name in (*NUMBERS, "n") else "left", no_wrap=True)
    for row, line in zip(rows, lines, strict=True):
        failed = line.passed is False or any(each.outcome == "failed" for each in line.rows)
        table.add_row(*row, style="red" if failed else None)
    # Never broken over two lines: half of a cell is of no use.
    Console(width=_width(cells) + 2).print(table, highlight=False)
