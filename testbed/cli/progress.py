"""Shows how far a run is: bars on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from testbed.runs.world import Progress

TITLES = {
    "build": "building the network",
    "ready": "waiting until the network has converged",
    "workload": "running the clients' scripts",
    "drain": "waiting until no message is on its way",
    "stop": "stopping",
    "judge": "judging",
    "spark": "starting Spark",
    "ingest": "reading the captures",
    "survey": "counting the packets",
    "steps": "following messages from capture to capture",
    "tables": "computing the tables and the verdict",
    "report": "writing the report",
    "compare": "comparing the runs",
}
"""What a person reads for a phase; a phase that is not here is shown by its name."""


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A Progress that suits standard error."""
    if quiet:
        yield SilentProgress()
    elif sys.stderr.isatty():
        with _bars() as bars:
            shown = BarProgress(bars)
            yield shown
            shown.finish()
    else:
        yield LineProgress(sys.stderr)


class SilentProgress:
    """Prints nothing, except what is worth attention."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Nothing to show."""

    def advance(self, done: int) -> None:
        """Nothing to show."""

    def say(self, text: str) -> None:
        """Warnings are shown even when quiet."""
        print(f"cbn: {text}", file=sys.stderr)


class LineProgress:
    """One plain line a phase, for logs and pipes."""

    def __init__(self, out: TextIO, prefix: str = "") -> None:
        self._out = out
        self._prefix = prefix
        self._started = time.monotonic()

    def phase(self, name: str, total: int | None = None) -> None:
        """A line with the seconds since the start."""
        count = f" ({total:,})" if total else ""
        self.say(f"[{time.monotonic() - self._started:6.1f} s] {TITLES.get(name, name)}{count}")

    def advance(self, done: int) -> None:
        """Lines do not move."""

    def say(self, text: str) -> None:
        """A line."""
        print(f"{self._prefix}{text}", file=self._out, flush=True)


class BarProgress:
    """One bar a phase."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._total: int | None = None

    def phase(self, name: str, total: int | None = None) -> None:
        """End the bar of the phase before and begin a new one."""
        self.finish()
        self._total = total
        self._task = self._bars.add_task(TITLES.get(name, name), total=total, count="")

    def advance(self, done: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, count=self._count(done))

    def say(self, text: str) -> None:
        """A line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)

    def finish(self) -> None:
        """Fill the bar: its phase has ended."""
        if self._task is not None:
            self._bars.update(self._task, total=self._total or 1, completed=self._total or 1)

    def _count(self, done: int) -> str:
        return f"{done:,} of {self._total:,}" if self._total else ""


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
