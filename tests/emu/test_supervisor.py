"""How a kept network ends, well or badly, and what its control socket takes."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.main import main
from testbed.live.clients import ControlClient
from testbed.live.registry import Running
from tests.emu.terminals import SCENARIO, TIMEOUT_S, Terminal, interrupt, kill, network, wait_for

pytestmark = pytest.mark.emu


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Terminal]:
    """A network of the test's own."""
    with network(tmp_path, f"own-{os.getpid()}") as terminal:
        yield terminal


def test_what_was_done_by_hand_is_in_the_events_and_the_manifest_is_complete(own: Terminal) -> None:
    own.on("pub", "a", "n = 1")
    own.on("link", "r1-r2", "delay", "1ms")
    own.on("node", "r2", "crash")
    own.on("node", "r2", "start")
    output = json.loads(own.type("down", own.name, "--json"))
    (ended,) = output["ended"]
    assert (ended["outcome"], ended["directory"]) == ("complete", str(own.out.resolve()))
    events = own.events()
    assert events == sorted(events, key=lambda e: (e["time_ns"], e["node"], e["n"]))
    assert [e["message"] for e in events if e["event"] == "publish"] == ["n = 1"]
    faults = [(e["do"], e["target"]) for e in events if e["event"] == "fault"]
    assert faults == [("impair", "r1--r2"), ("crash", "r2"), ("start", "r2")]
    assert {e["predicate"] for e in events if e["event"] == "subscribe"} == {'k = "x" and n < 20', 'k = "y"'}
    manifest = own.manifest()
    assert manifest["outcome"] == "complete"
    assert 0 < manifest["start_ns"] < manifest["end_ns"]
    assert manifest["captures"]["frames"] > 0
    assert "no network" in own.type("down", own.name, code=2)


