"""An experiment as its file describes it: read and checked. What is swept is left to its kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.figures.chart import Mark
from testbed.experiments.kind import Kind, find_kind, kind_names, sweep_schema
from testbed.plan.problems import ScenarioError, did_you_mean
from testbed.plan.reading import read_source
from testbed.plan.shape import check_shape
from testbed.plan.source import Source, Unreadable
from topologies.library import EXPERIMENT_SCHEMA


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure or a statement of the paper, and why ours is another where it is."""

    check: str
    """A name among the checks of the experiment's kind."""
    claim: str
    paper: str
    unless: str = ""
    """Why it does not reproduce, where it does not."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to measure, and what the paper printed."""

    name: str
    kind: str
    paper: str
    title: str
    question: str
    sweep: Any
    """What is varied, as the kind reads it."""
    printed: tuple[Printed, ...]
    remarks: tuple[str, ...]
    drawing: str = ""
    """Which of its drawings, where the kind has several."""
    points: tuple[Mark, ...] = ()
    """That the paper's text gives, for the drawing."""
    quick: bool = False

    @property
    def of_kind(self) -> Kind:
        """How it is carried out."""
        return find_kind(self.kind)


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
    _check_kind(source, data.get("kind"))
    if source.problems:
        raise ScenarioError(source.problems)
    sweep = find_kind(data["kind"]).sweep.read(data["quick" if quick else "sweep"])
    return Experiment(
        **{name: data[name] for name in ("name", "kind", "paper", "title")},
        question=data["question"].strip(),
        sweep=sweep,
        printed=tuple(Printed(**each) for each in data["printed"]),
        remarks=tuple(data["remarks"]),
        drawing=data.get("drawing", ""),
        points=tuple(Mark(**each) for each in data.get("points", ())),
        quick=quick,
    )


def _check_kind(source: Source, name: str | None) -> None:
    """Complain of an unknown kind, and of what only the kind can check."""
    if name is None:
        return
    if name not in kind_names():
        expected, hint = f"one of {', '.join(kind_names())}", did_you_mean(name, kind_names())
        source.complain(("kind",), f"unknown kind {name!r}", expected, hint)
        return
    check_shape(source, sweep_schema(name))
    if source.problems:
        return
    kind = find_kind(name)
    for part in ("sweep", "quick"):
        kind.sweep.check(source, (part,), source.value[part])
    for at, each in enumerate(source.value["printed"]):
        if each["check"] not in kind.checks:
            expected, hint = f"one of {', '.join(kind.checks)}", did_you_mean(each["check"], kind.checks)
            source.complain(("printed", at, "check"), f"unknown check {each['check']!r}", expected, hint)
