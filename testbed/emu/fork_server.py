"""The run's side of the fork server: has nodes forked, and learns how they end.

Not here: what the fork server does (`nodes.daemon.fork_server`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nodes.daemon.fork_server import NodeProcess
from nodes.daemon.json_lines import Channel, ClosedError
from nodes.daemon.kernel import ended_within
from testbed.emu.children import Child, start_helper

READY_TIMEOUT_S = 60.0
FORK_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
STATUS_TIMEOUT_S = 2.0
"""How long after a node has ended the fork server may take to report how."""
ROOM = 1024
"""Bytes that a node's command line may take."""

Usage = Mapping[str, int | float]
"""Processor seconds, memory and context switches of a process, as `nodes.daemon.fork_server` reports them."""


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended, what it took, and when that was noticed."""

    status: int
    usage: Usage
    monotonic_ns: int

    @classmethod
    def unseen(cls) -> End:
        """Of one that was killed, and nobody has reported it."""
        return cls(-signal.SIGKILL, {}, time.monotonic_ns())


class ForkServer:
    """One warm process, from which all nodes of a run are forked."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        """Start it. `log` is where its standard error goes, with another ending."""
        self.child: Child = start_helper(
            "the fork server", "nodes.daemon.fork_server", ["." * ROOM], environment, log
        )
        self._ready = False
        self._ended: dict[int, End] = {}
        self._channel.on_news = self._note

    @property
    def _channel(self) -> Channel:
        assert self.child.channel is not None
        return self.child.channel

    def await_ready(self) -> None:
        """Wait until it has imported all there is to import.

        Raises:
            ProcessDiedError: it could not.
        """
        if not self._ready:
            self.child.ready(READY_TIMEOUT_S)
            self._ready = True

    def fork(self, node: NodeProcess) -> ForkedProcess:
        """Start a node.

        Raises:
            ProcessDiedError: the fork server has ended, or does not answer.
        """
        self.await_ready()
        pid = self.child.ask("fork", FORK_TIMEOUT_S, node=asdict(node))
        return ForkedProcess(self, int(pid), self._channel.descriptors.pop())

    def begin(self) -> None:
        """Let all that were forked begin; from now on those to come do at once.

        Raises:
            ProcessDiedError: the fork server has ended.
        """
        self.await_ready()
        self.child.ask("begin", FORK_TIMEOUT_S)

    def end_of(self, pid: int, seconds: float) -> End | None:
        """How and when one of its nodes ended; None: it reported nothing in that time."""
        deadline = time.monotonic() + seconds
        while pid not in self._ended:
            try:
                news = self._channel.receive(max(0.0, deadline - time.monotonic()))
            except ClosedError:
                return End.unseen()  # the kernel ends the nodes with the fork server
            if news is None:
                return None
            self._note(news)
        return self._ended[pid]

    def stop(self) -> list[str]:
        """End it, and with it every node that is left; what went wrong, for people."""
        return self.child.stop(STOP_TIMEOUT_S)

    def _note(self, news: Mapping[str, Any]) -> None:
        if "ended" in news:
            self._ended[news["ended"]] = End(news["status"], news["usage"], news["monotonic_ns"])


class ForkedProcess:
    """A process that the fork server has forked, used like a `subprocess.Popen`."""

    def __init__(self, server: ForkServer, pid: int, pidfd: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.usage: Usage = {}
        """What it took in its life; known once it has ended."""
        self.ended_ns = 0
        """When it ended, by the monotonic clock; known then."""
        self._server = server
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
        if self.returncode is None and ended_within(self._pidfd, seconds):
            # A zombie already: the fork server is about to report how it came to that.
            end = self._server.end_of(self.pid, STATUS_TIMEOUT_S) or End.unseen()
            self.returncode, self.usage, self.ended_ns = end.status, end.usage, end.monotonic_ns
            os.close(self._pidfd)
        return self.returncode


@dataclass(slots=True)
class ForkedNode(Child):
    """A node's process."""

    process: ForkedProcess
