"""The supervisor of a network that runs in the background: a process of its own that owns the run.

Here: how it is started, how it reports, how it ends. Not here: its run (a world's), what
happens in it (`supervised`), what it can be asked (`control`). It is forked from the
command that asks for it, so that the plan need not be read again, and is a daemon: no terminal, a session of
its own, its log in the run directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from nodes.daemon.json_lines import Caller, encode
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.fidelity import sentences
from testbed.runs.world import Outcome, World

LOG = "supervisor.log"
EXIT_DEFECT = 70
SEND_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Supervision:
    """What is left running, and how."""

    plan: Plan
    scenario: str
    """The text that the plan was made of."""
    directory: RunDirectory
    name: str
    """What people call the network."""
    workload: bool = False
    """Whether the clients do what the scenario's scripts say, and its faults happen."""


class SupervisorProgress:
    """A Progress in JSON lines, for who started the network and who ends it; who does not read is dropped.

    Args:
        pipe: who started the network reads from its other end.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe: int | None = pipe
        self._sockets: list[socket.socket] = []
        os.set_blocking(pipe, False)

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; that of a workload is people's, and ends when they say so."""
        if name != "workload":
            self.send({"phase": name, "total": total})

    def advance(self, done: int) -> None:
        """Some of the phase is done."""
        self.send({"done": done})

    def say(self, text: str) -> None:
        """A line for people, which also stands in the supervisor's log."""
        print(text, flush=True)
        self.send({"say": text})

    def ready(self, facts: Mapping[str, object]) -> None:
        """The network runs: who started it need not wait any more."""
        self.send({"ready": facts})
        self._close_pipe()

    def follow(self, caller: Caller) -> None:
        """From now on this caller, which waits for the end, is sent all that is reported."""
        sock = caller.release()
        if sock is not None:
            sock.settimeout(SEND_TIMEOUT_S)
            self._sockets.append(sock)

    def over(self, outcome: Outcome) -> None:
        """Nothing follows."""
        print(f"{outcome.outcome}{f': {outcome.message}' if outcome.message else ''}", flush=True)
        self.send(
            {
                "outcome": outcome.outcome,
                "message": outcome.message,
                "captures": {"frames": outcome.captured_frames, "drops": outcome.capture_drops},
                "fidelity": outcome.fidelity and outcome.fidelity.to_json(),
                "said": sentences(outcome.fidelity),
            }
        )
        self._close_pipe()
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def send(self, record: Mapping[str, object]) -> None:
        """One line to all who read."""
        line = encode(record)
        if self._pipe is not None:
            try:
                os.write(self._pipe, line)
            except BlockingIOError:
                pass  # who started us is held up: it misses a line of progress
            except BrokenPipeError:
                self._close_pipe()
        for sock in list(self._sockets):
            try:
                sock.sendall(line)
            except OSError:
                self._sockets.remove(sock)
                sock.close()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.close(self._pipe)
            self._pipe = None


class Launch:
    """A supervisor that was started: what it reports until the network is ready, or has failed.

    Lines are dicts: `phase`, `done`, `say`, then one of `ready`, `outcome`, `defect`.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = os.fdopen(pipe, "rb")
        self.pid = int(self._pipe.readline() or 0)
        """Of the supervisor; 0 if it could not even begin."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """All that it reports; ends when it is ready, or has ended."""
        for line in self._pipe:
            yield json.loads(line)

    def interrupt(self) -> None:
        """Ask it to end in order, as a terminal would."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()


def launch(supervision: Supervision, world: World) -> Launch:
    """Start a supervisor of a network in a world; call this while the process has one thread and no child.

    Raises:
        OSError: the machine has no room for another process.
    """
    log = supervision.directory.logs / LOG
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _leave_parent()
        _serve(supervision, world, write, log)
    os.close(write)
    os.waitpid(child, 0)
    return Launch(read)


def _leave_parent() -> None:
    """Into a session of one's own, as its member and not its leader: no terminal can become ours."""
    os.setsid()
    if os.fork():
        os._exit(0)


def _serve(supervision: Supervision, world: World, pipe: int, log: Path) -> None:
    """What the supervisor's process does, from its start to its end."""
    code = EXIT_DEFECT
    try:
        _detach(pipe, log)
        os.write(pipe, f"{os.getpid()}\n".encode())
        progress = SupervisorProgress(pipe)
        outcome = conduct(
            supervision.plan,
            world,
            supervision.directory,
            progress,
            scenario=supervision.scenario,
        )
        progress.over(outcome)
        code = 0
    except BaseException as defect:
        traceback.print_exc()
        os.write(pipe, encode({"defect": repr(defect)}))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _detach(pipe: int, log: Path) -> None:
    """Let go of everything that belongs to who started us: signals' handlers, files, the terminal."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(nothing, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
