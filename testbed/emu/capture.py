"""The program `python -m testbed.emu.capture`: one process captures all interfaces of a run.

It reads its orders, one JSON document, from a file; opens a packet socket in
the namespace of every interface; says `{"ready": true}` on standard output,
after which no packet is missed; and copies until SIGTERM, or the end of its
standard input, which comes when the run's main process is gone. Then it
drains what the kernel holds and says what it counted.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ETH_P_ALL = 0x0003
CLONE_NEWNET = 0x40000000
EXIT_ORDERS = 2


@dataclass(frozen=True, slots=True)
class Target:
    """One interface to capture: whose namespace, which interface, into which file."""

    pid: int
    interface: str
    path: str


@dataclass(frozen=True, slots=True)
class Orders:
    """What the capture process is told."""

    targets: tuple[Target, ...]
    snap_bytes: int

    def to_json(self) -> str:
        """As `from_json` reads it."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Orders:
        """Read what `to_json` wrote."""
        raw = json.loads(text)
        return cls(tuple(Target(**target) for target in raw["targets"]), raw["snap_bytes"])


def main(arguments: Sequence[str]) -> int:
    """Capture until told to stop; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.emu.capture ORDERS.json", file=sys.stderr)
        return EXIT_ORDERS
    from fastpath.capture import Capture  # the run itself imports this module for `Orders` alone

    orders = Orders.from_json(Path(arguments[0]).read_text(encoding="utf-8"))
    sockets = open_sockets(orders.targets)
    files = [(s.fileno(), t.path) for s, t in zip(sockets, orders.targets, strict=True)]
    capture = Capture(files, orders.snap_bytes)
    # Blocked before the threads start, so that SIGTERM waits for `sigwait` wherever it is sent to.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    copying = threading.Thread(target=capture.run, name="capture")
    copying.start()
    threading.Thread(target=_stop_at_end_of_input, name="input", daemon=True).start()
    print(json.dumps({"ready": True}), flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    capture.stop()
    copying.join()
    print(json.dumps({"counters": capture.counters()}), flush=True)
    return 0


def open_sockets(targets: Sequence[Target]) -> list[socket.socket]:
    """A packet socket in every target's namespace; this process ends up where it began.

    Raises:
        OSError: a namespace or an interface is not there; the text names it.
    """
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return [_open_socket(target) for target in targets]
    finally:
        _enter(home, "the capture's own namespace")
        os.close(home)


def _open_socket(target: Target) -> socket.socket:
    namespace = os.open(f"/proc/{target.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(namespace, f"the namespace of {target.interface}")
    finally:
        os.close(namespace)
    # Protocol 0 until bound: else it would hear the other interfaces between the two calls.
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((target.interface, ETH_P_ALL))
    return sock


def _enter(descriptor: int, what: str) -> None:
    """Move this thread into a network namespace (`os.setns` comes with Python 3.12)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter {what}: {os.strerror(number)}")


def _stop_at_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