@pytest.mark.spark
def test_the_analysis_judges_a_run_by_hand_as_any_other(
    own: Terminal, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    subscriber = own.start("sub", "--run", own.name, "b", 'dest = "ORD"')
    wait_for(subscriber, "the whole network knows")
    # The plan takes a change to be known after two seconds.
    settled = ("top", "--once", "--interval", "2100ms")
    own.on(*settled)
    own.on("pub", "a", 'dest = "ORD", n = 1', "--count", "20", "--every", "1ms")
    own.on("pub", "a", 'dest = "JFK", n = 1', "--count", "20", "--every", "1ms")
    own.on(*settled)
    interrupt(subscriber)
    own.type("down", own.name, "-q")
    capsys.readouterr()
    assert main(["analyze", str(own.out), "--json", "-q"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["ok"] is True
    assert (verdict["publications"], verdict["delivered"], verdict["missing"]) == (40, 20, 0)
    assert (verdict["owed"], verdict["verdict"]) == (20, "clean")


def test_with_the_workload_the_scripts_run_too(tmp_path: Path) -> None:
    with network(tmp_path, f"busy-{os.getpid()}", "--workload") as busy:
        while json.loads(busy.on("node", "b", "status"))["core"]["published"] < 20:
            pass  # pytest's own timeout bounds this
        busy.type("down", busy.name)
        assert sum(e["event"] == "publish" for e in busy.events()) == 20


def test_who_is_attached_is_hung_up_on_when_the_network_ends(own: Terminal) -> None:
    shell = own.start("attach", "r1", "--run", own.name, "--", "sh", "-c", "echo in; sleep 600; true")
    assert shell.stdout is not None
    assert shell.stdout.readline() == "in\n"
    own.type("down", own.name)
    shell.communicate(timeout=TIMEOUT_S)
    assert shell.returncode == -signal.SIGHUP


def test_after_kill_9_of_the_supervisor_commands_report_it_and_clean_removes_the_rest(
    own: Terminal, sole_cleaner: None
) -> None:
    run = own.found()
    subscriber = own.start("sub", "--run", own.name, "b", "n any integer")
    wait_for(subscriber, "the whole network knows")
    kill(own.supervisor())
    _, errors = subscriber.communicate(timeout=TIMEOUT_S)
    assert subscriber.returncode == 4
    assert "its supervisor has ended" in errors
    assert "cbn clean" in errors
    for words in (("down", own.name), ("pub", "--run", own.name, "a", "n = 1"), ("top", "--run", own.name)):
        output = own.type(*words, code=4)
        assert "is dead: its supervisor was killed; `cbn clean` removes what it left" in output
    (row,) = [r for r in json.loads(own.type("ps", "--json"))["runs"] if r["run_id"] == run.run_id]
    assert row["state"] == "dead"
    assert "cbn clean" in own.type("ps")
    assert "was killed" in own.manifest()["message"]
    own.type("clean")
    own.assert_nothing_is_left(run.run_id)


def test_a_terminated_supervisor_ends_in_order(own: Terminal) -> None:
    run = own.found()
    descriptor = os.pidfd_open(own.supervisor())
    os.kill(own.supervisor(), signal.SIGTERM)
    wait_until_ended(descriptor)
    own.assert_nothing_is_left(run.run_id)
    assert own.manifest()["outcome"] == "interrupted"
    assert own.events()


def test_a_node_killed_by_somebody_is_reported_and_the_rest_goes_on(own: Terminal) -> None:
    with ControlClient(own.found().control) as caller:
        kill(caller.ask("status")["nodes"]["r2"]["pid"])
        while caller.ask("status")["nodes"]["r2"]["state"] != "crashed":
            pass  # the supervisor looks four times a second; pytest's own timeout bounds this
    own.on("pub", "a", "n = 1")
    own.on("node", "r2", "start")
    own.type("down", own.name, code=4)
    assert "node r2 was killed by SIGKILL" in own.manifest()["message"]
    faults = [(e["do"], e["target"]) for e in own.events() if e["event"] == "fault"]
    assert faults == [("crash", "r2"), ("start", "r2")]


def test_a_network_whose_run_directory_is_gone_ends_with_clear_words_and_leaves_nothing(
    own: Terminal,
) -> None:
    run = own.found()
    shutil.rmtree(own.out)
    output = own.type("down", own.name, code=4)
    assert "defect" not in output
    own.assert_nothing_is_left(run.run_id)


def test_two_terminals_that_end_it_at_once_both_hear_how_it_ended(own: Terminal) -> None:
    both = [own.start("down", own.name, "--json", "-q") for _ in range(2)]
    output = [terminal.communicate(timeout=TIMEOUT_S) for terminal in both]
    codes = sorted(terminal.returncode for terminal in both)
    assert codes in ([0, 0], [0, 2], [0, 4]), output  # the second may come when all is over
    assert own.manifest()["outcome"] == "complete"


def test_a_network_that_does_not_become_ready_fails_with_the_supervisors_words(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, f"never-{os.getpid()}")
    output = terminal.up("--set", "timing.ready_timeout=1ms", code=4)
    manifest = terminal.manifest()
    assert manifest["message"]
    assert manifest["message"] in output
    assert manifest["outcome"] == "failed"
    terminal.assert_nothing_is_left(manifest["run_id"])


def test_ctrl_c_while_it_is_being_built_removes_it(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, f"early-{os.getpid()}")
    path = tmp_path / "handmade.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    up = terminal.start("up", str(path), "--name", terminal.name, "--out", str(terminal.out))
    wait_for(up, "building the network")
    _, errors, code = interrupt(up)
    assert code == 130
    assert "the network is being removed" in errors
    manifest = terminal.manifest()
    assert manifest["outcome"] == "interrupted"
    terminal.assert_nothing_is_left(manifest["run_id"])


class Raw:
    """A caller that keeps to no protocol."""

    def __init__(self, run: Running) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(str(run.control))

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def rest(self) -> bytes:
        """All that is said until the supervisor breaks off."""
        received = b""
        try:
            while data := self.socket.recv(1 << 16):
                received += data
        except ConnectionResetError:
            return received
        return received


def test_garbage_is_answered_and_at_last_cut_off_and_costs_nobody_else_anything(own: Terminal) -> None:
    run = own.found()
    garbage = [b"\0\xff{[", b"[]", b"{}", b'{"do": 7}', b'{"do": "destroy"}', b"[" * 20_000, b"", b"null"]
    raw = Raw(run)
    raw.say(b"\n".join(garbage * 4) + b"\n")
    replies = [json.loads(line) for line in raw.rest().splitlines()]
    assert len(replies) == 16
    assert all(reply["ok"] is False for reply in replies)
    assert "unknown request 'destroy'; known are status" in replies[4]["error"]
    endless = Raw(run)
    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        endless.say(b"x" * 50_000_000)
    assert len(own.on("link").splitlines()) == 6


def test_wrong_arguments_are_answered_with_what_was_expected(own: Terminal) -> None:
    requests: list[tuple[dict[str, Any], str]] = [
        ({"do": "link"}, 'expected "link"'),
        ({"do": "link", "link": "r1-r2"}, 'expected "change"'),
        ({"do": "link", "link": "r1-r2", "change": "impair", "to": {}}, 'expected "to"'),
        ({"do": "link", "link": "r1-r2", "change": "impair", "to": {"back": 7}}, 'expected "to"'),
        ({"do": "link", "link": "r1-r2", "change": "impair", "to": {"delay": ["1ms"]}}, "delay"),
        ({"do": "fault", "node": "r1", "fault": "melt"}, 'expected "fault"'),
        ({"do": "node", "node": ["r1"]}, 'expected "node"'),
        ({"do": "node", "node": "r1", "ask": "stop"}, 'expected "ask"'),
        ({"do": "publish", "client": "a", "message": 7}, 'expected "message"'),
        ({"do": "publish", "client": "a", "message": "n = 1", "count": -1}, 'expected "count"'),
        ({"do": "subscribe", "client": "a", "predicate": "n = 1", "keep": "all"}, 'expected "keep"'),
    ]
    raw = Raw(own.found())
    raw.say(b"".join(json.dumps(request).encode() + b"\n" for request, _ in requests))
    raw.socket.shutdown(socket.SHUT_WR)
    replies = [json.loads(line) for line in raw.rest().splitlines()]
    for (request, why), reply in zip(requests, replies, strict=True):
        assert reply["ok"] is False, request
        assert why in reply["error"]


def test_a_subscriber_that_does_not_read_loses_the_oldest_and_learns_how_many(own: Terminal) -> None:
    with ControlClient(own.found().control) as lazy:
        lazy.ask("subscribe", client="b", predicate="burst any integer", keep=50)
        while "settled_ms" not in (lazy.line(TIMEOUT_S) or {}):
            pass  # until the whole network knows
        text = "x" * 900
        with ControlClient(own.found().control) as caller:
            for _ in range(40):
                caller.ask("publish", client="a", message=f'burst = 1, text = "{text}"', count=50)
        received, dropped = 0, 0
        while (line := lazy.line(2)) is not None:
            received += len(line.get("deliveries", ()))
            dropped += line.get("dropped", 0)
        # Not 2,000: so fast a burst may overflow a socket on its way.
        delivered = json.loads(own.on("node", "b", "status"))["core"]["delivered"]
        assert received + dropped == delivered
        assert dropped > 0, (received, delivered)
        assert received > 0


def wait_until_ended(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    try:
        assert poller.poll(TIMEOUT_S * 1000)
    finally:
        os.close(descriptor)
