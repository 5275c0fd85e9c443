"""Requests and replies as lines of JSON: how processes of a run, and people's commands, talk.

A request is `{"do": NAME, ...}`; its reply `{"ok": true, "result": ...}` or
`{"ok": false, "error": "..."}`, and any other line is news. Here are both ends: `Channel`
asks, over a socket that was given to a child or found at a path; `Server` answers
on a Unix socket from within somebody's loop; `serve` answers on standard input.
Whatever a caller sends, it gets a reply or is cut off, and the server goes on.
Not here: what can be asked for.
"""

from __future__ import annotations

import errno
import json
import select
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodes.daemon.loop import Watcher

Request = Mapping[str, object]
READ_BYTES = 1 << 16
LONGEST_SOCKET_PATH = 107


class RequestError(ValueError):
    """The caller asked for something that cannot be; the text is the reply."""


class RefusedError(RuntimeError):
    """What was asked for was not done; the text is the other side's."""


class ClosedError(ConnectionError):
    """The other side is gone, or does not answer."""


def encode(record: object) -> bytes:
    """One line; what JSON cannot say is written as its `repr`."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=repr).encode() + b"\n"


def request_in(line: str | bytes) -> Request:
    """Read a request.

    Raises:
        RequestError: it is none.
    """
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"not JSON: {error}") from error
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise RequestError('expected one JSON object a line, with the key "do"')
    return request


def done(result: object) -> dict[str, object]:
    """The reply to a request that was done."""
    return {"ok": True, "result": result}


def refused(why: object) -> dict[str, object]:
    """The reply to a request that was not."""
    return {"ok": False, "error": str(why)}


def serve(answer: Callable[[Request], object]) -> None:
    """Answer the requests on standard input until it ends; `answer` raises `RequestError`."""
    for line in sys.stdin:
        try:
            reply = done(answer(request_in(line)))
        except RequestError as error:
            reply = refused(f"{line.strip()[:200]}: {error}")
        say(reply)


def say(record: object) -> None:
    """One line on standard output."""
    sys.stdout.write(encode(record).decode())
    sys.stdout.flush()


class Channel:
    """The asking end of a connection; descriptors that come along are kept in `descriptors`."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.descriptors: list[int] = []
        self.on_news: Callable[[Mapping[str, Any]], None] = lambda _: None
        """Takes the lines that come before the reply to a request."""
        self._received = b""

    @classmethod
    def connect(cls, path: Path) -> Channel:
        """Connect to a server.

        Raises:
            OSError: nobody listens there.
        """
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(str(path))
        except OSError:
            sock.close()
            raise
        return cls(sock)

    def send(self, record: object, descriptors: Sequence[int] = (), seconds: float | None = None) -> None:
        """Send one line.

        Raises:
            ClosedError: the other side is gone, or takes nothing in that time.
        """
        try:
            self.socket.settimeout(seconds)
            if descriptors:
                socket.send_fds(self.socket, [encode(record)], list(descriptors))
            else:
                self.socket.sendall(encode(record))
        except OSError as error:
            raise ClosedError(str(error)) from error

    def receive(self, seconds: float | None = None) -> dict[str, Any] | None:
        """The next line; None if none comes in that time.

        Raises:
            ClosedError: the other side is gone.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        pieces = [self._received]
        while b"\n" not in pieces[-1]:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                data = self._read(left)
            except BaseException:  # a Ctrl-C must not cost the beginning of the line
                self._received = b"".join(pieces)
                raise
            if data is None:
                self._received = b"".join(pieces)
                return None
            pieces.append(data)
        line, _, self._received = b"".join(pieces).partition(b"\n")
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("expected an object")
        except ValueError as error:
            raise ClosedError(f"it sent something else than a line of JSON: {error}") from error
        return record

    def result(self, seconds: float | None = None) -> Any:
        """The result of the request before.

        Raises:
            RefusedError: it was not done; the text says why.
            ClosedError: the other side is gone, or does not answer in that time.
        """
        while (reply := self.receive(seconds)) is not None:
            if reply.get("ok") is True:
                return reply["result"]
            if reply.get("ok") is False:
                raise RefusedError(str(reply["error"]))
            self.on_news(reply)
        raise ClosedError(f"no answer within {seconds:g} s")

    def ask(self, do: str, seconds: float | None = None, **arguments: object) -> Any:
        """Make one request; returns its result. Raises as `send` and `result`."""
        self.send({"do": do, **arguments}, seconds=seconds)
        return self.result(seconds)

    def fileno(self) -> int:
        """For polling; what `receive` holds back already does not show."""
        return self.socket.fileno()

    def end_input(self) -> None:
        """Say that nothing more will be sent; what the other side still has to say can be received."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            return  # it is gone already

    def close(self) -> None:
        """Break off."""
        self.socket.close()

    def _read(self, seconds: float | None) -> bytes | None:
        try:
            self.socket.setblocking(True)
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            if not poll.poll(None if seconds is None else seconds * 1000):
                return None
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 20, 8)
        except OSError as error:
            raise ClosedError(str(error)) from error
        self.descriptors += descriptors
        if not data:
            raise ClosedError("the connection was closed")
        return data


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what callers may make a server keep."""

    request_bytes: int
    backlog_bytes: int
    """What a caller may leave unread before it is cut off."""
    callers: int = 64
    mistakes: int | None = None
    """After how many a caller is cut off; None: it may make any number."""


Answer = Callable[["Caller", Request], object]
"""Raises `RequestError`; a result of None means that the caller was answered, or will be."""


class Server:
    """Listens, reads, answers, from within a loop.

    Raises:
        OSError: the path cannot be had.
    """

    def __init__(self, path: Path, watcher: Watcher, answer: Answer, limits: Limits) -> None:
        self.path = path
        self.watcher = watcher
        self.answer = answer
        self.limits = limits
        self.callers: list[Caller] = []
        self.turned_away = 0
        """Callers who came when there were too many."""
        self._socket = _listen(path)
        watcher.watch(self._socket.fileno(), self._accept)

    def close(self) -> None:
        """Cut all callers off and remove the socket's file."""
        self.watcher.forget(self._socket.fileno())
        for caller in list(self.callers):
            caller.close()
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return  # the caller went away between knocking and the door
        if len(self.callers) >= self.limits.callers:
            self.turned_away += 1
            sock.close()
            return
        sock.setblocking(False)
        self.callers.append(Caller(sock, self))


