"""The keeper of a network that runs in the background: a process of its own that owns the run.

Here: how it is started and how it ends. Not here: the run it keeps (`keeper_run`),
what it can be asked (`hands`). It is forked from the command that asks for it, so
that the plan need not be read again, and is a daemon: no terminal, a session of
its own, its words in the run directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from testbed.emu.keeper_progress import KeeperProgress
from testbed.emu.options import EmuOptions
from testbed.plan.model import Plan
from testbed.runs.conduct import conduct
from testbed.runs.directory import RunDirectory
from testbed.runs.world import Outcome, Progress

LOG = "keeper.log"
EXIT_DEFECT = 70


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept, and how."""

    plan: Plan
    scenario: str
    """The text that the plan was made of."""
    directory: RunDirectory
    options: EmuOptions
    name: str
    """What people call the network."""
    workload: bool = False
    """Whether the clients do what the scenario's scripts say, and its faults happen."""


class KeptWorld:
    """The emulated world, for a network that is left running until somebody ends it."""

    name = "emu"

    def __init__(self, keeping: Keeping) -> None:
        self.options = keeping.options
        self._keeping = keeping

    def problems(self, plan: Plan) -> list[str]:
        """See `EmulatedWorld`."""
        from testbed.emu import preflight

        return preflight.problems(plan, self.options)

    def run(self, plan: Plan, directory: RunDirectory, progress: Progress) -> Outcome:  # noqa: ARG002
        """Build the network, keep it until it is to end, and leave nothing behind."""
        from testbed.emu.keeper_run import KeptRun  # Mininet is imported only where it is used

        assert isinstance(progress, KeeperProgress)
        return KeptRun(self._keeping, progress).outcome()


class Launch:
    """A keeper that was started: what it says until the network is ready, or has failed.

    Lines are dicts: `phase`, `done`, `say`, then one of `ready`, `outcome`, `defect`.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = os.fdopen(pipe, "rb")
        self.pid = int(self._pipe.readline() or 0)
        """Of the keeper; 0 if it could not even begin."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """All that it says; ends when it is ready, or has ended."""
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


def launch(keeping: Keeping) -> Launch:
    """Start a keeper; call this while the process has one thread and no child.

    Raises:
        OSError: the machine has no room for another process.
    """
    log = keeping.directory.logs / LOG
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _leave_parent()
        _serve(keeping, write, log)
    os.close(write)
    os.waitpid(child, 0)
    return Launch(read)


def _leave_parent() -> None:
    """Into a session of one's own, as its member and not its leader: no terminal can become ours."""
    os.setsid()
    if os.fork():
        os._exit(0)


def _serve(keeping: Keeping, pipe: int, log: Path) -> None:
    """What the keeper's process does, from its first breath to its last."""
    code = EXIT_DEFECT
    try:
        _detach(pipe, log)
        os.write(pipe, f"{os.getpid()}\n".encode())
        progress = KeeperProgress(pipe)
        world = KeptWorld(keeping)
        outcome = conduct(keeping.plan, world, keeping.directory, progress, scenario=keeping.scenario)
        progress.over(outcome)
        code = 0
    except BaseException as defect:
        traceback.print_exc()
        os.write(pipe, json.dumps({"defect": repr(defect)}).encode() + b"\n")
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
