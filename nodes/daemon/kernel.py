"""What the standard library (3.11) does not offer of the kernel.

Network namespaces, bind mounts, titles, timer slack, locked memory: all
calls into the C library stand here, for nodes and for the emulated world.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SHARED = 1 << 20
MNT_DETACH = 0x2
PR_SET_KEEPCAPS = 8
PR_SET_NAME = 15
PR_SET_TIMERSLACK = 29
MCL_CURRENT_FUTURE_ONFAULT = 1 | 2 | 4
LONGEST_NAME = 15
CAPABILITY_VERSION_3 = 0x20080522
CAP_NET_ADMIN = 12
COUNTED = {
    "rx_bytes": 0,
    "rx_packets": 1,
    "rx_errors": 2,
    "rx_dropped": 3,
    "tx_bytes": 8,
    "tx_packets": 9,
    "tx_errors": 10,
    "tx_dropped": 11,
}
"""What `interface_counts` reads, by its column in /proc/net/dev."""

_libc = ctypes.CDLL(None, use_errno=True)


class Account(NamedTuple):
    """Whom a process runs as."""

    user_id: int
    group_id: int


def run_as(account: Account) -> None:
    """Let this process be root no longer; of root's rights it keeps that over its network (CAP_NET_ADMIN).

    Sockets with large buffers take that right. The process has one thread.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0:
        _fail("cannot keep a capability")
    os.setgroups([])
    os.setresgid(*(account.group_id,) * 3)
    os.setresuid(*(account.user_id,) * 3)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    kept = 1 << CAP_NET_ADMIN
    sets = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)  # effective, permitted, inheritable; twice
    if _libc.capset(header, sets) != 0:
        _fail("cannot give capabilities up")


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


@contextmanager
def inside_network_of(pid: int, what: str) -> Iterator[None]:
    """This thread is in the network namespace of a process meanwhile, and ends up where it began.

    Raises:
        OSError: it cannot be entered; the text names `what`.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter_network_of(pid, what)
        try:
            yield
        finally:
            enter_network(home, "the namespace it came from")
    finally:
        os.close(home)


def bind_mount(source: Path, target: Path) -> None:
    """Let `target`, a file that exists, show what `source` is, also when `source` has gone.

    Raises:
        OSError: it cannot; the text names both.
    """
    if _libc.mount(os.fsencode(source), os.fsencode(target), b"none", MS_BIND, None) != 0:
        _fail(f"cannot mount {source} at {target}")


def share_mounts(folder: Path) -> None:
    """Make a folder a mount point of its own, shared with other mount namespaces, as `ip netns` does.

    What is mounted in it before that is covered by the folder itself later, and cannot be taken away.

    Raises:
        OSError: it cannot; the text has its name.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # `ip netns` holds it, too, while it looks
        name = os.fsencode(folder)
        if _libc.mount(b"", name, b"none", MS_SHARED | MS_REC, None) == 0:
            return
        made = ctypes.get_errno() == errno.EINVAL and not _libc.mount(
            name, name, b"none", MS_BIND | MS_REC, None
        )
        if not made or _libc.mount(b"", name, b"none", MS_SHARED | MS_REC, None) != 0:
            _fail(f"cannot share what is mounted in {folder}")
    finally:
        os.close(descriptor)


def unmount(target: Path) -> None:
    """Take away what is mounted there, at once for those who look and at last for those who use it.

    Raises:
        OSError: nothing is mounted there, or it may not be taken away.
    """
    if _libc.umount2(os.fsencode(target), MNT_DETACH) != 0:
        _fail(f"cannot unmount {target}")


def ended_within(pidfd: int, seconds: float | None) -> bool:
    """Whether a process ends in that time; None: wait for as long as it takes."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))


def end_process(
    pid: int, is_meant: Callable[[], bool], signals: Sequence[signal.Signals], seconds: float
) -> bool:
    """End exactly this process, by one signal after the other; whether it has ended.

    Args:
        pid: its id.
        is_meant: asked once the process is held on to: its id may be another's by now.
        signals: what to send.
        seconds: how long to wait after each.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if not is_meant():
            return True
        for number in signals:
            signal.pidfd_send_signal(descriptor, number)
            signal.pidfd_send_signal(descriptor, signal.SIGCONT)
            if ended_within(descriptor, seconds):
                return True
        return False
    except ProcessLookupError:
        return True
    finally:
        os.close(descriptor)


def raise_priority() -> str:
    """Let this thread run as soon as something is due; returns what the kernel granted."""
    _libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    locked = "" if _libc.mlockall(MCL_CURRENT_FUTURE_ONFAULT) else ", memory locked"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError as error:
        return f"normal ({error.strerror}){locked}"
    return f"fifo 1{locked}"


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


def interface_counts(pid: int, what: str) -> dict[str, dict[str, int]]:
    """What every interface in the network namespace of a process has counted, by its name."""
    with inside_network_of(pid, what):
        text = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        columns = numbers.split()
        found[name.strip()] = {field: int(columns[at]) for field, at in COUNTED.items()}
    return found


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
