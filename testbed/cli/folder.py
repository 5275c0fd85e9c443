"""Where the runs of a matrix go, and which of them are there already.

Here: the folder, and what in it is kept, continued or replaced. Not here: running (`matrix`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from testbed.cli import exits
from testbed.plan.matrix import Cell
from testbed.plan.model import Plan
from testbed.plan.recorded import RecordedRunError, read_json
from testbed.runs.conduct import record_anew
from testbed.runs.lock import refuse_if_held
from testbed.runs.resuming import Folder, Standing
from testbed.runs.whole_files import write_whole
from testbed.runs.world import Progress, World
from topologies.quantities import how_many

MATRIX = "matrix.json"


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that is to be: its cell, its plan, its world and where it goes."""

    cell: Cell
    plan: Plan
    scenario: str
    """The text that the plan was made of."""
    world: World
    directory: Path
    judge: bool
    """Whether to judge it as soon as it has ended."""


def new_or_resumed(
    args: argparse.Namespace, cells: Sequence[tuple[Cell, Plan]], world: str, runs: Path
) -> Path:
    """Where all runs go."""
    plan = cells[0][1]
    if args.resume:
        _check_resumed(args.resume, {"name": plan.name, "world": world})
        return Path(args.resume)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = Path(args.out or runs / f"{plan.name}-{world}-{stamp}")
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (args.force and (folder / MATRIX).is_file()):
            hint = (
                "--resume goes on there, --force replaces its runs"
                if (folder / MATRIX).is_file()
                else "--out"
            )
            raise exits.CommandError(f"{folder} is not empty: nothing in it was touched; {hint}")
    return folder


def write_note(folder: Path, run: Planned, cells: Sequence[Cell]) -> None:
    """Write down what the folder holds runs of: of these cells, and of others with the same axes."""
    plan = run.plan
    known = known_cells(folder, list(cells[0].values)) | {cell.name: cell.values for cell in cells}
    note = {
        "name": plan.name,
        "scenario": plan.scenario_path,
        "sha256": plan.scenario_sha256,
        "world": run.world.name,
        "cells": known,
    }
    with _explained(folder):
        write_whole(folder / MATRIX, json.dumps(note, indent=1) + "\n")


def read_note(folder: Path) -> dict[str, Any]:
    """What a folder holds runs of.

    Raises:
        CommandError: None of a matrix.
    """
    try:
        return read_json(folder / MATRIX)
    except RecordedRunError as error:
        raise exits.CommandError(f"it holds no runs of a matrix: {error}") from None


def known_cells(folder: Path, axes: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
    """The runs in a folder of which it is noted that they are of its matrix: their values by name.

    Args:
        folder: Of the matrix.
        axes: Only those that have these.
    """
    noted = read_note(folder).get("cells", {}) if (folder / MATRIX).exists() else {}
    return {
        name: values
        for name, values in noted.items()
        if axes is None or (list(values) == list(axes) and (folder / name).is_dir())
    }


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise exits.CommandError(
            f"cannot write into {folder}: {error.strerror}; name another with --out"
        ) from error


def _check_resumed(folder: Path, now: Mapping[str, str]) -> None:
    before = read_note(folder)
    for key, what in (("name", "scenario"), ("world", "world")):
        if before.get(key, now[key]) != now[key]:
            raise exits.CommandError(
                f"--resume {folder}: its runs are of another {what}: {before[key]}, and this is {now[key]}"
            )


def still_to_run(
    args: argparse.Namespace, planned: Sequence[Planned], cells: Sequence[Cell], shown: Progress
) -> tuple[list[Planned], list[Planned]]:
    """All runs, with the places where they are or will be; and those of them that are to be run.

    Raises:
        CommandError: A complete run would be replaced, and nobody has asked for that with --force.
        InUseError: A process is at work in the place of one of them.
    """
    folder = Folder(planned[0].directory.parent, [cell.name for cell in cells])
    found = [(run, folder.standing(run.cell.name, run.plan)) for run in planned]
    missing = [(run, there) for run, there in found if not (args.resume and there.state == "complete")]
    for run, _ in missing:
        refuse_if_held(run.directory)
    _check_replaced(args, missing, shown)
    to_run = [run for run, _ in missing]
    return [run if run in to_run else _kept(run, there, shown) for run, there in found], to_run


def _check_replaced(
    args: argparse.Namespace, missing: Sequence[tuple[Planned, Standing]], shown: Progress
) -> None:
    """List what would be replaced, before anything is."""
    lines = [f"  {run.cell.name}: {there.about}" for run, there in missing if there.about]
    if not lines:
        return
    text, runs = "\n".join(lines), how_many(len(lines), "run")
    if args.force and all(there.state != "unreadable" for _, there in missing):
        shown.say(f"replaced: {runs}\n{text}")
        return
    raise exits.CommandError(
        f"--resume {args.resume}: {runs} there would be replaced; nothing was touched\n"
        f"{text}\n"
        "To keep them, name another folder with --out. To replace them, add --force."
    )


def _kept(run: Planned, standing: Standing, shown: Progress) -> Planned:
    """A run that is complete already, under its name of now, with what is expected of it now."""
    place = standing.directory
    if place != run.directory and not run.directory.exists():
        shown.say(f"[{run.cell.name}] complete before, as {place.name}")
        place = place.rename(run.directory)
    kept = replace(run, directory=place)
    if not standing.judged:
        record_anew(run.plan, place, run.scenario)
    return kept
