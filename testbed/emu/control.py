"""The control socket of a running network: JSON lines, served from within the keeper's own loop.

Here: callers, their lines, and what happens to those who send garbage, too much,
or do not read. Not here: what can be asked for (`testbed.emu.hands`), and the
asking side (`testbed.emu.caller`). The protocol is told in docs/hands-on.md.
"""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

Request = Mapping[str, object]
LONGEST_REQUEST_BYTES = 60 * 1024
"""Less than a node takes, to which most requests are handed on."""
READ_BYTES = 1 << 16
LONGEST_BACKLOG_BYTES = 4 * 1024 * 1024
"""What a caller may leave unread before it is cut off."""
STREAM_BACKLOG_BYTES = 64 * 1024
"""What a caller may leave unread before a stream waits for it."""
MOST_CALLERS = 64
MOST_MISTAKES = 16


class ControlError(ValueError):
    """The caller asked for something that cannot be; the text is the reply."""


Answer = Callable[["Caller", Request], object]


class ControlServer:
    """Listens, reads, answers; call `turn` often."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self.path = path
        self.answer = answer
        self.callers: list[Caller] = []
        self.refused = 0
        """Callers who came when there were too many."""
        self._selector = selectors.DefaultSelector()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen(16)
        self._selector.register(self._socket, selectors.EVENT_READ, None)

    def turn(self, seconds: float) -> None:
        """Wait that long for callers to say something, and answer what they say."""
        for key, events in self._selector.select(max(0.0, seconds)):
            if key.data is None:
                self._accept()
                continue
            caller: Caller = key.data
            if events & selectors.EVENT_WRITE:
                caller.flush()
            if events & selectors.EVENT_READ and not caller.closed:
                caller.read()

    def wait_for(self, caller: Caller, writing: bool) -> None:
        """Wait for the caller's next words, and for room to answer if `writing`."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)
        if self._selector.get_key(caller.sock).events != events:
            self._selector.modify(caller.sock, events, caller)

    def forget(self, caller: Caller) -> None:
        """The caller is about to be closed."""
        self._selector.unregister(caller.sock)
        self.callers.remove(caller)

    def close(self) -> None:
        """Cut all callers off."""
        for caller in list(self.callers):
            caller.close()
        self._selector.close()
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return  # gone between knocking and the door
        if len(self.callers) >= MOST_CALLERS:
            self.refused += 1
            sock.close()
            return
        sock.setblocking(False)
        caller = Caller(sock, self)
        self.callers.append(caller)
        self._selector.register(sock, selectors.EVENT_READ, caller)


class Caller:
    """One connection: what it has said so far and what it has not read yet."""

    def __init__(self, sock: socket.socket, server: ControlServer) -> None:
        self.sock = sock
        self.closed = False
        self.at_close: list[Callable[[], None]] = []
        """What to do when it goes away."""
        self._server = server
        self._said = b""
        self._unread = bytearray()
        self._mistakes = 0

    @property
    def patient(self) -> bool:
        """Whether it reads fast enough to be told more of a stream."""
        return not self.closed and len(self._unread) < STREAM_BACKLOG_BYTES

    def send(self, record: Mapping[str, object]) -> None:
        """One line to the caller, now or when it reads."""
        if self.closed:
            return
        self._unread += json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=repr).encode()
        self._unread += b"\n"
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes; cut a caller off that lets too much lie."""
        try:
            while self._unread:
                del self._unread[: self.sock.send(self._unread)]
        except BlockingIOError:
            pass  # the selector says when there is room
        except OSError:
            self.close()
            return
        if len(self._unread) > LONGEST_BACKLOG_BYTES:
            self.close()
            return
        self._server.wait_for(self, writing=bool(self._unread))

    def read(self) -> None:
        """Take what it says, line by line."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            if not self.closed and not self._too_long(line):
                self._take(line)
        if not self.closed:
            self._too_long(self._said)

    def close(self) -> None:
        """Break off, and let go of what was held for it."""
        if self.closed:
            return
        self.closed = True
        self._server.forget(self)
        self.sock.close()
        for undo in self.at_close:
            undo()

    def leave(self) -> socket.socket | None:
        """Stop serving it here, but do not break off; its socket, with what was unread sent."""
        if self.closed:
            return None
        self.closed = True
        self._server.forget(self)
        self.sock.settimeout(1.0)
        try:
            self.sock.sendall(self._unread)
        except OSError:
            self.sock.close()
            return None
        return self.sock

    def _too_long(self, line: bytes) -> bool:
        if len(line) <= LONGEST_REQUEST_BYTES:
            return False
        self._complain(f"a request has at most {LONGEST_REQUEST_BYTES} bytes; this talk is over")
        self.close()
        return True

    def _take(self, line: bytes) -> None:
        try:
            request = _request(line)
            result = self._server.answer(self, request)
        except ControlError as error:
            self._complain(str(error))
            return
        if result is not None:
            self.send({"ok": True, "result": result})

    def _complain(self, why: str) -> None:
        self.send({"ok": False, "error": why})
        self._mistakes += 1
        if self._mistakes >= MOST_MISTAKES:
            self.close()


def _request(line: bytes) -> Request:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ControlError(f"not JSON: {error}") from error
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise ControlError('expected one JSON object a line, with the key "do"')
    return request
