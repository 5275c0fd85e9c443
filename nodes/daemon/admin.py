"""The admin socket: one JSON request a line, one JSON reply a line.

A request is `{"do": NAME, ...}`; the reply `{"ok": true, "result": ...}` or
`{"ok": false, "error": "..."}`. Whatever a caller sends, it gets a reply or is
cut off, and the node goes on.
"""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from nodes.daemon.loop import Loop
from nodes.daemon.sockets import BindError

Request = Mapping[str, object]
Command = Callable[[Request], object]
LONGEST_REQUEST_BYTES = 64 * 1024
LONGEST_REPLY_BACKLOG_BYTES = 64 * 1024 * 1024
MOST_CONNECTIONS = 64


class RequestError(ValueError):
    """The caller asked for something that cannot be; the text is the reply."""


class AdminServer:
    """Answers on a Unix socket from within the node's loop."""

    def __init__(self, path: str, loop: Loop, commands: Mapping[str, Command]) -> None:
        self._path = Path(path)
        self._loop = loop
        self._commands = commands
        self._connections: dict[int, _Connection] = {}
        self._socket = _listen(self._path)
        loop.watch(self._socket.fileno(), self._accept)

    def close(self) -> None:
        """Cut all callers off and remove the socket's file."""
        self._loop.forget(self._socket.fileno())
        self._socket.close()
        for connection in list(self._connections.values()):
            connection.close()
        self._path.unlink(missing_ok=True)

    def answer(self, line: bytes) -> bytes:
        """The reply to one line, with its newline."""
        try:
            reply: dict[str, object] = {"ok": True, "result": self._perform(line)}
        except RequestError as error:
            reply = {"ok": False, "error": str(error)}
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":"), default=repr).encode() + b"\n"

    def _perform(self, line: bytes) -> object:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RequestError(f"not JSON: {error}") from error
        name = request.get("do") if isinstance(request, dict) else None
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise RequestError(f'expected {{"do": NAME}} with NAME one of {", ".join(self._commands)}')
        return command(request)

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return  # the caller went away between knocking and the door
        sock.setblocking(False)
        if len(self._connections) >= MOST_CONNECTIONS:
            sock.close()
            return
        self._connections[sock.fileno()] = _Connection(sock, self)

    def watch(self, connection: _Connection, writing: bool) -> None:
        """Wait for the caller's next words, and for room to answer if `writing`."""
        self._loop.watch(
            connection.sock.fileno(), connection.on_read, connection.on_write if writing else None
        )

    def forget(self, connection: _Connection) -> None:
        """The connection is about to close."""
        self._loop.forget(connection.sock.fileno())
        self._connections.pop(connection.sock.fileno(), None)


class _Connection:
    """One caller: what it has said so far and what it has not yet read."""

    def __init__(self, sock: socket.socket, server: AdminServer) -> None:
        self.sock = sock
        self._server = server
        self._said = b""
        self._unread = b""
        server.watch(self, writing=False)

    def on_read(self) -> None:
        try:
            data = self.sock.recv(LONGEST_REQUEST_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self.close()
            return
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            self._unread += self._server.answer(line)
        if len(self._said) > LONGEST_REQUEST_BYTES or len(self._unread) > LONGEST_REPLY_BACKLOG_BYTES:
            self.close()
            return
        self.on_write()

    def on_write(self) -> None:
        try:
            self._unread = self._unread[self.sock.send(self._unread) :] if self._unread else b""
        except BlockingIOError:
            pass  # the selector says when there is room
        except ConnectionError:
            self.close()
            return
        self._server.watch(self, writing=bool(self._unread))

    def close(self) -> None:
        self._server.forget(self)
        self.sock.close()


def _listen(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        if _is_stale(path):
            path.unlink()
        sock.bind(str(path))
        sock.listen(16)
    except OSError as error:
        sock.close()
        raise BindError(
            f"admin socket {path}: {error.strerror or error}; its folder must exist, its path have "
            "at most 107 bytes, and no other node use it"
        ) from error
    path.chmod(0o600)
    return sock


def _is_stale(path: Path) -> bool:
    """A killed node leaves its socket's file behind; nobody listens there."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED
