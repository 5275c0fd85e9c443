"""What a kind of experiments has to say: how to read, measure, compare and draw one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.figures.svg import Figure
from testbed.experiments.finding import Finding
from testbed.experiments.results import Results
from testbed.plan.problems import Key
from testbed.plan.source import Source

if TYPE_CHECKING:
    from testbed.experiments.definition import Experiment
    from testbed.runs.world import Progress

Check = Callable[[Any], Finding]
"""A statement that an experiment's file may name; compares what it says with the results."""


class DisagreementError(Exception):
    """Two that must answer alike did not: nothing that was measured can be trusted."""


def nothing_more(source: Source, key: Key, sweep: Mapping[str, Any]) -> None:
    """Where the schema sees all that can be wrong with a sweep."""
    del source, key, sweep


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs from kind to kind."""

    publication: str
    """Title and year of the paper."""
    row: type
    """A dataclass, one instance a line of the rows' files."""
    read_sweep: Callable[[Mapping[str, Any]], Any]
    measure: Callable[[Experiment, int, Progress], Results[Any]]
    checks: Mapping[str, Check]
    figures: Callable[[Experiment, Results[Any]], Mapping[str, Figure]]
    """By what is put behind the experiment's name; empty for the first, or only, figure."""
    table: Callable[[Results[Any]], str]
    """The rows for people, in Markdown, and how they were come by."""
    scale: Callable[[Results[Any]], str]
    """How much was done, to stand behind the seed."""
    comparable: str
    """What of the results can be compared with the paper."""
    check_sweep: Callable[[Source, Key, Mapping[str, Any]], None] = nothing_more


def checks(*functions: Check) -> Mapping[str, Check]:
    """Checks by the names of their functions, as an experiment's file names them."""
    return {function.__name__: function for function in functions}
