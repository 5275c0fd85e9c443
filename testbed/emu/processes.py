"""Starts the processes of a run in their namespaces and notices at once when one ends.

Every process is started through `setpriv --pdeathsig`, so that none outlives
the run's main process by more than a moment, and in a session of its own, so
that a Ctrl-C at the terminal reaches the run alone, which then stops them in
order.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol


class ProcessDiedError(RuntimeError):
    """A process that was to run on has ended."""


class Process(Protocol):
    """What a run does with a process: `subprocess.Popen` is one, and so is what a nursery has born."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | None:
        """How it ended, as `subprocess` says it; None as long as nobody has asked or it runs."""

    def poll(self) -> int | None:
        """How it ended; None: it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; raises `subprocess.TimeoutExpired`."""

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class Watched(Protocol):
    """A process with a name for people, and where to read what it said."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def process(self) -> Process:
        """The process itself."""

    @property
    def log(self) -> Path:
        """Where it says what happened to it."""

    @property
    def errors(self) -> Path:
        """Its standard error."""

    def death(self) -> str | None:
        """How it ended, for people; None while it runs."""


@dataclass(slots=True)
class Child:
    """A process that this one has started."""

    name: str
    process: subprocess.Popen[Any]
    log: Path
    errors: Path

    def death(self) -> str | None:
        """How it ended, for people; None while it runs."""
        return death_of(self)


def death_of(child: Watched) -> str | None:
    """How a process ended, for people; None while it runs."""
    code = child.process.poll()
    if code is None:
        return None
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    said = last_line(child.errors)
    return f"{child.name} {how}{f': {said}' if said else ''} (log: {child.log})"


def last_line(path: Path) -> str:
    """The last line of a file that is not empty, or nothing."""
    if not path.exists():
        return ""
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def start(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    *,
    inside: Sequence[str] = (),
    death_signal: str = "KILL",
    cwd: Path | None = None,
    pipes: bool = False,
    stdin: socket.socket | None = None,
) -> Child:
    """Start one process.

    Args:
        name: what to call it in messages.
        command: program and arguments.
        environment: with the run's marks.
        log: where it will write its log; its standard error goes beside it.
        inside: what to put before the command to enter a namespace.
        death_signal: what it gets when the run's main process dies.
        cwd: where it is to run.
        pipes: whether we talk to it over its standard input and output.
        stdin: what its standard input is to be instead of nothing.
    """
    errors = log.with_suffix(".stderr")
    with errors.open("ab") as stderr:
        process: subprocess.Popen[Any] = subprocess.Popen(
            [*inside, "setpriv", "--pdeathsig", death_signal, "--", *command],
            env=dict(environment),
            stdin=stdin.fileno() if stdin else subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else stderr,
            stderr=stderr,
            text=pipes or None,
            cwd=cwd,
            start_new_session=True,
        )
    return Child(name, process, log, errors)


@dataclass(slots=True)
class Watch:
    """Waits, but not past the death of a process that is to live."""

    _children: dict[int, Watched] = field(default_factory=dict)
    _poll: select.poll = field(default_factory=select.poll)

    def add(self, child: Watched, descriptor: int | None = None) -> None:
        """From now on its death ends any wait.

        Args:
            child: who is watched.
            descriptor: a pidfd of it, if there is one already; it is closed here.
        """
        descriptor = os.pidfd_open(child.process.pid) if descriptor is None else descriptor
        self._children[descriptor] = child
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, child: Watched) -> None:
        """It is meant to end: its death is no news any more."""
        for descriptor in [d for d, watched in self._children.items() if watched is child]:
            self._poll.unregister(descriptor)
            del self._children[descriptor]
            os.close(descriptor)

    def wait(self, seconds: float) -> None:
        """Wait that long.

        Raises:
            ProcessDiedError: a watched process has ended; the text names every one that has.
        """
        ready = self._poll.poll(max(0.0, seconds) * 1000)
        if ready:
            deaths = [self._children[descriptor].death() for descriptor, _ in ready]
            raise ProcessDiedError("; ".join(sorted(death for death in deaths if death)))

    def readable(self, stream: IO[str], seconds: float) -> bool:
        """Wait until a stream has something to read; False if it has not in that time.

        Raises:
            ProcessDiedError: a watched process has ended, and the stream has nothing to read.
        """
        self._poll.register(stream, select.POLLIN)
        try:
            ready = dict(self._poll.poll(max(0.0, seconds) * 1000))
        finally:
            self._poll.unregister(stream)
        if stream.fileno() in ready and ready[stream.fileno()] & select.POLLIN:
            return True
        if ready:
            self.wait(0)
        return False

    def close(self) -> None:
        """Watch no longer; the processes go on."""
        for descriptor in self._children:
            os.close(descriptor)
        self._children.clear()
        self._poll = select.poll()


def stop_all(children: Sequence[Watched], timeout_s: float) -> list[str]:
    """Ask all to end, wait for all, kill those that do not; what went wrong with any, for people.

    One that SIGTERM ended had not got as far as to take it.
    """
    for child in children:
        if child.process.poll() is None:
            child.process.terminate()
    deadline = time.monotonic() + timeout_s
    stubborn = [child for child in children if not _ended(child, deadline)]
    for child in stubborn:
        child.process.kill()
        child.process.wait()
    said = [f"{c.name} did not stop within {timeout_s:g} s and was killed (log: {c.log})" for c in stubborn]
    failed = [c for c in children if c not in stubborn and c.process.returncode not in (0, -signal.SIGTERM)]
    return said + [death for child in failed if (death := child.death())]


def drop_empty_errors(children: Iterable[Watched]) -> None:
    """Remove the standard-error files that nothing was written to."""
    for child in children:
        if child.errors.exists() and child.errors.stat().st_size == 0:
            child.errors.unlink()


def _ended(child: Watched, deadline: float) -> bool:
    try:
        child.process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
