"""The program `python -m testbed.emu.capture`: one process captures all interfaces of a run.

It reads its orders, one JSON document, from a file; opens a packet socket in
the namespace of every interface; reports on standard output that it is ready,
after which no packet is missed; and copies until SIGTERM, or the end of its
standard input, which comes also when the run's main process is gone. Then it
drains what the kernel holds and reports what it counted, and what that cost.

A disk that takes no more ends nothing: it is reported once, on standard error, when
it is met, and what was lost is counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodes.daemon import kernel
from nodes.daemon.json_lines import done, say
from nodes.records import from_plain

if TYPE_CHECKING:
    from fastpath.capture import Capture

ETH_P_ALL = 0x0003
EXIT_ORDERS = 2
EXIT_CANNOT = 3
NICENESS = -10
"""Frames that are not taken in time are lost; taking them costs little."""
LOOK_S = 1.0
AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Target:
    """One interface to capture: whose namespace, which interface, into which file."""

    pid: int
    interface: str
    path: str


@dataclass(frozen=True, slots=True)
class Orders:
    """What the capture process is to do, as its file has it."""

    targets: tuple[Target, ...]
    snap_bytes: int
    format: str = "pcap"
    rotate_bytes: int = 0
    dilate: int = 1
    """How many times slower than real time the stamps' time goes."""
    dilate_from_ns: int = 0
    """When both were the same."""


def main(arguments: Sequence[str]) -> int:
    """Capture until asked to stop; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.emu.capture ORDERS.json", file=sys.stderr)
        return EXIT_ORDERS
    orders = from_plain(Orders, json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    try:
        sockets = open_sockets(orders.targets)
        capture = begin(orders, sockets)
    except OSError as error:
        print(f"cannot capture: {error}", file=sys.stderr)
        return EXIT_CANNOT
    # Blocked before the threads start, so that SIGTERM waits for us wherever it is sent to.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    copying = threading.Thread(target=capture.run, name="capture")
    copying.start()
    threading.Thread(target=_stop_at_end_of_input, name="input", daemon=True).start()
    say(done("ready"))
    _until_the_end(capture, orders.targets)
    capture.stop()
    copying.join()
    say(done({"counters": capture.counters(), "cpu_s": _cpu_s()}))
    close_all(sockets)
    return 0


def begin(orders: Orders, sockets: Sequence[socket.socket]) -> Capture:
    """The capture as ordered, from these sockets; from now on no frame is missed."""
    from fastpath.capture import Capture  # the run itself imports this module for `Orders` alone

    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    return Capture(
        [(s.fileno(), t.path) for s, t in zip(sockets, orders.targets, strict=True)],
        orders.snap_bytes,
        format=orders.format,
        rotate_bytes=orders.rotate_bytes,
        names=[target.interface for target in orders.targets],
        dilate=orders.dilate,
        dilate_from_ns=orders.dilate_from_ns,
    )


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Close many packet sockets: the kernel makes each wait, but all at once wait no longer than one."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(socket.socket.close, sockets))


def _until_the_end(capture: Capture, targets: Sequence[Target]) -> None:
    """Wait for the end; complain once if meanwhile the disk takes no more."""
    complained = False
    while signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, LOOK_S) is None:
        if not complained and (complaint := _complaint(capture, targets)):
            print(complaint, file=sys.stderr, flush=True)
            complained = True


def _complaint(capture: Capture, targets: Sequence[Target]) -> str:
    for target, row in zip(targets, capture.counters(), strict=True):
        if row["last_errno"]:
            return f"{target.path}: {os.strerror(row['last_errno'])}; frames are being lost"
    return ""


def _cpu_s() -> float:
    """Processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round(used.ru_utime + used.ru_stime, 3)


def open_sockets(targets: Sequence[Target]) -> list[socket.socket]:
    """A packet socket in every target's namespace; this process ends up where it began.

    Raises:
        OSError: a namespace or an interface is not there; the text names it.
    """
    return [_open_socket(target) for target in targets]


def _open_socket(target: Target) -> socket.socket:
    with kernel.inside_network_of(target.pid, f"the namespace of {target.interface}"):
        # Protocol 0 until bound: else it would hear the other interfaces between the two calls.
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.bind((target.interface, ETH_P_ALL))
        return sock


def _stop_at_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
