"""An experiment as its file describes it: read and checked. What is swept, its kind knows (`kinds`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.experiments.kinds import KINDS
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.source import Source, Unreadable
from topologies.library import EXPERIMENT_SCHEMA

if TYPE_CHECKING:
    from testbed.experiments.kind import Kind


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure or a statement of the paper, and what to say if ours is another."""

    check: str
    """A name among the checks of the experiment's kind."""
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
    kind: str
    paper: str
    title: str
    question: str
    sweep: Any
    """What is varied, as the kind has it."""
    printed: tuple[Printed, ...]
    remarks: tuple[str, ...]
    drawing: str = ""
    """Which of its drawings, where the kind has several."""
    points: tuple[PrintedPoint, ...] = ()
    quick: bool = False

    @property
    def of_kind(self) -> Kind:
        """How it is carried out."""
        return KINDS[self.kind]


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
        kind = KINDS[data["kind"]]
        for part in ("sweep", "quick"):
            kind.check_sweep(source, (part,), data[part])
        _check_statements(source, data, kind)
    if source.problems:
        raise ScenarioError(source.problems)
    return _experiment(data, quick)


def _check_statements(source: Source, data: Mapping[str, Any], kind: Kind) -> None:
    for at, each in enumerate(data["printed"]):
        if each["check"] not in kind.checks:
            expected, hint = f"one of {', '.join(kind.checks)}", did_you_mean(each["check"], kind.checks)
            source.complain(("printed", at, "check"), f"unknown check {each['check']!r}", expected, hint)


def _experiment(data: Mapping[str, Any], quick: bool) -> Experiment:
    return Experiment(
        name=data["name"],
        kind=data["kind"],
        paper=data["paper"],
        title=data["title"],
        question=data["question"].strip(),
        sweep=KINDS[data["kind"]].read_sweep(data["quick" if quick else "sweep"]),
        printed=tuple(Printed(**each) for each in data["printed"]),
        remarks=tuple(data["remarks"]),
        drawing=data.get("drawing", ""),
        points=tuple(PrintedPoint(**each) for each in data.get("points", ())),
        quick=quick,
    )
