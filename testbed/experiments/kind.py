"""A kind of experiments: how one is read, measured, compared with its paper, drawn and tabulated.

A kind is a folder of this room; there is no list to add it to. It has three files:
`sweep.schema.json` (what an experiment's file may vary), `measure.py` (the sweep as a
value, and the plain rows that come of it) and `page.py` (what is made of the rows: the
checks of what the paper printed, the drawings, the table), which ends in `KIND`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from analysis.figures.svg import Figure
from nodes.records import from_plain
from testbed.plan.problems import Key
from testbed.plan.source import Source
from testbed.runs.world import Progress

if TYPE_CHECKING:
    from testbed.experiments.experiment import Experiment
    from testbed.experiments.results import Results

ROOM = Path(__file__).parent
FWD = '"Forwarding in a Content-Based Network" (SIGCOMM 2003)'
RTE = '"Understanding Content-Based Routing Schemes" (Lugano 2006/05)'
ADR = '"Content-Based Addressing and Routing" (Colorado, CU-CS-902-00, 2000)'
MM = '"Matchmaker: Signaling for Dynamic Publish/Subscribe Applications" (ICNP 2003)'
DRAWN = (
    "What is drawn depends on the seed alone and on no machine; all of it can be compared. "
    "The paper's curves are not in its text, only what it says of them."
)
"""What can be compared, where predicates are drawn and counted."""

LineT = TypeVar("LineT")


class DisagreementError(Exception):
    """Two that must answer alike did not: nothing that was measured can be trusted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out, beside what a paper printed."""

    ours: str
    holds: bool | None
    """Whether the paper's statement holds here; None where the two cannot be compared."""

    @classmethod
    def each(cls, parts: Iterable[tuple[str, bool]]) -> Finding:
        """Of several that have all to hold: a part of the text, and whether it holds."""
        texts, holds = zip(*parts, strict=True)
        return cls("; ".join(texts), all(holds))


Check = Callable[[Any], Finding]
"""Compares a statement of the paper with the results."""


class Checks(dict[str, Check]):
    """Checks by the names of their functions, as an experiment's file names them; a decorator."""

    def __call__(self, function: Check) -> Check:
        """Take a function in."""
        self[function.__name__] = function
        return function


@dataclass(frozen=True, slots=True)
class Column(Generic[LineT]):
    """A column of a page's table: its heading, and what stands in a line's cell."""

    heading: str
    cell: Callable[[LineT], str]
    is_text: bool = False
    """Words stand at the left, figures at the right."""


def table(columns: Sequence[Column[LineT]], lines: Iterable[LineT]) -> str:
    """A table in Markdown."""
    rows = [
        [column.heading for column in columns],
        *([column.cell(line) for column in columns] for line in lines),
    ]
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{'|'.join('---' if c.is_text else '---:' for c in columns)}|", *body])


class Sweep:
    """What an experiment varies: the base of each kind's, a dataclass with the keys of its schema."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """From an experiment's file; it is in shape."""
        return from_plain(cls, data)

    @classmethod
    def check(cls, source: Source, key: Key, data: Mapping[str, Any]) -> None:
        """Complain of what the schema cannot see."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs from kind to kind."""

    publication: str
    """Title and year of the paper."""
    comparable: str
    """What of the results can be compared with the paper."""
    sweep: type[Sweep]
    measure: Callable[[Any, int, Progress], Iterable[Any]]
    """The rows of a sweep, with a seed. Raises DisagreementError."""
    row: type
    """Their dataclass; its fields are the columns of the rows' files."""
    checks: Mapping[str, Check]
    figures: Callable[[Experiment, Results[Any]], Mapping[str, Figure]]
    """By what is put behind the experiment's name; empty for the first, or only, figure."""
    tables: Callable[[Results[Any]], str]
    """The rows for people, in Markdown, and how they were come by."""
    scale: Callable[[Results[Any]], str]
    """How much was done, to stand behind the seed."""


def kind_names() -> list[str]:
    """The kinds there are, as experiments' files name them."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules([ROOM]) if module.ispkg)


@cache
def find_kind(name: str) -> Kind:
    """The kind of that name."""
    kind: Kind = import_module(f"{__package__}.{_folder(name).name}.page").KIND
    return kind


def sweep_schema(name: str) -> Path:
    """The JSON Schema of what differs in the files of a kind's experiments."""
    return _folder(name) / "sweep.schema.json"


def _folder(name: str) -> Path:
    return ROOM / name.replace("-", "_")
