"""Speaks to the nodes' admin sockets."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

REPLY_TIMEOUT_S = 10.0


class AdminError(RuntimeError):
    """A node refused a request or broke off."""


class AdminClient:
    """A connection to one node, kept open between requests."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path
        self._socket: socket.socket | None = None
        self._heard = b""
        self._owed = False
        """Whether a request was posted whose answer has not been fetched."""

    def connect(self) -> bool:
        """Connect unless connected; False if the node does not listen yet."""
        if self._socket is not None:
            return True
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(REPLY_TIMEOUT_S)
        try:
            sock.connect(str(self._path))
        except (FileNotFoundError, ConnectionRefusedError):
            sock.close()
            return False
        self._socket = sock
        return True

    def ask(self, do: str, **arguments: object) -> Any:
        """Make one request; returns its result.

        Raises:
            AdminError: the node refused, broke off or did not answer in time.
        """
        self.post(do, **arguments)
        return self.answer(do)

    def post(self, do: str, **arguments: object) -> None:
        """Make a request and do not wait: `answer` fetches its result. For asking many at once.

        If the answer to the request before was never fetched (asking another node
        failed meanwhile), that connection is given up: it must not pass for this one's.

        Raises:
            AdminError: the node does not listen, or has broken off.
        """
        if self._owed:
            self.close()
        if not self.connect():
            raise AdminError(f"{self.name} does not listen on {self._path}")
        assert self._socket is not None
        try:
            self._socket.sendall(json.dumps({"do": do, **arguments}).encode() + b"\n")
        except OSError as error:
            raise self._no_answer(do, error) from error
        self._owed = True

    def answer(self, do: str) -> Any:
        """The result of the request that was posted.

        Raises:
            AdminError: the node refused, broke off or did not answer in time.
        """
        try:
            reply = json.loads(self._line())
        except (OSError, ValueError) as error:
            raise self._no_answer(do, error) from error
        self._owed = False
        if not reply["ok"]:
            raise AdminError(f"{self.name} refused {do!r}: {reply['error']}")
        return reply["result"]

    def _no_answer(self, do: str, error: Exception) -> AdminError:
        """An answer that comes after all must not be taken for the next request's."""
        self.close()
        return AdminError(f"{self.name}: no answer to {do!r}: {error}")

    def close(self) -> None:
        """Break the connection off."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._heard, self._owed = b"", False

    def _line(self) -> bytes:
        assert self._socket is not None
        pieces = [self._heard]
        while b"\n" not in pieces[-1]:
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the connection was closed")
            pieces.append(data)
        line, _, self._heard = b"".join(pieces).partition(b"\n")
        return line
