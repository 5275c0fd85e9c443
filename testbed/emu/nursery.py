"""The run's side of the nursery: orders nodes, and hears how they end.

Not here: what the nursery does (`nodes.daemon.nursery`).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nodes.daemon.nursery import LONGEST_ORDER, Order
from testbed.emu.processes import Child, ProcessDiedError, death_of, drop_empty_errors, start

SOURCE_ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 60.0
BIRTH_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
STATUS_TIMEOUT_S = 2.0
"""How long after a process has ended the nursery may take to say how."""
ROOM = 1024
"""Bytes that a node's command line may take."""


Usage = Mapping[str, int | float]
"""Processor seconds, memory and context switches of a process, as `nodes.daemon.nursery` tells them."""


class Nursery:
    """One warm process, from which all nodes of a run are forked."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        """Start it. `log` is where its standard error goes, with another ending."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = ours
        self._ended: dict[int, int] = {}
        self._usage: dict[int, Usage] = {}
        self._fds: list[int] = []
        self.ready = False
        command = [sys.executable, "-m", "nodes.daemon.nursery", "." * ROOM]
        with theirs:
            self.child: Child = start("the nursery", command, environment, log, cwd=SOURCE_ROOT, stdin=theirs)

    def await_ready(self) -> None:
        """Wait until it has imported all there is to import.

        Raises:
            ProcessDiedError: it could not.
        """
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self.ready:
            self._hear_by(deadline, "was not ready")

    def bear(self, order: Order) -> Fledgling:
        """Start a node.

        Raises:
            ProcessDiedError: the nursery has ended, or does not answer.
        """
        self.await_ready()
        deadline = time.monotonic() + BIRTH_TIMEOUT_S
        self._order(asdict(order))
        while True:
            said = self._hear_by(deadline, f"did not start {order.name}")
            if said.get("born") == order.name:
                return Fledgling(self, int(said["pid"]), self._fds.pop())

    def begin(self) -> None:
        """Let all that were born begin; from now on those to come do at once.

        Raises:
            ProcessDiedError: the nursery has ended.
        """
        self._order({"begin": True})

    def _order(self, what: object) -> None:
        try:
            self._channel.send(json.dumps(what).encode())
        except OSError as error:
            raise ProcessDiedError(self.child.death() or f"the nursery takes no orders: {error}") from error

    def status_of(self, pid: int, wait_s: float = 0.0) -> int | None:
        """How one of its nodes ended; None: it said nothing about that in that time."""
        deadline = time.monotonic() + wait_s
        while pid not in self._ended:
            if self.child.process.poll() is not None and not self._waits():
                return -signal.SIGKILL  # the kernel ends the nodes with the nursery
            if not self._waits(max(0.0, deadline - time.monotonic())):
                return None
            if not self._hear():
                self.child.process.wait()
        return self._ended[pid]

    def usage_of(self, pid: int) -> Usage:
        """What one of its nodes took in its life; nothing if it is not known to have ended."""
        return self._usage.get(pid, {})

    def stop(self) -> list[str]:
        """End it, and with it every node that is left; what went wrong, for people."""
        self._channel.close()
        try:
            self.child.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.child.process.kill()
            self.child.process.wait()
        said = [self.child.death() or ""] if self.child.process.returncode else []
        drop_empty_errors([self.child])
        return said

    def _waits(self, seconds: float = 0.0) -> bool:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _hear_by(self, deadline: float, what: str) -> dict[str, Any]:
        if self._waits(max(0.0, deadline - time.monotonic())):
            if said := self._hear():
                return said
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.process.wait(STATUS_TIMEOUT_S)
            raise ProcessDiedError(self.child.death() or "the nursery has broken off")
        raise ProcessDiedError(f"the nursery {what} in time (log: {self.child.errors})")

    def _hear(self) -> dict[str, Any]:
        """Take one thing it says; nothing if it has ended."""
        try:
            datagram, fds, _, _ = socket.recv_fds(self._channel, LONGEST_ORDER, 1)
        except ConnectionError:
            datagram, fds = b"", []
        said: dict[str, Any] = json.loads(datagram) if datagram else {}
        self._fds += fds
        self.ready = self.ready or "ready" in said
        if "ended" in said:
            self._ended[said["ended"]] = said["status"]
            self._usage[said["ended"]] = said["usage"]
        return said


class Fledgling:
    """A process that the nursery has forked, spoken to as `testbed.emu.processes.Process`."""

    def __init__(self, nursery: Nursery, pid: int, pidfd: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.usage: Usage = {}
        """What it took in its life; known once it has ended."""
        self._nursery = nursery
        self._pidfd = pidfd

    def watch_descriptor(self) -> int:
        """A pidfd of its own for who watches it."""
        return os.dup(self._pidfd)

    def poll(self) -> int | None:
        """How it ended; None: it runs."""
        return self._end(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; raises `subprocess.TimeoutExpired`."""
        code = self._end(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, sig)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _end(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            if poll.poll(None if seconds is None else max(0.0, seconds) * 1000):
                # A zombie already: the nursery is about to say how it came to that.
                status = self._nursery.status_of(self.pid, STATUS_TIMEOUT_S)
                self.returncode = -signal.SIGKILL if status is None else status
                self.usage = self._nursery.usage_of(self.pid)
                os.close(self._pidfd)
        return self.returncode


@dataclass(slots=True)
class Hatched:
    """A node process, as `testbed.emu.processes.Watched`."""

    name: str
    process: Fledgling
    log: Path
    errors: Path

    def death(self) -> str | None:
        """How it ended, for people; None while it runs."""
        return death_of(self)
