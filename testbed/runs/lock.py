"""Who is at work in a directory of runs: a lock that is held by a process and ends with it.

It is a record lock (fcntl) on the file `.lock`. The kernel names the process that holds it, frees it
however that process ends, and does not pass it on to forked processes; so neither a file that
was left behind nor a process id that is used again means anything.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.plan.recorded import MANIFEST

LOCK = ".lock"
_FLOCK = "hhqqi0q"
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


class InUseError(OSError):
    """A process is at work in the directory; the text names the run and the process."""

    def __init__(self, directory: Path, pid: int) -> None:
        what = f"{_run_id(directory)} is going on there, in process {pid}{_command(pid)}"
        super().__init__(errno.EBUSY, what, str(directory))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}; nothing in it was touched"


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """While entered, this process is at work in the directory.

    Raises:
        InUseError: Another process is.
    """
    path, descriptor = directory / LOCK, None
    while descriptor is None:
        refuse_if_held(directory)
        descriptor = _taken(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def refuse_if_held(directory: Path) -> None:
    """Do nothing, unless another process is at work in the directory.

    Raises:
        InUseError: One is.
    """
    if (pid := holder(directory)) is not None:
        raise InUseError(directory, pid)


def holder(directory: Path) -> int | None:
    """The process that is at work in a directory; asked by that process itself, this frees the lock."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    return None if kind == fcntl.F_UNLCK else pid


def _taken(path: Path) -> int | None:
    """The locked file; None if somebody else holds it, or its last holder has just removed it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass  # the caller looks again
    os.close(descriptor)
    return None


def _run_id(directory: Path) -> str:
    try:
        return f"the run {json.loads((directory / MANIFEST).read_text(encoding='utf-8'))['run_id']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "something"  # many runs, or one that has not written its manifest yet


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    words = os.fsdecode(raw.replace(b"\0", b" ")).strip()
    return f" ({words})" if words else ""
