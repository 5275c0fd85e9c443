"""Processes that belong to another one: they end with it, or can be told by their marks.

A process that a run or an analysis starts carries two environment variables: the id of the run,
and the process that it belongs to. When that one has ended, `cbn clean` ends the others.
"""

from __future__ import annotations

import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path

RUN_MARK = "CBN_RUN"
OWNER_MARK = "CBN_RUN_OWNER"
PR_SET_PDEATHSIG = 1
SCRATCH = "cbn-scratch-"
"""How the names of folders for temporary files begin; the process that they belong to follows."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, identified by its id and the time it started: ids are used again."""

    pid: int
    started_ticks: int

    @classmethod
    def this_process(cls) -> Owner:
        """The process that asks."""
        ticks = started_ticks(os.getpid())
        assert ticks is not None
        return cls(os.getpid(), ticks)

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """Read `pid:ticks`; None if it is something else."""
        pid, _, ticks = text.partition(":")
        return cls(int(pid), int(ticks)) if pid.isdecimal() and ticks.isdecimal() else None

    def __str__(self) -> str:
        return f"{self.pid}:{self.started_ticks}"

    def alive(self) -> bool:
        """Whether that very process still runs."""
        return started_ticks(self.pid) == self.started_ticks


def started_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything, also parentheses
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def environment_of(pid: int) -> dict[str, str]:
    """A process's environment as it was started with; empty if it is gone or not ours to read."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
    pairs = (entry.partition(b"=") for entry in raw.split(b"\0"))
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def marks(run_id: str) -> dict[str, str]:
    """The marks of what this process starts."""
    return {RUN_MARK: run_id, OWNER_MARK: str(Owner.this_process())}


def scratch_prefix() -> str:
    """How the name of a folder for temporary files of this process begins."""
    return f"{SCRATCH}{Owner.this_process()}-".replace(":", ".")


def scratch_owner(name: str) -> Owner | None:
    """The process that such a folder belongs to; None if it is something else."""
    return Owner.parse(name.removeprefix(SCRATCH).partition("-")[0].replace(".", ":"))


def die_with(parent: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    """Get this signal when `parent`, which has just forked this process, ends; at once if it has.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot ask for a death signal")
    if os.getppid() != parent:
        os.kill(os.getpid(), death_signal)
