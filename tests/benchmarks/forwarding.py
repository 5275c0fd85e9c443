"""A data plane that forwards, over loopback, while the control plane is measured.

A process of its own publishes a message every millisecond and listens for it
at another interface, and says how long each took.
"""

from __future__ import annotations

import multiprocessing
import socket
import struct
import threading
import time
from multiprocessing.connection import Connection

from fastpath.dataplane import DataPlane
from fastpath.fib import Fib
from fastpath.wire import codec

PERIOD_S = 0.001
PUBLISH_TIME_AT = struct.Struct(">Q")


class Forwarding:
    """A data plane with so many interfaces; what comes in at one goes out at another."""

    def __init__(self, interfaces: int, publisher: int, listener: int, source: int) -> None:
        pairs = [_pair() for _ in range(interfaces)]
        self._sockets = [end for pair in pairs for end in pair]
        ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
        child = multiprocessing.get_context("fork")
        self._plane = DataPlane([each.fileno() for each in ours])
        self._connection, far = child.Pipe()
        arguments = (theirs[publisher], theirs[listener], source, far)
        self._process = child.Process(target=_publish, args=arguments, daemon=True)
        self._process.start()
        self._thread = threading.Thread(target=self._plane.run, daemon=True)
        self._thread.start()

    def install(self, fib: Fib) -> None:
        self._plane.install(fib)

    def report(self) -> str:
        """How forwarding went since this was last asked."""
        self._connection.send("report")
        sent, late = self._connection.recv()
        if not late:
            return f"forwarding: none of {sent} messages came through"
        late.sort()
        p50, p99, most = (late[int(len(late) * share)] / 1e6 for share in (0.5, 0.99, 0.999999))
        came = f"{len(late)} of {sent} messages came through"
        return f"forwarding: {came}; p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {most:.1f} ms"

    def stop(self) -> None:
        self._plane.stop()
        self._thread.join()
        self._connection.send("stop")
        self._process.join(5)
        for each in self._sockets:
            each.close()


def _pair() -> tuple[socket.socket, socket.socket]:
    a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (a, b):
        each.bind(("127.0.0.1", 0))
        each.setblocking(False)
    a.connect(b.getsockname())
    b.connect(a.getsockname())
    return a, b


def _publish(out: socket.socket, into: socket.socket, source: int, parent: Connection) -> None:
    sent, late = 0, []
    while True:
        packet = codec.encode_message(source, sent, time.monotonic_ns(), [(2, "probe", 1)])
        try:
            out.send(packet)
            sent += 1
        except OSError:
            pass  # nobody listens yet, or the queue is full: it does not count as sent
        until = time.monotonic() + PERIOD_S
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, PERIOD_S / 4))
            _listen(into, late)
        if parent.poll():
            if parent.recv() == "stop":
                return
            parent.send((sent, late))
            sent, late = 0, []


def _listen(into: socket.socket, late: list[int]) -> None:
    while True:
        try:
            packet = into.recv(65_536)
        except BlockingIOError:
            return
        if packet[1] == 1:
            (published,) = PUBLISH_TIME_AT.unpack_from(packet, 24)
            late.append(time.monotonic_ns() - published)
