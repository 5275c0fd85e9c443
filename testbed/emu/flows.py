"""The program `python -m testbed.emu.flows`: one process sends all background traffic of a run.

It reads its orders, one JSON document, from a file, opens a packet socket in the namespace of every
sender, and reports on standard output that it is ready. The request `begin` says when the scenario's time
zero is. At the end of its standard input it stops, and reports what it sent, what a link would not take, and
how late the latest frame was. The run's side of it is `background`.
"""

from __future__ import annotations

import heapq
import json
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodes.daemon import kernel
from nodes.daemon.clock import Clock
from nodes.daemon.json_lines import Request, RequestError, done, say, serve
from nodes.records import from_plain
from testbed.plan.model import Flow

EXIT_ORDERS = 2
EXIT_CANNOT = 3
LONGEST_WAIT_S = 0.2


@dataclass(frozen=True, slots=True)
class Sender:
    """A flow: whose namespace it begins in, and its frame in hexadecimal digits."""

    pid: int
    flow: Flow
    frame: str


@dataclass(frozen=True, slots=True)
class Orders:
    """What the process is to send, on which clock."""

    senders: tuple[Sender, ...]
    dilate: int = 1
    dilate_from_ns: int = 0


@dataclass(slots=True)
class Sending:
    """The flows, as they are sent."""

    orders: Orders
    sockets: Sequence[socket.socket]
    clock: Clock
    sent: int = 0
    refused: int = 0
    latest_ns: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self, start_ns: int) -> None:
        """Send every frame when it is due, until all are sent or it is ended."""
        frames = [bytes.fromhex(sender.frame) for sender in self.orders.senders]
        flows = [sender.flow for sender in self.orders.senders]
        due = [(start_ns + flow.at_ns, number, 0) for number, flow in enumerate(flows) if flow.frames]
        heapq.heapify(due)
        while due and not self._ended.is_set():
            due_ns, number, position = due[0]
            left_ns = due_ns - self.clock.now_ns()
            if left_ns > 0:
                self._ended.wait(min(self.clock.real_wait_s(left_ns), LONGEST_WAIT_S))
                continue
            self.latest_ns = max(self.latest_ns, -left_ns)
            self._send(self.sockets[number], frames[number])
            flow, position = flows[number], position + 1
            at_ns = start_ns + flow.at_ns + int(position * flow.every_ns)
            if position < flow.frames:
                heapq.heapreplace(due, (at_ns, number, position))
            else:
                heapq.heappop(due)

    def end(self) -> None:
        """Send nothing any more."""
        self._ended.set()

    def _send(self, sock: socket.socket, frame: bytes) -> None:
        try:
            sock.send(frame)
        except OSError:  # the interface's queue is full, or it is gone: what it would not take is counted
            self.refused += 1
        else:
            self.sent += 1


def main(arguments: Sequence[str]) -> int:
    """Send until all is sent or the input ends; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m testbed.emu.flows ORDERS.json", file=sys.stderr)
        return EXIT_ORDERS
    orders = from_plain(Orders, json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    try:
        sockets = [_open_socket(sender) for sender in orders.senders]
    except OSError as error:
        print(f"cannot send background traffic: {error}", file=sys.stderr)
        return EXIT_CANNOT
    sending = Sending(orders, sockets, Clock(orders.dilate, orders.dilate_from_ns))
    threads: list[threading.Thread] = []
    say(done("ready"))
    serve(_answer(sending, threads))
    sending.end()
    for thread in threads:
        thread.join()
    say(done({"sent": sending.sent, "refused": sending.refused, "latest_ns": sending.latest_ns}))
    return 0


def _answer(sending: Sending, threads: list[threading.Thread]) -> Callable[[Request], object]:
    def answer(request: Request) -> object:
        match request:
            case {"do": "begin", "start_ns": int(start_ns)} if not threads:
                threads.append(threading.Thread(target=sending.run, args=(start_ns,), name="sending"))
                threads[0].start()
                return None
            case _:
                raise RequestError("expected `begin`, once, with start_ns")

    return answer


def _open_socket(sender: Sender) -> socket.socket:
    interface = sender.flow.interface
    with kernel.inside_network_of(sender.pid, f"the namespace of {interface}"):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # protocol 0: it hears nothing
        sock.bind((interface, 0))
        sock.setblocking(False)
        return sock


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
