"""How far a kept network is, told to whoever waits for it: who started it, and who ends it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Mapping

from testbed.emu.control import Caller
from testbed.runs.fidelity import sentences
from testbed.runs.world import Outcome

SEND_TIMEOUT_S = 1.0


class KeeperProgress:
    """A Progress that speaks in JSON lines, to a pipe and to sockets; those who do not listen are forgotten.

    Args:
        pipe: who started the network reads from its other end.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe: int | None = pipe
        self._sockets: list[socket.socket] = []
        os.set_blocking(pipe, False)

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; that of a workload is people's, and ends when they say so."""
        if name != "workload":
            self.tell({"phase": name, "total": total})

    def advance(self, done: int) -> None:
        """Some of the phase is done."""
        self.tell({"done": done})

    def say(self, text: str) -> None:
        """A line for people, which also stands in the keeper's log."""
        print(text, flush=True)
        self.tell({"say": text})

    def ready(self, facts: Mapping[str, object]) -> None:
        """The network runs: who started it need not wait any more."""
        self.tell({"ready": facts})
        self._close_pipe()

    def follow(self, caller: Caller) -> None:
        """From now on this caller, who waits for the end, is told."""
        sock = caller.leave()
        if sock is not None:
            sock.settimeout(SEND_TIMEOUT_S)
            self._sockets.append(sock)

    def over(self, outcome: Outcome) -> None:
        """Nothing follows."""
        print(f"{outcome.outcome}{f': {outcome.message}' if outcome.message else ''}", flush=True)
        self.tell(
            {
                "outcome": outcome.outcome,
                "message": outcome.message,
                "captures": {"packets": outcome.capture_packets, "drops": outcome.capture_drops},
                "fidelity": outcome.fidelity and outcome.fidelity.to_json(),
                "said": sentences(outcome.fidelity),
            }
        )
        self._close_pipe()
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def tell(self, record: Mapping[str, object]) -> None:
        """One line to all who listen."""
        line = json.dumps(record, ensure_ascii=False, default=repr).encode() + b"\n"
        if self._pipe is not None:
            try:
                os.write(self._pipe, line)
            except BlockingIOError:
                pass  # who started us is held up: it misses a line of progress
            except BrokenPipeError:
                self._close_pipe()
        for sock in list(self._sockets):
            try:
                sock.sendall(line)
            except OSError:
                self._sockets.remove(sock)
                sock.close()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.close(self._pipe)
            self._pipe = None
