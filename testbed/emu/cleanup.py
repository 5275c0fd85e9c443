"""Removes what runs left behind whose owner is dead, and nothing else.

Found by the marks of `testbed.emu.registry` alone: never by a program's name,
an interface's name or a pattern. Namespaces and links are anonymous and go
with the last process in them.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from testbed.emu.cgroups import remove_groups
from testbed.emu.registry import OWNER_MARK, RUN_MARK, Owner, registered, registry_root

KILL_TIMEOUT_S = 10.0
BEGINNING_S = 0.05
"""Longer than a process needs from being forked to running its own program."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process of a run whose owner is dead."""

    pid: int
    run_id: str
    command: str


@dataclass(frozen=True, slots=True)
class CleanReport:
    """What was found, and removed unless it was a dry run."""

    processes: tuple[Leftover, ...]
    folders: tuple[Path, ...]
    live_runs: tuple[str, ...]
    """Registered runs that are still going on; they were left alone."""
    dry_run: bool
    survivors: tuple[Leftover, ...] = ()
    """Processes that were to be killed and did not end in time."""


def clean(dry_run: bool = False, root: Path | None = None) -> CleanReport:
    """Kill the processes and remove the registry folders and control groups of dead runs."""
    root = root or registry_root()
    runs = registered(root)
    live = tuple(folder.name for folder, owner in runs if owner and owner.alive())
    dead = tuple(f for f, _ in runs if f.name not in live and not _in_the_making(f))
    leftovers = _leftovers()
    survivors: tuple[Leftover, ...] = ()
    if not dry_run:
        survivors = tuple(found for found in leftovers if not _kill(found))
        if dead or leftovers:
            late = _latecomers()
            survivors += tuple(found for found in late if not _kill(found) and found not in survivors)
            leftovers += [found for found in late if found not in leftovers]
        for folder in dead:
            remove_groups(folder.name)
            shutil.rmtree(folder)
    return CleanReport(tuple(leftovers), dead, live, dry_run, survivors)


def _latecomers() -> list[Leftover]:
    """What a run was about to start when it was killed: until it has begun, a process shows no marks."""
    time.sleep(BEGINNING_S)
    return _leftovers()


def _in_the_making(folder: Path) -> bool:
    """A registration's folder is hidden, and named after its process, until its record is written."""
    pid = folder.name.rpartition(".")[2]
    return folder.name.startswith(".") and pid.isdecimal() and Path(f"/proc/{pid}").exists()


def _leftovers() -> list[Leftover]:
    pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    found = (_leftover(pid) for pid in pids)
    return [leftover for leftover in found if leftover is not None]


def _leftover(pid: int) -> Leftover | None:
    marks = environment_of(pid)
    owner = Owner.parse(marks.get(OWNER_MARK, ""))
    if RUN_MARK not in marks or owner is None or owner.alive():
        return None
    return Leftover(pid, marks[RUN_MARK], _command(pid))


def environment_of(pid: int) -> dict[str, str]:
    """A process's environment as it was started with; empty if it is gone or not ours to read."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}
    pairs = (entry.partition(b"=") for entry in raw.split(b"\0"))
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return os.fsdecode(raw.replace(b"\0", b" ")).strip()


def _kill(leftover: Leftover) -> bool:
    """Kill exactly this process; True if it has ended."""
    try:
        descriptor = os.pidfd_open(leftover.pid)
    except ProcessLookupError:
        return True
    try:
        # The descriptor holds on to one process: only now can its marks not become another's.
        if _leftover(leftover.pid) is None:
            return True
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(KILL_TIMEOUT_S * 1000))
    except ProcessLookupError:
        return True
    finally:
        os.close(descriptor)
