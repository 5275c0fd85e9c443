"""The admin socket: a reply to everything, and no request that ends the node."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes.daemon.admin import AdminServer, Request, RequestError
from nodes.daemon.clock import Clock
from nodes.daemon.loop import Loop
from nodes.daemon.sockets import BindError


def refuse(request: Request) -> object:
    raise RequestError(f"not {request['what']}")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A server whose loop runs in a thread."""
    loop = Loop(Clock())
    commands = {
        "echo": lambda request: request.get("say"),
        "refuse": refuse,
        "large": lambda _: "x" * 10_000_000,
    }
    server = AdminServer(str(tmp_path / "s"), loop, commands)
    thread = threading.Thread(target=loop.run, args=(lambda: None,))
    thread.start()
    yield tmp_path / "s"
    loop.stop()
    thread.join()
    server.close()
    loop.close()
    assert not (tmp_path / "s").exists()


def connect(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(10)
    sock.connect(str(path))
    return sock


def ask(path: Path, *lines: bytes) -> list[dict[str, object]]:
    with connect(path) as sock, sock.makefile("rb") as replies:
        sock.sendall(b"".join(lines))
        return [json.loads(replies.readline()) for _ in lines]


def test_a_request_gets_its_result(path: Path) -> None:
    assert ask(path, b'{"do": "echo", "say": [1, "\xc3\xa4"]}\n') == [{"ok": True, "result": [1, "ä"]}]


def test_requests_of_one_connection_are_answered_in_order(path: Path) -> None:
    replies = ask(path, *(json.dumps({"do": "echo", "say": n}).encode() + b"\n" for n in range(50)))
    assert [reply["result"] for reply in replies] == list(range(50))


def test_a_refusal_says_why(path: Path) -> None:
    assert ask(path, b'{"do": "refuse", "what": "now"}\n') == [{"ok": False, "error": "not now"}]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"7",
        b'"status"',
        b"null",
        b'{"do": 3}',
        b'{"do": "nothing"}',
        b"[" * 60_000,
    ],
)
def test_a_bad_request_gets_an_error_and_the_next_one_its_result(path: Path, line: bytes) -> None:
    bad, good = ask(path, line + b"\n", b'{"do": "echo", "say": 1}\n')
    assert bad["ok"] is False
    assert isinstance(bad["error"], str)
    assert good == {"ok": True, "result": 1}


def test_an_endless_line_is_cut_off_and_others_are_served(path: Path) -> None:
    with connect(path) as sock, contextlib.suppress(ConnectionError):
        for _ in range(100):
            sock.sendall(b"x" * 65_536)
        assert sock.recv(1) == b""
    assert ask(path, b'{"do": "echo", "say": 1}\n')[0]["ok"]


def test_a_caller_that_does_not_read_keeps_nobody_waiting(path: Path) -> None:
    with connect(path) as deaf:
        deaf.sendall(b'{"do": "large"}\n')
        assert ask(path, b'{"do": "echo", "say": 1}\n')[0]["ok"]
        with deaf.makefile("rb") as replies:
            assert len(json.loads(replies.readline())["result"]) == 10_000_000


def test_a_socket_left_by_a_killed_node_is_taken_over(tmp_path: Path) -> None:
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(tmp_path / "s"))
    stale.listen()
    stale.close()
    loop = Loop(Clock())
    AdminServer(str(tmp_path / "s"), loop, {}).close()
    loop.close()


def test_a_socket_in_use_is_not_taken(path: Path) -> None:
    loop = Loop(Clock())
    with pytest.raises(BindError, match="Address already in use"):
        AdminServer(str(path), loop, {})
    loop.close()
    assert ask(path, b'{"do": "echo", "say": 1}\n')[0]["ok"]


def test_a_path_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    loop = Loop(Clock())
    with pytest.raises(BindError, match="at most 107 bytes"):
        AdminServer(str(tmp_path / ("x" * 120)), loop, {})
    loop.close()
