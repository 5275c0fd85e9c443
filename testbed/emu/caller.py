"""Talks to a running network over its control socket; the asking side of `testbed.emu.control`."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

REPLY_TIMEOUT_S = 60.0
"""The keeper asks nodes before it answers; a machine that is this slow is of no use."""


class RefusedError(RuntimeError):
    """The network's keeper says why it does not do what was asked."""


class LostError(RuntimeError):
    """The network's keeper cannot be reached, or has gone in the middle of a talk."""


class Caller:
    """One connection to a keeper.

    Raises:
        LostError: nobody listens there.
    """

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._heard = b""
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise LostError(f"nobody answers at {path}: {error.strerror}") from error

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result.

        Raises:
            RefusedError: it cannot be done; the text says why.
            LostError: the keeper has gone, or does not answer.
        """
        try:
            self._socket.settimeout(REPLY_TIMEOUT_S)
            self._socket.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
        except OSError as error:
            raise LostError(f"the keeper went away: {error}") from error
        while True:
            reply = self.line(REPLY_TIMEOUT_S)
            if reply is None:
                raise LostError(f"the keeper did not answer within {REPLY_TIMEOUT_S:g} s")
            if reply.get("ok") is True:
                return reply["result"]
            if reply.get("ok") is False:
                raise RefusedError(str(reply["error"]))

    def line(self, seconds: float | None = None) -> dict[str, Any] | None:
        """The next line the keeper says; None if it says nothing in that time.

        Raises:
            LostError: it has gone.
        """
        self._socket.settimeout(seconds)
        while b"\n" not in self._heard:
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError as error:
                raise LostError(f"the keeper went away: {error}") from error
            if not data:
                raise LostError("the keeper went away in the middle of the talk")
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        said = json.loads(line)
        assert isinstance(said, dict)
        return said

    def lines(self) -> Iterator[dict[str, Any]]:
        """All that is said until the keeper goes."""
        while (said := self.line()) is not None:
            yield said

    def close(self) -> None:
        """Break off."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
