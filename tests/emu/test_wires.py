"""The process that carries wires: what it makes of its orders, and what it leaves behind."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from nodes.daemon.kernel import inside_network_of, interface_counts
from testbed.emu.links.cable import Cable, End
from testbed.emu.links.wire_process import Orders
from testbed.plan.model import Impairment, link_seed
from tests.emu.links_lab import Lab

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
UDP_SEGMENT = 103
NOTHING = Impairment()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Two namespaces, and nothing between them."""
    with Lab(tmp_path, "wire", []) as made:
        yield made


def order(lab: Lab, **changes: Any) -> Orders:
    a, b = (End(lab.pid(node), f"{node}-eth0", f"02:00:00:00:00:0{at}") for at, node in enumerate("ab"))
    wire = Cable("a--b", a, b, 1500, NOTHING, NOTHING)
    return Orders(seed=7, dilate=1, wires=(replace(wire, **changes),))


class Process:
    """The process, and what it says."""

    def __init__(self, orders: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "testbed.emu.links.wire_process", str(orders)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def received(self) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(self._out.readline())
        return reply

    def ask(self, command: object) -> dict[str, Any]:
        self._in.write((command if isinstance(command, str) else json.dumps(command)) + "\n")
        self._in.flush()
        return self.received()


@contextmanager
def carrying(folder: Path, text: str) -> Iterator[Process]:
    path = folder / "orders.json"
    path.write_text(text, encoding="utf-8")
    made = Process(path)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@pytest.mark.emu
def test_the_end_of_its_input_ends_it_and_leaves_taps_that_carry_nothing(lab: Lab, tmp_path: Path) -> None:
    with carrying(tmp_path, order(lab).to_json()) as wires:
        assert wires.received()["ok"] is True
        assert "a-eth0" in interface_counts(lab.pid("a"), "a")
        assert wires.process.communicate(timeout=20) == ("", "")
        assert wires.process.returncode == 0
    with inside_network_of(lab.pid("a"), "a"):
        subprocess.run(["ip", "link", "set", "a-eth0", "up"], check=True)
        shown = subprocess.run(["ip", "link", "show", "a-eth0"], capture_output=True, text=True, check=True)
    assert "NO-CARRIER" in shown.stdout


@pytest.mark.emu
def test_interfaces_are_made_as_planned(lab: Lab, tmp_path: Path) -> None:
    with carrying(tmp_path, order(lab, mtu=9000).to_json()) as wires:
        wires.received()
        with inside_network_of(lab.pid("b"), "b"):
            shown = subprocess.run(
                ["ip", "-json", "link", "show", "b-eth0"], capture_output=True, text=True, check=True
            )
    (row,) = json.loads(shown.stdout)
    assert (row["address"], row["mtu"], row["txqlen"]) == ("02:00:00:00:00:01", 9000, 10_000)
    assert "UP" not in row["flags"]


SENSELESS = [
    "this is no JSON",
    "[]",
    "{}",
    {"do": "dance"},
    {"do": "take_down"},
    {"do": "take_down", "link": 5},
    {"do": "bring_up", "link": "x--y"},
    {"do": "impair", "link": "a--b"},
    {"do": "impair", "link": "a--b", "impairment": {"loss": 2}, "back": {}},
    {"do": "impair", "link": "a--b", "impairment": {"loss": "much"}, "back": {}},
    {"do": "impair", "link": "a--b", "impairment": {"speed": 2}, "back": {}},
    {"do": "impair", "link": "a--b", "impairment": {}, "back": {"delay_ns": 10**30}},
    "x" * 100_000,
]


@pytest.mark.emu
def test_a_command_that_makes_no_sense_is_answered_and_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    with carrying(tmp_path, order(lab).to_json()) as wires:
        wires.received()
        for command in SENSELESS:
            assert len(wires.ask(command)["error"]) < 400, command
            assert wires.ask({"do": "take_down", "link": "a--b"}) == {"ok": True, "result": None}
        assert len(wires.ask({"do": "measures"})["result"]) == 2


@pytest.mark.emu
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "these are no orders"),
        ("[]", "these are no orders"),
        ('{"wires": [{}], "seed": 1, "dilate": 1}', "these are no orders"),
        ('{"wires": [], "seed": 1, "dilate": 1, "more": 2}', "these are no orders"),
        ('{"wires": [], "seed": 1, "dilate": 1}', "there are no wires in them"),
    ],
)
def test_orders_that_are_none_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    assert complaint in refused(tmp_path, text)


