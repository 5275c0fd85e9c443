"""Removes what runs left behind whose owner is dead, and nothing else.

Found by the marks of `testbed.live.registry` alone: never by a program's name,
an interface's name or a pattern. Namespaces and links are anonymous and go
with the last process in them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nodes.daemon import kernel
from nodes.processes import OWNER_MARK, RUN_MARK, SCRATCH, Owner, environment_of, scratch_owner
from testbed.emu.cgroups import remove_groups
from testbed.emu.namespace_holder import hide
from testbed.live.registry import registry_root, running

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
    """Kill the processes of dead runs; remove their folders, control groups and names of namespaces."""
    root = root or registry_root()
    runs = running(root)  # seen once: of what is registered from now on nothing is known
    live = tuple(run.run_id for run in runs if run.alive)
    scratch = tuple(_abandoned_scratch())
    dead = (*_half_made(root), *(run.folder for run in runs if not run.alive))
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
            hide(folder.name)
            _remove(folder)
        for folder in scratch:
            _remove(folder)
    return CleanReport(tuple(leftovers), (*dead, *scratch), live, dry_run, survivors)


def _abandoned_scratch() -> Iterator[Path]:
    """Folders for temporary files whose process has ended without removing them."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{SCRATCH}*")):
        owner = scratch_owner(path.name)
        if owner is not None and not owner.alive():
            yield path


def _latecomers() -> list[Leftover]:
    """What a run was about to start when it was killed: until it has begun, a process shows no marks."""
    time.sleep(BEGINNING_S)
    return _leftovers()


def _half_made(root: Path) -> list[Path]:
    """Hidden folders, as they are while they are made and removed, whose processes have ended meanwhile."""
    hidden = sorted(root.glob(".*/")) if root.is_dir() else []
    return [folder for folder in hidden if not Path(f"/proc/{folder.name.rpartition('.')[2]}").exists()]


def _remove(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # another `cbn clean` was here first
        shutil.rmtree(folder)


def _leftovers() -> list[Leftover]:
    pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    found = (_leftover(pid) for pid in pids)
    return [leftover for leftover in found if leftover is not None]


def _leftover(pid: int) -> Leftover | None:
    marks = environment_of(pid)
    owner = Owner.parse(marks.get(OWNER_MARK, ""))
    if RUN_MARK not in marks or owner is None or owner.alive() or not _counted_as_here(pid):
        return None
    return Leftover(pid, marks[RUN_MARK], _command(pid))


def _counted_as_here(pid: int) -> bool:
    """Whether a process has its id from where we have ours: the marks of a container's say nothing here."""
    try:
        return Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return os.fsdecode(raw.replace(b"\0", b" ")).strip()


def _kill(leftover: Leftover) -> bool:
    """Kill exactly this process; True if it has ended."""
    return kernel.end_process(
        leftover.pid, lambda: _leftover(leftover.pid) is not None, (signal.SIGKILL,), KILL_TIMEOUT_S
    )
