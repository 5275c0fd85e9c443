"""One cell of a matrix carried out: in a process of this machine (`--jobs`) or as a Spark task (`--on`).

Here: the one function that does it, and what each of the two ways puts around it. Not here: which cells
there are (`matrix`, `folder`), starting processes (`testbed.runs.batch`) and tasks (`sweep`).
"""

from __future__ import annotations

import platform
import shutil
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from testbed.cli import exits, judging
from testbed.cli.folder import Planned
from testbed.plan.recorded import RecordedRunError, read_manifest
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory, RunDirectoryError, new_run_id
from testbed.runs.world import Progress

_CODES: Mapping[str, int] = {
    "complete": exits.OK,
    "failed": exits.FAILED,
    "interrupted": exits.INTERRUPTED,
}


def run_cell(run: Planned, made: Callable[[], RunDirectory], shown: Progress) -> int:
    """Carry out a run in the directory that `made` makes, and judge it; returns the exit code."""
    try:
        directory = made()
        outcome = conduct(run.plan, run.world, directory, shown, scenario=run.scenario)
        if run.judge and outcome.outcome == "complete":
            judging.judge(directory.path, run.plan, shown)
    except (exits.CommandError, RunDirectoryError, OSError) as error:
        shown.say(str(error))
        return exits.FAILED
    if outcome.outcome == "failed":
        shown.say(outcome.message)
    return _CODES[outcome.outcome]


def run_in_process(run: Planned, shown: Progress) -> int:
    """One run in the place of an earlier one, in a process of its own, which signals end in order."""
    run_id = new_run_id(run.plan.name, run.world.name)
    with exits.Signals():
        try:
            return run_cell(run, lambda: RunDirectory.create(run.directory, run_id, force=True), shown)
        except KeyboardInterrupt:
            return exits.INTERRUPTED


@dataclass(frozen=True, slots=True)
class CellTask:
    """A cell for a Spark worker, which may be on another machine."""

    run: Planned
    run_id: str
    """The same for each attempt, so that a second one finds the result of the first."""
    token: Path
    """A file in the sweep's folder; a worker that does not see it has another folder."""


@dataclass(slots=True)
class CellEnded:
    """What a worker tells of a cell."""

    code: int
    said: list[str] = field(default_factory=list)


def run_as_task(task: CellTask) -> CellEnded:
    """One run, on a Spark worker: beside its place, and put there when it is whole."""
    said = _Said()
    if not task.token.is_file():
        said.say(
            f"the Spark worker on {platform.node()} does not have the folder {task.token.parent}: "
            "workers on other machines need it under the same path, as on NFS"
        )
        return CellEnded(exits.MACHINE, said.lines)
    apart = task.run.directory.with_name(f"{apart_prefix(task.run)}{uuid4().hex}")
    try:
        code = run_cell(task.run, lambda: RunDirectory.create_apart(apart, task.run_id), said)
        _put_in_place(apart, task)
    except Exception:
        said.say(traceback.format_exc())
        code = exits.DEFECT
    finally:
        shutil.rmtree(apart, ignore_errors=True)
    return CellEnded(code, said.lines)


def apart_prefix(run: Planned) -> str:
    """How the names of folders begin in which workers make a run."""
    return f".{run.directory.name}."


def _put_in_place(apart: Path, task: CellTask) -> None:
    """Let the whole run take its place, unless an earlier attempt of the same task has done so."""
    place = task.run.directory
    if _is_there(place, task.run_id) or not apart.exists():
        return
    if place.exists():
        RunDirectory.create(place, task.run_id, force=True)
    try:
        apart.rename(place)
    except OSError:
        if not _is_there(place, task.run_id):
            raise


def _is_there(place: Path, run_id: str) -> bool:
    try:
        return bool(read_manifest(place)["run_id"] == run_id)
    except RecordedRunError:
        return False


class _Said:
    """Keeps what is worth a person's attention, for the one who waits for the task."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def phase(self, name: str, total: int | None = None) -> None:
        """Nobody watches."""

    def advance(self, done: int) -> None:
        """Nobody watches."""

    def say(self, text: str) -> None:
        """Keep it."""
        self.lines.append(text)
