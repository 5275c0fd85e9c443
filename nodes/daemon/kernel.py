"""What the standard library (3.11) does not offer of the kernel: namespaces, death signals, titles."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
LONGEST_NAME = 15

_libc = ctypes.CDLL(None, use_errno=True)


def enter_network(descriptor: int, what: str) -> None:
    """Move this thread into a network namespace.

    Raises:
        OSError: it cannot; the text names `what`.
    """
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        _fail(f"cannot enter {what}")


def new_network() -> None:
    """Move this thread into a network namespace of its own.

    Raises:
        OSError: it cannot.
    """
    if _libc.unshare(CLONE_NEWNET) != 0:
        _fail("cannot make a network namespace")


def enter_network_of(pid: int, what: str) -> None:
    """Move this thread into the network namespace of a process.

    Raises:
        OSError: it cannot, or there is no such process; the text names `what`.
    """
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter_network(descriptor, what)
    finally:
        os.close(descriptor)


def die_with(parent: int) -> None:
    """Be killed when `parent`, which has just forked this process, ends; at once if it has.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        _fail("cannot ask for a death signal")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def call_thread(name: str) -> None:
    """Give this thread the name that `ps` and `top` show, as far as there is room for it."""
    if _libc.prctl(PR_SET_NAME, os.fsencode(name)[:LONGEST_NAME], 0, 0, 0) != 0:
        _fail("cannot set the name")


def title_room() -> tuple[int, int]:
    """Where this process's command line lies in memory, and how many bytes it has."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
    return start, end - start


def set_title(words: list[str], room: tuple[int, int]) -> None:
    """Let `/proc/PID/cmdline` show these words instead, cut off if there is no room for them.

    A forked process has its parent's command line otherwise, and nobody could
    tell one from the other. The last byte stays NUL: else the kernel would take
    the environment for a part of it.
    """
    at, size = room
    text = b"".join(os.fsencode(word) + b"\0" for word in words)[: size - 1]
    ctypes.memmove(at, text.ljust(size, b"\0"), size)


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