class Caller:
    """One connection: what it has sent so far and what it has not read yet."""

    def __init__(self, sock: socket.socket, server: Server) -> None:
        self.sock = sock
        self.closed = False
        self.at_close: list[Callable[[], None]] = []
        """What to do when it goes away."""
        self.unread = bytearray()
        """What it has not taken yet."""
        self._server = server
        self._received = b""
        self._mistakes = 0
        self._watch()

    def send(self, record: Mapping[str, object]) -> None:
        """One line to the caller, now or when it reads."""
        if not self.closed:
            self.unread += encode(record)
            self._flush()

    def close(self) -> None:
        """Break off, and let go of what was held for it."""
        if self._leave():
            self.sock.close()
            for undo in self.at_close:
                undo()

    def release(self) -> socket.socket | None:
        """Serve it no longer, but do not break off; its socket, with what was unread sent."""
        if not self._leave():
            return None
        self.sock.settimeout(1.0)
        try:
            self.sock.sendall(self.unread)
        except OSError:
            self.sock.close()
            return None
        return self.sock

    def _watch(self) -> None:
        self._server.watcher.watch(self.sock.fileno(), self._read, self._flush if self.unread else None)

    def _leave(self) -> bool:
        if self.closed:
            return False
        self.closed = True
        self._server.watcher.forget(self.sock.fileno())
        self._server.callers.remove(self)
        return True

    def _flush(self) -> None:
        """Send what the socket takes; cut a caller off that lets too much lie."""
        if self.closed:
            return
        try:
            while self.unread:
                del self.unread[: self.sock.send(self.unread)]
        except BlockingIOError:
            pass  # the loop says when there is room
        except OSError:
            self.close()
            return
        if len(self.unread) > self._server.limits.backlog_bytes:
            self.close()
            return
        self._watch()

    def _read(self) -> None:
        if self.closed:
            return
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            if not self.closed and not self._too_long(line):
                self._take(line)
        if not self.closed:
            self._too_long(self._received)

    def _too_long(self, line: bytes) -> bool:
        most = self._server.limits.request_bytes
        if len(line) <= most:
            return False
        self._refuse(f"a request has at most {most} bytes; this connection is closed")
        self.close()
        return True

    def _take(self, line: bytes) -> None:
        try:
            result = self._server.answer(self, request_in(line))
        except RequestError as error:
            self._refuse(error)
            return
        if result is not None:
            self.send(done(result))

    def _refuse(self, why: object) -> None:
        self.send(refused(why))
        self._mistakes += 1
        if self._server.limits.mistakes is not None and self._mistakes >= self._server.limits.mistakes:
            self.close()


def _listen(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        if _is_stale(path):
            path.unlink()
        sock.bind(str(path))
        sock.listen(16)
        path.chmod(0o600)
    except OSError:
        sock.close()
        raise
    return sock


def _is_stale(path: Path) -> bool:
    """A process that was killed leaves its socket's file behind; nobody listens there."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED
