"""Steps into network namespaces for a moment, and reads what the kernel counts there."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
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
"""What is read, by its column in /proc/net/dev."""
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside_namespace(pid: int, what: str) -> Iterator[None]:
    """This thread is in the network namespace of a process meanwhile, and ends up where it began.

    Raises:
        OSError: it cannot be entered; the text names it.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(there, what)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter(home, "the namespace it came from")
    finally:
        os.close(home)


def interface_counts(pid: int, what: str) -> dict[str, dict[str, int]]:
    """What every interface in the namespace of a process has counted, by its name."""
    with inside_namespace(pid, what):
        text = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        columns = numbers.split()
        found[name.strip()] = {field: int(columns[at]) for field, at in COUNTED.items()}
    return found


def _enter(descriptor: int, what: str) -> None:
    """`os.setns` comes with Python 3.12."""
    if _LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter {what}: {os.strerror(number)}")
