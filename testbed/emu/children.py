"""The processes of a run: how they are started, asked, watched and stopped, and what is said of their ends.

Each is started through `setpriv --pdeathsig`, so that none outlives the run's main
process by more than a moment, and in a session of its own, so that a Ctrl-C at the
terminal reaches the run alone, which then stops them in order. A helper of the run
has a socket for its standard input and output, over which it is asked
(`nodes.daemon.json_lines`); the end of its input tells it to end.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodes.daemon.json_lines import Channel, ClosedError, RefusedError
from testbed.live.fabric import NetworkError, ProcessDiedError

if TYPE_CHECKING:
    from testbed.emu.fork_server import ForkedProcess

COMMAND_TIMEOUT_S = 30.0
SOURCE_ROOT = Path(__file__).resolve().parents[2]
DEATH_NOTICE_S = 2.0
"""How long after its connection a process itself may take to end."""


@dataclass(slots=True)
class Child:
    """A process with a name for people, and where to read what it said."""

    name: str
    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path
    """Where it says what happened to it."""
    errors: Path
    """Its standard error."""
    channel: Channel | None = None
    """Of a helper: where it is asked."""

    def death(self) -> str | None:
        """How it ended, for people; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
        last = last_line(self.errors)
        return f"{self.name} {how}{f': {last}' if last else ''} (log: {self.log})"

    def ready(self, seconds: float) -> Any:
        """Wait for the first line of a helper, which replies to its being started.

        Raises:
            ProcessDiedError: it cannot do what it was started for, has ended, or is silent for so long.
        """
        assert self.channel is not None
        try:
            return self.channel.result(seconds)
        except (RefusedError, ClosedError) as error:
            raise self.failure(error) from error

    def ask(self, do: str, seconds: float, **arguments: object) -> Any:
        """Make a request of a helper; returns its result.

        Raises:
            RefusedError: it was not done; the text says why.
            ProcessDiedError: the helper has ended, or is silent for so long.
        """
        assert self.channel is not None
        try:
            return self.channel.ask(do, seconds, **arguments)
        except ClosedError as error:
            raise self.failure(error) from error

    def last_words(self, seconds: float) -> Any:
        """End the input of a helper, and wait for what it then reports.

        Raises:
            ProcessDiedError: it has ended without, or is silent for so long.
        """
        assert self.channel is not None
        self.channel.end_input()
        return self.ready(seconds)

    def stop(self, timeout_s: float) -> list[str]:
        """End a helper by ending its input; what went wrong, for people."""
        if self.channel is not None:
            self.channel.end_input()
        if not _ended(self, time.monotonic() + timeout_s):
            self.process.kill()
            self.process.wait()
            self.close()
            return [f"{self.name} did not end within {timeout_s:g} s and was killed (log: {self.log})"]
        self.close()
        return [self.death() or ""] if self.process.returncode else []

    def close(self) -> None:
        """It has ended: let go of what it leaves. An empty file of errors is removed."""
        if self.channel is not None:
            self.channel.close()
        if self.errors.exists() and self.errors.stat().st_size == 0:
            self.errors.unlink()

    def failure(self, why: Exception) -> ProcessDiedError:
        """Why it is of no use any more; if it has ended, its own last words say more than ours."""
        if isinstance(why, RefusedError):
            return ProcessDiedError(str(why))
        _ended(self, time.monotonic() + DEATH_NOTICE_S)
        return ProcessDiedError(self.death() or f"{self.name}: {why} (log: {self.errors})")


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
    death_signal: str = "KILL",
    stdio: socket.socket | None = None,
) -> Child:
    """Start one process.

    Args:
        name: what to call it in messages.
        command: program and arguments.
        environment: with the run's marks.
        log: where it will write its log; its standard error goes beside it.
        death_signal: what it gets when the run's main process dies.
        stdio: what its standard input and output are to be instead of nothing and its errors.
    """
    errors = log.with_suffix(".stderr")
    with errors.open("ab") as stderr:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", death_signal, "--", *command],
            env=dict(environment),
            stdin=stdio.fileno() if stdio else subprocess.DEVNULL,
            stdout=stdio.fileno() if stdio else stderr,
            stderr=stderr,
            cwd=SOURCE_ROOT,
            start_new_session=True,
        )
    return Child(name, process, log, errors)


def start_helper(
    name: str,
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    *,
    options: Sequence[str] = (),
    death_signal: str = "KILL",
) -> Child:
    """Start a program of this project that is asked over its standard input; see `start`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    command = [sys.executable, *options, "-m", module, *arguments]
    with theirs:
        child = start(name, command, environment, log, death_signal=death_signal, stdio=theirs)
    child.channel = Channel(ours)
    return child


def run_batch(what: str, command: Sequence[str], lines: Sequence[str]) -> str:
    """Run a command that reads these lines; returns what it printed.

    Raises:
        NetworkError: it failed; the text has its own words.
    """
    try:
        done = subprocess.run(
            command,
            input="".join(line + "\n" for line in lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            start_new_session=True,  # a Ctrl-C at the terminal is for the run alone
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{what}: {command[0]} did not end within {COMMAND_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise NetworkError(f"{what}: {done.stdout.strip() or f'exit status {done.returncode}'}")
    return done.stdout


@dataclass(slots=True)
class Watch:
    """Waits, but not past the death of a process that is to live."""

    _children: dict[int, Child] = field(default_factory=dict)
    _poll: select.poll = field(default_factory=select.poll)

    def add(self, child: Child, descriptor: int | None = None) -> None:
        """From now on its death ends any wait.

        Args:
            child: the process.
            descriptor: a pidfd of it, if there is one already; it is closed here.
        """
        descriptor = os.pidfd_open(child.process.pid) if descriptor is None else descriptor
        self._children[descriptor] = child
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, child: Child) -> None:
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

    def close(self) -> None:
        """Watch no longer; the processes go on."""
        for descriptor in self._children:
            os.close(descriptor)
        self._children.clear()
        self._poll = select.poll()


def stop_all(children: Sequence[Child], timeout_s: float) -> list[str]:
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
    for child in children:
        child.close()
    failed = [c for c in children if c not in stubborn and c.process.returncode not in (0, -signal.SIGTERM)]
    return said + [death for child in failed if (death := child.death())]


def _ended(child: Child, deadline: float) -> bool:
    try:
        child.process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
