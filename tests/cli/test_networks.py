"""Which running network a command means, told without any that runs."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from nodes.processes import Owner
from testbed.cli import exits, networks
from testbed.cli.command import seconds
from testbed.cli.commands.link import request
from testbed.live import registry


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of the test's own."""
    monkeypatch.setattr(networks, "running", lambda: registry.running(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv(networks.NETWORK_VARIABLE, raising=False)
    return tmp_path


def entry(root: Path, run_id: str, owner: object = None, **facts: object) -> None:
    (root / run_id).mkdir()
    record = {"owner": str(owner or Owner.this_process()), "directory": "/runs/x", "kind": "network", **facts}
    (root / run_id / "run.json").write_text(json.dumps(record), encoding="utf-8")


def refused(name: str | None) -> tuple[str, int]:
    with pytest.raises(exits.CommandError) as error:
        networks.choose(name)
    return str(error.value), error.value.code


def test_the_only_network_is_meant(root: Path) -> None:
    entry(root, "one-emu-1", name="one")
    entry(root, "other-emu-1", kind="run", scenario="other")
    assert networks.choose(None).run_id == "one-emu-1"
    assert networks.choose("one").run_id == "one-emu-1"
    assert networks.choose("one-e").run_id == "one-emu-1"
    text, code = refused("other")
    assert "no network other; there are: one-emu-1 (one)" in text
    assert code == exits.USAGE


def test_without_any_the_command_to_start_one_is_named(root: Path) -> None:
    assert "`cbn up SCENARIO` starts one" in refused(None)[0]
    assert "no network lab is running" in refused("lab")[0]
    assert not list(root.iterdir())


def test_of_several_one_has_to_be_named_here_or_in_the_shell(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry(root, "a-emu-1", name="a")
    entry(root, "b-emu-1", name="b")
    assert "several networks are running: a-emu-1 (a), b-emu-1 (b); say which with --run" in refused(None)[0]
    assert networks.choose("b").name == "b"
    monkeypatch.setenv(networks.NETWORK_VARIABLE, "a")
    assert networks.choose(None).name == "a"
    assert networks.choose("b").name == "b"


def test_a_dead_network_and_one_that_is_starting_are_reported_as_such(root: Path) -> None:
    entry(root, "gone-emu-1", owner=Owner(2**22 + 1, 7), name="gone")
    text, code = refused("gone")
    assert "is dead: its supervisor was killed; `cbn clean` removes what it left" in text
    assert code == exits.FAILED
    entry(root, "new-emu-1", name="new", state="starting")
    assert "is still being built" in refused(None)[0]


def test_a_record_that_cannot_be_read_is_a_dead_run(root: Path) -> None:
    for name, text in (("empty", ""), ("list", "[]"), ("bad", '{"owner": 7}')):
        (root / name).mkdir()
        (root / name / "run.json").write_text(text, encoding="utf-8")
    (root / "bare").mkdir()
    assert [run.state for run in registry.running(root)] == ["dead"] * 4
    assert "no network is running" in refused(None)[0]


def test_without_root_the_command_refuses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    text, code = refused(None)
    assert "as root" in text
    assert code == exits.MACHINE
    assert not list(root.iterdir())


@pytest.mark.parametrize("text", ["", "10", "ms", "-1s", "1 s", "1e3s", "1.s"])
def test_a_time_needs_a_number_and_a_unit(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 10ms"):
        seconds(text)


def test_words_for_a_link_become_a_request() -> None:
    assert request([]) == {"change": "show"}
    assert request(["down"]) == {"change": "down"}
    assert request(["delay", "30ms", "loss", "0.1", "back", "delay", "none", "queue_packets", "7"]) == {
        "change": "impair",
        "to": {"delay": "30ms", "loss": 0.1, "back": {"delay": None, "queue_packets": 7}},
    }
    for words in (["down", "up"], ["delay"], ["delay", "1ms", "back", "loss"], ["sideways"]):
        with pytest.raises(exits.CommandError):
            request(words)
