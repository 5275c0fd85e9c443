"""The control groups of machines: each has its own, which its systemd needs.

They also tell which processes a machine has.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from testbed.cluster.metal.programs import MetalError

MOUNTS = Path("/proc/self/mounts")
OURS = "cbn-metal"
MEMBERS = "cgroup.procs"
POLL_S = 0.02


def hierarchies(mounts: Path = MOUNTS) -> list[Path]:
    """Where systemd keeps its groups: the new hierarchy, and its own among the old ones."""
    found = []
    for line in mounts.read_text(encoding="utf-8").splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(",")):
            found.append(Path(where))
    return found


def make(*names: str) -> list[Path]:
    """The groups of that path, one in each hierarchy.

    Raises:
        MetalError: The kernel does not let us.
    """
    made = [root.joinpath(OURS, *names) for root in hierarchies()]
    try:
        for group in made:
            group.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MetalError(f"no control group can be made: {error.filename}: {error.strerror}") from error
    if not made:
        raise MetalError("no control groups are mounted that systemd could use")
    return made


def members(*names: str) -> set[int]:
    """The processes in these groups and below."""
    found = set()
    for root in hierarchies():
        for folder in _folders(root.joinpath(OURS, *names)):
            with contextlib.suppress(OSError):  # gone meanwhile
                text = (folder / MEMBERS).read_text(encoding="ascii")
                found |= {int(pid) for pid in text.split()}
    return found


def kill(meant: Callable[[int], bool], seconds: float, *names: str) -> bool:
    """Kill all processes of these groups that are meant, and what they start meanwhile.

    Returns whether all have ended.
    """
    deadline = time.monotonic() + seconds
    while there := [pid for pid in members(*names) if meant(pid)]:
        if time.monotonic() > deadline:
            return False
        for pid in there:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_S)
    return True


def await_empty(seconds: float, *names: str) -> None:
    """Wait until no process is left in these groups, for no longer than that."""
    deadline = time.monotonic() + seconds
    while members(*names) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def remove(*names: str) -> None:
    """Remove the groups, which no process is in, and those above them that hold nothing else."""
    for root in hierarchies():
        top = root / OURS
        for folder in (*_folders(top.joinpath(*names)), top):
            with contextlib.suppress(OSError):  # another lab's are in it
                folder.rmdir()


def _folders(top: Path) -> Iterator[Path]:
    """A group and those below it, the innermost first.

    A machine that boots or ends makes and removes groups while this looks at them;
    `os.walk` passes over what has gone, `Path.rglob` raises.
    """
    for path, _, _ in os.walk(top, topdown=False):
        yield Path(path)
