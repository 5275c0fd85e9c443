"""An experiment as its file describes it: read, checked, and every table of its sweep written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.experiments.checks import CHECKS
from testbed.plan.problems import Key, ScenarioError, did_you_mean
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.source import Source, Unreadable
from topologies.library import EXPERIMENT_SCHEMA

if TYPE_CHECKING:
    from fastpath.workload import Recipe

ROUNDS = (10,)
"""Of preselection, as in all the paper's experiments but Fig. 11."""
CONSTRAINTS = (1, 9)


@dataclass(frozen=True, slots=True)
class Table:
    """One forwarding table to measure: its size, and how its constraints are dealt out."""

    filters: int
    """About so many, as each interface draws its own number (F7)."""
    interfaces: int
    constraints: tuple[int, int] = CONSTRAINTS
    """Per filter."""
    rounds: tuple[int, ...] = ROUNDS
    """Of preselection, each a measurement of `selective`."""
    cold: bool = False
    """Flush the caches before each message."""
    even: bool = False
    """Exactly so many filters, an even share for each interface."""
    eliminations: bool = False
    """Count the interfaces that preselection rules out."""

    @property
    def central(self) -> bool:
        """One filter an interface: a router that serves everybody."""
        return self.filters == self.interfaces

    def recipe(self, seed: int) -> Recipe:
        """The workload by Table 1 of the paper: f_l = 1, f_h so that the mean is filters / interfaces."""
        from fastpath.workload import Recipe

        return Recipe(
            seed=seed,
            interfaces=self.interfaces,
            filters_per_interface=(1, max(1, round(2 * self.filters / self.interfaces) - 1)),
            filters=self.filters if self.even else None,
            constraints=self.constraints,
        )

    def __str__(self) -> str:
        held = "one filter each" if self.central else f"{self.filters:,} filters"
        return f"{self.interfaces:,} interfaces, {held}{', cold caches' if self.cold else ''}"


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure or a statement of the paper, and what to say if ours is another."""

    check: str
    """A name in `testbed.experiments.checks`."""
    claim: str
    paper: str
    unless: str = ""
    """Why it does not reproduce, where it does not."""


@dataclass(frozen=True, slots=True)
class PrintedPoint:
    """A point that the paper's text gives, for the drawing."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to measure, and what the paper printed."""

    name: str
    paper: str
    title: str
    question: str
    drawing: str
    """The name of a function of `testbed.experiments.drawings`."""
    repeat: int
    messages: int
    tables: tuple[Table, ...]
    printed: tuple[Printed, ...]
    remarks: tuple[str, ...]
    points: tuple[PrintedPoint, ...] = ()
    quick: bool = False


def load_experiment(path: Path, quick: bool = False) -> Experiment:
    """The experiment of a file; with `quick`, its small slice.

    Raises:
        ScenarioError: With everything that is wrong with the file.
    """
    try:
        source = read_source(path)
    except Unreadable as error:
        raise ScenarioError([error.problem]) from None
    data = check_shape(source, EXPERIMENT_SCHEMA)
    if not source.problems:
        _check_tables(source, data)
        _check_statements(source, data)
    if source.problems:
        raise ScenarioError(source.problems)
    return _experiment(data, quick)


def _check_tables(source: Source, data: Mapping[str, Any]) -> None:
    parts: dict[Key, Any] = {("tables",): data["tables"], ("quick", "tables"): data["quick"]["tables"]}
    for key, groups in parts.items():
        for at, group in enumerate(groups):
            if any(t.interfaces > t.filters for t in _tables(group)):
                source.complain(
                    (*key, at), "more interfaces than filters", "at least one filter an interface"
                )


def _check_statements(source: Source, data: Mapping[str, Any]) -> None:
    for at, each in enumerate(data["printed"]):
        if each["check"] not in CHECKS:
            expected, hint = f"one of {', '.join(CHECKS)}", did_you_mean(each["check"], CHECKS)
            source.complain(("printed", at, "check"), f"unknown check {each['check']!r}", expected, hint)


def _experiment(data: Mapping[str, Any], quick: bool) -> Experiment:
    scale = data["quick"] if quick else data
    return Experiment(
        name=data["name"],
        paper=data["paper"],
        title=data["title"],
        question=data["question"].strip(),
        drawing=data["drawing"],
        repeat=scale["repeat"],
        messages=data.get("messages", 100),
        tables=tuple(table for group in scale["tables"] for table in _tables(group)),
        printed=tuple(Printed(**each) for each in data["printed"]),
        points=tuple(PrintedPoint(**each) for each in data.get("points", ())),
        remarks=tuple(data["remarks"]),
        quick=quick,
    )


def _tables(group: Mapping[str, Any]) -> Iterator[Table]:
    """Lists multiply: every number of interfaces with every number of filters."""
    low, high = group.get("constraints", CONSTRAINTS)
    for interfaces, filters in product(group["interfaces"], group["filters"]):
        yield Table(
            filters=filters,
            interfaces=filters if interfaces == "each" else interfaces,
            constraints=(low, high),
            rounds=tuple(group.get("rounds", ROUNDS)),
            cold=group.get("cold", False),
            even=group.get("even", False),
            eliminations=group.get("eliminations", False),
        )
