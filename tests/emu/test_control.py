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

from testbed.emu.control import (
    LONGEST_BACKLOG_BYTES,
    LONGEST_REQUEST_BYTES,
    MOST_CALLERS,
    MOST_MISTAKES,
    Caller,
    ControlError,
    ControlServer,
    Request,
)


def answer(caller: Caller, request: Request) -> object:
    match request["do"]:
        case "echo":
            return request.get("text")
        case "flood":
            for _ in range(1000):
                caller.send({"text": "x" * 10_000})
            return None
    raise ControlError(f"cannot {request['do']}")


@pytest.fixture
def server() -> Iterator[ControlServer]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders have names too long for a socket
        made = ControlServer(Path(folder) / "ctl.sock", answer)
        yield made
        made.close()


def connected(server: ControlServer) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(str(server.path))
    server.turn(0)
    return sock


def talk(server: ControlServer, sock: socket.socket, data: bytes) -> list[dict[str, Any]]:
    """Say this, then listen until nothing more comes."""
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    sock.setblocking(False)
    heard = b""
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
        heard += data
    return [json.loads(line) for line in heard.splitlines()]


def test_every_line_gets_an_answer_in_order(server: ControlServer) -> None:
    lines = b"".join(json.dumps({"do": "echo", "text": str(n)}).encode() + b"\n" for n in range(100))
    replies = talk(server, connected(server), lines)
    assert replies == [{"ok": True, "result": str(n)} for n in range(100)]


def test_lines_may_come_in_pieces(server: ControlServer) -> None:
    sock = connected(server)
    for piece in (b'{"do":', b'"echo",', b'"text":"whole"}'):
        sock.sendall(piece)
        server.turn(0)
    assert talk(server, sock, b"\n") == [{"ok": True, "result": "whole"}]


def test_so_many_mistakes_and_no_more(server: ControlServer) -> None:
    replies = talk(server, connected(server), b'{"do": "nothing"}\n' * 1000)
    assert replies == [{"ok": False, "error": "cannot nothing"}] * MOST_MISTAKES
    assert server.callers == []


@given(data=st.binary(max_size=300))
def test_no_garbage_ends_the_server(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = ControlServer(Path(folder) / "ctl.sock", answer)
        try:
            for reply in talk(server, connected(server), data + b"\n"):
                assert reply["ok"] is False
            last = talk(server, connected(server), b'{"do": "echo", "text": "alive"}\n')
            assert last == [{"ok": True, "result": "alive"}]
        finally:
            server.close()


def test_a_line_without_an_end_is_not_kept_for_ever(server: ControlServer) -> None:
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


def test_a_line_that_is_too_long_is_told_so_before_the_talk_ends(server: ControlServer) -> None:
    line = json.dumps({"do": "echo", "text": "x" * LONGEST_REQUEST_BYTES}).encode()
    (reply,) = talk(server, connected(server), line + b"\n" + b'{"do": "echo", "text": "too late"}\n')
    assert "at most 61440 bytes" in reply["error"]


def test_who_does_not_read_is_no_longer_told_and_at_last_cut_off(server: ControlServer) -> None:
    sock = connected(server)
    gone: list[str] = []
    (caller,) = server.callers
    caller.at_close.append(lambda: gone.append("told"))
    sock.sendall(b'{"do": "flood"}\n')
    server.turn(1)
    assert caller.closed
    assert gone == ["told"]
    assert server.callers == []
    assert LONGEST_BACKLOG_BYTES < 1000 * 10_000


def test_too_many_callers_are_turned_away_and_the_others_served(server: ControlServer) -> None:
    callers = [connected(server) for _ in range(MOST_CALLERS + 3)]
    assert (len(server.callers), server.refused) == (MOST_CALLERS, 3)
    assert callers[-1].recv(1) == b""
    assert talk(server, callers[0], b'{"do": "echo", "text": "here"}\n')[0]["ok"] is True
    for sock in callers:
        sock.close()
