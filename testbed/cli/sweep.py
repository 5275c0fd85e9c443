"""The cells of a matrix as Spark tasks (`cbn run SWEEP --on MASTER`).

Here: handing them out and following them, as `testbed.runs.batch.Batch` does with processes. Not here: what
a task does (`cells`), and Spark (`analysis.tasks`, `analysis.session`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from testbed.cli import exits
from testbed.cli.cells import CellEnded, CellTask, apart_prefix, run_as_task
from testbed.cli.folder import Planned
from testbed.runs.directory import new_run_id
from testbed.runs.world import Progress

if TYPE_CHECKING:
    from analysis.settings import Asked

LOG = "spark.log"
_SWEEP = "sweep-spark"
"""How the names of tokens begin."""


class Sweep:
    """Runs cells as Spark tasks; the session is kept, for what is analysed afterwards.

    Args:
        runs: All of them, of one folder.
        asked: Where Spark runs.
        shown: Makes the progress of a run, by its name.
        on_end: Called with each run that has ended, with its exit code; says whether
            the others are to go on.
    """

    def __init__(
        self,
        runs: Sequence[Planned],
        asked: Asked,
        shown: Callable[[str], Progress],
        on_end: Callable[[str, int], bool],
    ) -> None:
        self._runs = runs
        self._asked = asked
        self._shown = shown
        self._on_end = on_end

    def run(self) -> None:
        """Run them all.

        Raises:
            CommandError: Spark does not start there, or its workers cannot do this.
            Interruption: Somebody wants it to end; no task goes on.
        """
        if self._runs:
            with _token(self._runs) as token:
                self._work(token)

    def _work(self, token: Path) -> None:
        from analysis import AnalysisError
        from analysis.session import start_session
        from analysis.tasks import carried_out

        with exits.explained(AnalysisError, code=exits.FAILED):
            spark = start_session(0, self._asked, token.parent / LOG)
            with closing(carried_out(spark, run_as_task, self._tasks(token))) as results:
                for ended in results:
                    if not self._ended(ended.index, ended.value, ended.problem):
                        return

    def _tasks(self, token: Path) -> list[CellTask]:
        """Paths from the root: a worker is somewhere else."""
        runs = [replace(run, directory=run.directory.absolute()) for run in self._runs]
        return [CellTask(run, run_id, token) for run, run_id in zip(runs, self._ids(), strict=True)]

    def _ids(self) -> list[str]:
        """As many as runs, all different: many are made within a second."""
        plan, world = self._runs[0].plan, self._runs[0].world
        found: dict[str, None] = {}
        while len(found) < len(self._runs):
            found[new_run_id(plan.name, world.name)] = None
        return list(found)

    def _ended(self, index: int, ended: CellEnded | None, problem: str) -> bool:
        name = self._runs[index].cell.name
        if ended is not None and ended.code == exits.MACHINE:
            raise exits.CommandError("\n".join(ended.said), exits.MACHINE)
        for line in [problem] if ended is None else ended.said:
            self._shown(name).say(line)
        return self._on_end(name, exits.DEFECT if ended is None else ended.code)


@contextmanager
def _token(runs: Sequence[Planned]) -> Iterator[Path]:
    """A file by which workers know the folder; what attempts have left there that did not end is removed."""
    folder = runs[0].directory.absolute().parent
    for left in folder.glob(f".{_SWEEP}-*"):  # by a sweep that was killed: what goes on of it finds none
        left.unlink()
    token = folder / f".{_SWEEP}-{uuid4().hex}"
    token.touch()
    try:
        yield token
    finally:
        token.unlink(missing_ok=True)
        for left in (path for run in runs for path in folder.glob(f"{escape(apart_prefix(run))}*")):
            shutil.rmtree(left, ignore_errors=True)
