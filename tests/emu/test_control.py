"""The control socket alone: lines, garbage, callers who do not read. No network is needed."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.daemon.json_lines import Caller, Request, RequestError, Server
from nodes.daemon.loop import Selector
from testbed.live.control import LIMITS


class Control:
    """A control socket, and the loop that serves it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.selector = Selector()
        self.server = Server(path, self.selector, answer, LIMITS)
        self.turn = self.selector.turn

    @property
    def callers(self) -> list[Caller]:
        return self.server.callers

    def close(self) -> None:
        self.server.close()
        self.selector.close()


def answer(caller: Caller, request: Request) -> object:
    match request["do"]:
        case "echo":
            return request.get("text")
        case "flood":
            for _ in range(1000):
                caller.send({"text": "x" * 10_000})
            return None
    raise RequestError(f"cannot {request['do']}")


@pytest.fixture
def server() -> Iterator[Control]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders have names too long for a socket
        made = Control(Path(folder) / "ctl.sock")
        yield made
        made.close()


def connected(server: Control) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(server.path))
    server.turn(0)
    return sock


def talk(server: Control, sock: socket.socket, data: bytes) -> list[dict[str, Any]]:
    """Say this, then listen until nothing more comes."""
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    sock.setblocking(False)
    received = b""
    while True:
        server.turn(0)
        try:
            data = sock.recv(1 << 20)
        except BlockingIOError:
            continue
        except ConnectionError:
            break  # cut off with words of ours unread
        if not data:
            break
        received += data
    return [json.loads(line) for line in received.splitlines()]


def test_every_line_gets_an_answer_in_order(server: Control) -> None:
    lines = b"".join(json.dumps({"do": "echo", "text": str(n)}).encode() + b"\n" for n in range(100))
    replies = talk(server, connected(server), lines)
    assert replies == [{"ok": True, "result": str(n)} for n in range(100)]


def test_lines_may_come_in_pieces(server: Control) -> None:
    sock = connected(server)
    for piece in (b'{"do":', b'"echo",', b'"text":"whole"}'):
        sock.sendall(piece)
        server.turn(0)
    assert talk(server, sock, b"\n") == [{"ok": True, "result": "whole"}]


def test_so_many_mistakes_and_no_more(server: Control) -> None:
    replies = talk(server, connected(server), b'{"do": "nothing"}\n' * 1000)
    assert replies == [{"ok": False, "error": "cannot nothing"}] * (LIMITS.mistakes or 0)
    assert server.callers == []


@given(data=st.binary(max_size=300))
def test_no_garbage_ends_the_server(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Control(Path(folder) / "ctl.sock")
        try:
            for reply in talk(server, connected(server), data + b"\n"):
                assert reply["ok"] is False
            last = talk(server, connected(server), b'{"do": "echo", "text": "alive"}\n')
            assert last == [{"ok": True, "result": "alive"}]
        finally:
            server.close()


def test_a_line_without_an_end_is_not_kept_for_ever(server: Control) -> None:
    sock = connected(server)
    sock.setblocking(False)
    sent = 0
    while server.callers:
        try:
            sent += sock.send(b"x" * 65536)
        except BlockingIOError:
            pass
        except BrokenPipeError:
            break
        server.turn(0)
    assert sent < 1_000_000


def test_a_line_that_is_too_long_is_answered_before_the_connection_ends(server: Control) -> None:
    line = json.dumps({"do": "echo", "text": "x" * LIMITS.request_bytes}).encode()
    (reply,) = talk(server, connected(server), line + b"\n" + b'{"do": "echo", "text": "too late"}\n')
    assert "at most 61440 bytes" in reply["error"]


def test_a_peer_that_does_not_read_gets_no_more_and_is_disconnected(server: Control) -> None:
    sock = connected(server)
    gone: list[str] = []
    (caller,) = server.callers
    caller.at_close.append(lambda: gone.append("told"))
    sock.sendall(b'{"do": "flood"}\n')
    server.turn(1)
    assert caller.closed
    assert gone == ["told"]
    assert server.callers == []
    assert LIMITS.backlog_bytes < 1000 * 10_000


def test_too_many_callers_are_turned_away_and_the_others_served(server: Control) -> None:
    callers = [connected(server) for _ in range(LIMITS.callers + 3)]
    assert (len(server.callers), server.server.turned_away) == (LIMITS.callers, 3)
    assert callers[-1].recv(1) == b""
    assert talk(server, callers[0], b'{"do": "echo", "text": "here"}\n')[0]["ok"] is True
    for sock in callers:
        sock.close()
