"""The run's side of an admin socket: every answer is taken for the question it answers."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.live.clients import AdminClient, AdminError


def repeat_questions(listener: socket.socket) -> None:
    """Answer every request of every connection with its own name, until the listener is closed."""
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        # Who asked need not wait for the answer.
        with contextlib.suppress(ConnectionError), caller, caller.makefile("rb") as lines:
            for line in lines:
                caller.sendall(json.dumps({"ok": True, "result": json.loads(line)["do"]}).encode() + b"\n")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[AdminClient]:
    path = tmp_path / "1.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        answering = threading.Thread(target=repeat_questions, args=(listener,))
        answering.start()
        client = AdminClient("r1", path)
        yield client
        client.close()
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()


def test_an_answer_is_to_the_question(node: AdminClient) -> None:
    assert [node.ask(do) for do in ("status", "settled", "status")] == ["status", "settled", "status"]


def test_an_answer_that_nobody_fetched_is_not_taken_for_the_next_one_s(node: AdminClient) -> None:
    node.post("settled")
    assert node.ask("status") == "status"
    node.post("tables")
    node.post("status")
    assert node.answer("status") == "status"


def test_a_node_that_does_not_listen_is_named(tmp_path: Path) -> None:
    with pytest.raises(AdminError, match="r9 does not listen"):
        AdminClient("r9", tmp_path / "9.sock").ask("status")
