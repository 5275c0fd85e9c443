"""Cases of an experiment that do not depend on each other, each in a process of its own.

As many run at once as there are processors for us (`taskset` gives it fewer). The rows come in the
order of the cases, whichever ends first.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from testbed.experiments.kind import DisagreementError
from testbed.runs.batch import Batch, Job
from testbed.runs.world import Progress

CaseT = TypeVar("CaseT")
RowT = TypeVar("RowT")
_DISAGREED = 1


class _Unseen:
    """Processes say nothing of how far they are: their cases are counted."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A process may say so."""

    def advance(self, done: int) -> None:
        """A process may say so."""

    def say(self, text: str) -> None:
        """A process may say so."""


def measured(
    cases: Sequence[CaseT], rows: Callable[[CaseT], Iterable[RowT]], shown: Progress
) -> Iterator[RowT]:
    """The rows of all cases.

    Args:
        cases: What to measure.
        rows: Measures one of them.
        shown: Told how many have ended.

    Raises:
        DisagreementError: One of them said so, or its process ended before it was done.
    """
    with TemporaryDirectory(prefix="cbn-reproduce-") as folder:
        files = {f"{at}: {case}": Path(folder, str(at)) for at, case in enumerate(cases)}
        codes: dict[str, int] = {}

        def on_end(name: str, code: int) -> bool:
            codes[name] = code
            shown.advance(len(codes))
            return code == 0

        jobs = [
            Job(name, partial(_perform, partial(rows, case), files[name]))
            for name, case in zip(files, cases, strict=True)
        ]
        Batch(jobs, len(os.sched_getaffinity(0)), lambda _: _Unseen(), on_end).run()
        for name, code in codes.items():
            if code:
                raise DisagreementError(_why(name, code, files[name]))
        for file in files.values():
            yield from pickle.loads(file.read_bytes())


def _perform(rows: Callable[[], Iterable[RowT]], file: Path, shown: Progress) -> int:
    """In the process of a case: leave its rows, or why there are none, in a file."""
    del shown
    try:
        file.write_bytes(pickle.dumps([*rows()]))
    except DisagreementError as error:
        file.write_text(str(error), encoding="utf-8")
        return _DISAGREED
    return 0


def _why(name: str, code: int, file: Path) -> str:
    if code == _DISAGREED and file.exists():
        return file.read_text(encoding="utf-8")
    return f"the process of case {name} ended with {code} before it was done"
