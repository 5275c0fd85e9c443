"""Several runs at once, each in a process of its own.

Here: starting, following and ending the processes. Not here: what a run is, and
what becomes of its results. The processes are in groups of their own, so that
Ctrl-C reaches this one alone, which passes it on; they end in order when this
one dies.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from nodes.processes import die_with
from testbed.runs.interruption import SIGNALS, Interruption
from testbed.runs.world import Progress

FORK = get_context("fork")
_DEFECT = 70


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a batch."""

    name: str
    perform: Callable[[Progress], int]
    """Carries it out, in a process of its own; returns the exit code of that process."""


@dataclass(slots=True)
class _Running:
    job: Job
    process: ForkProcess
    reports: Connection
    has_more: bool = field(default=True)
    """Whether it may still report something."""


class Batch:
    """Runs jobs, so many at once.

    Args:
        jobs: In the order in which they are started.
        at_once: How many run side by side.
        shown: Makes the progress of a job, by its name.
        on_end: Called with each job that has ended, with its exit code; says whether
            further ones are to be started.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        at_once: int,
        shown: Callable[[str], Progress],
        on_end: Callable[[str, int], bool],
    ) -> None:
        self._waiting = list(jobs)
        self._at_once = at_once
        self._progress = {job.name: shown(job.name) for job in jobs}
        self._on_end = on_end
        self._running: list[_Running] = []

    def run(self) -> None:
        """Run them all.

        Raises:
            Interruption: Somebody wants it to end; all processes have ended in order.
        """
        try:
            self._work()
        except KeyboardInterrupt as interruption:
            self._end_all(interruption)
            raise

    def _work(self) -> None:
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._at_once:
                self._start(self._waiting.pop(0))
            self._follow()

    def _start(self, job: Job) -> None:
        """Nothing may come between a process and our knowing of it."""
        with _signals_held():
            reports, pipe = FORK.Pipe(duplex=False)
            process = FORK.Process(target=_perform, args=(job, pipe, os.getpid()), name=job.name)
            process.start()
            pipe.close()
            self._running.append(_Running(job, process, reports))

    def _follow(self) -> None:
        """Wait until somebody has something to say, or has ended."""
        ready = wait(
            [r.reports for r in self._running if r.has_more] + [r.process.sentinel for r in self._running]
        )
        for running in list(self._running):
            if running.reports in ready:
                self._read_reports(running)
            if running.process.sentinel in ready:
                self._ended(running)

    def _read_reports(self, running: _Running) -> None:
        progress = self._progress[running.job.name]
        try:
            while running.has_more and running.reports.poll():
                what, arguments = running.reports.recv()
                getattr(progress, what)(*arguments)
        except EOFError:
            running.has_more = False

    def _ended(self, running: _Running) -> None:
        self._read_reports(running)
        running.process.join()
        running.reports.close()
        self._running.remove(running)
        code = running.process.exitcode
        if not self._on_end(running.job.name, _DEFECT if code is None else code):
            self._waiting.clear()

    def _end_all(self, interruption: KeyboardInterrupt) -> None:
        """Pass the signal on, and wait until all have cleaned up."""
        number = signal.SIGINT
        if isinstance(interruption, Interruption):
            number = signal.Signals[interruption.signal_name]
        self._waiting.clear()
        for running in self._running:
            if running.process.pid is not None and running.process.is_alive():
                os.kill(running.process.pid, number)
        while self._running:
            self._follow()


class _PipedProgress:
    """The progress of a job, sent by its process."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def phase(self, name: str, total: int | None = None) -> None:
        self._send("phase", name, total)

    def advance(self, done: int) -> None:
        self._send("advance", done)

    def say(self, text: str) -> None:
        self._send("say", text)

    def _send(self, what: str, *arguments: object) -> None:
        try:
            self._pipe.send((what, arguments))
        except BrokenPipeError:
            return  # whoever listened has died; a signal says so


def _perform(job: Job, pipe: Connection, parent: int) -> None:
    """What the process of a job does, and all it does."""
    os.setpgid(0, 0)
    die_with(parent, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    code = _DEFECT
    try:
        code = job.perform(_PipedProgress(pipe))
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@contextmanager
def _signals_held() -> Iterator[None]:
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