@pytest.mark.emu
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"a": {"name": "a-name-too-long-"}}, "is no name for an interface"),
        ({"a": {"name": "a/b"}}, "making the tap"),
        ({"a": {"mac": "01:00:00:00:00:01"}}, "a-eth0: setting its address 01:00:00:00:00:01"),
        ({"a": {"pid": 2**22}}, "No such file"),
        ({"mtu": 10}, "a-eth0: setting its MTU 10: Invalid argument"),
        ({"impairment": {"loss": 7.0}}, "loss is 7"),
        ({"b": {"name": "a-eth0", "pid": "a"}}, "making the tap"),
    ],
    ids=str,
)
def test_a_wire_that_cannot_be_made_ends_it_with_the_reason(
    lab: Lab, tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    raw = json.loads(order(lab).to_json())
    for key, value in changes.items():
        if isinstance(value, dict):
            raw["wires"][0][key] |= value
        else:
            raw["wires"][0][key] = value
    if raw["wires"][0]["b"]["pid"] == "a":
        raw["wires"][0]["b"]["pid"] = lab.pid("a")
    assert complaint in refused(tmp_path, json.dumps(raw))


def refused(folder: Path, text: str) -> str:
    with carrying(folder, text) as wires:
        error = str(wires.received()["error"])
        assert wires.process.wait(20) == 2
    return error


@pytest.mark.emu
def test_what_the_kernel_could_not_hand_over_is_an_overrun(lab: Lab, tmp_path: Path) -> None:
    """One send makes 60 frames at once, and the tap has room for two."""
    orders = replace(order(lab), tap_queue_frames=2)
    with carrying(tmp_path, orders.to_json()) as wires:
        wires.received()
        for node, at in (("a", 1), ("b", 2)):
            there = f"10.9.0.{3 - at} lladdr 02:00:00:00:00:0{2 - at}"
            for line in (
                f"address add 10.9.0.{at}/24 dev {node}-eth0",
                f"link set {node}-eth0 up",
                f"neighbour replace {there} dev {node}-eth0 nud permanent",
            ):
                subprocess.run([*lab.inside(node), "ip", *line.split()], check=True)
        with inside_network_of(lab.pid("a"), "a"):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sock:
            segment = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", 1000))]
            for _ in range(20):
                sock.sendmsg([b"x" * 60_000], segment, 0, ("10.9.0.2", 9))
        reported = wires.ask({"do": "measures"})["result"][0]
    assert reported["frames"] == 1200
    assert reported["overruns"] == 1200 - reported["delivered"] > 0


def test_each_way_of_each_link_has_a_seed_of_its_own_and_the_seed_decides() -> None:
    ways = ((7, "a--b", "a"), (7, "a--b", "b"), (7, "a--c", "a"), (8, "a--b", "a"))
    seeds = [link_seed(*way) for way in ways]
    assert len({*seeds}) == 4
    assert link_seed(7, "a--b", "a") == seeds[0]


def test_orders_are_read_as_they_were_written() -> None:
    wire = Cable("l", End(1, "x", "m"), End(2, "y", "n"), 1500, NOTHING, Impairment(5, loss=0.1))
    orders = Orders(seed=3, dilate=2, wires=(wire,))
    assert Orders.from_json(orders.to_json()) == orders
    assert asdict(orders)["wires"][0]["back"]["loss"] == 0.1
