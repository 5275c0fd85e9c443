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

from nodes.daemon.kernel import die_with
from testbed.runs.interruption import Interruption
from testbed.runs.world import Progress

FORK = get_context("fork")
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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
    told: Connection
    heard: bool = field(default=True)


class Batch:
    """Runs jobs, so many at once.

    Args:
        jobs: In the order in which they are started.
        at_once: How many run side by side.
        shown: Makes the progress of a job, by its name.
        on_end: Told of each job that has ended, with its exit code; says whether
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
            heard, told = FORK.Pipe(duplex=False)
            process = FORK.Process(target=_perform, args=(job, told, os.getpid()), name=job.name)
            process.start()
            told.close()
            self._running.append(_Running(job, process, heard))

    def _follow(self) -> None:
        """Wait until somebody has something to say, or has ended."""
        ready = wait([r.told for r in self._running if r.heard] + [r.process.sentinel for r in self._running])
        for running in list(self._running):
            if running.told in ready:
                self._hear(running)
            if running.process.sentinel in ready:
                self._ended(running)

    def _hear(self, running: _Running) -> None:
        progress = self._progress[running.job.name]
        try:
            while running.heard and running.told.poll():
                what, arguments = running.told.recv()
                getattr(progress, what)(*arguments)
        except EOFError:
            running.heard = False

    def _ended(self, running: _Running) -> None:
        self._hear(running)
        running.process.join()
        running.told.close()
        self._running.remove(running)
        code = running.process.exitcode
        if not self._on_end(running.job.name, _DEFECT if code is None else code):
            self._waiting.clear()

    def _end_all(self, interruption: KeyboardInterrupt) -> None:
        """Pass on what we were told, and wait until all have cleaned up."""
        number = signal.SIGINT
        if isinstance(interruption, Interruption):
            number = signal.Signals[interruption.signal_name]
        self._waiting.clear()
        for running in self._running:
            if running.process.pid is not None and running.process.is_alive():
                os.kill(running.process.pid, number)
        while self._running:
            self._follow()


class _Told:
    """The progress of a job as its process tells it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def phase(self, name: str, total: int | None = None) -> None:
        self._tell("phase", name, total)

    def advance(self, done: int) -> None:
        self._tell("advance", done)

    def say(self, text: str) -> None:
        self._tell("say", text)

    def _tell(self, what: str, *arguments: object) -> None:
        try:
            self._pipe.send((what, arguments))
        except BrokenPipeError:
            # Whoever listened has died; that is told by a signal.
            return


def _perform(job: Job, told: Connection, parent: int) -> None:
    """What the process of a job does, and all it does."""
    os.setpgid(0, 0)
    die_with(parent, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    code = _DEFECT
    try:
        code = job.perform(_Told(told))
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@contextmanager
def _signals_held() -> Iterator[None]:
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
