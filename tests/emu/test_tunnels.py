"""Links to other machines: each end is a process of its own, and frames are datagrams between the two.

a ~~~ tap, process --- UDP over loopback --- process, tap ~~~ b
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from nodes.daemon.kernel import inside_network_of
from testbed.emu.links.cable import End, Tunnel
from testbed.emu.links.carried import Place
from testbed.emu.links.tunnel import open_tunnel, room
from testbed.emu.links.wire import WireProcess
from testbed.emu.links.wire_process import note_pieces
from testbed.live.fabric import NetworkError
from testbed.plan.model import Impairment
from tests.emu.links_lab import Lab

pytestmark = [pytest.mark.emu, pytest.mark.timed]

NOTHING = Impairment()
MACS = {"a": "02:00:00:00:00:0a", "b": "02:00:00:00:00:0b"}
ADDRESSES = {"a": "10.9.0.1", "b": "10.9.0.2"}
HOSTS = {"a": "127.0.0.1", "b": "127.0.0.2"}
Ends = dict[str, WireProcess]
Start = Callable[..., WireProcess]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Two namespaces, and nothing between them."""
    with Lab(tmp_path, "wire", []) as made:
        yield made


@pytest.fixture
def start(lab: Lab, tmp_path: Path) -> Iterator[Start]:
    """`start("a")`: the process of one end, with the other end's address."""
    port = free_port()
    with ExitStack() as made:

        def one(end: str, **changes: Any) -> WireProcess:
            other = "b" if end == "a" else "a"
            folder = tmp_path / end
            folder.mkdir(exist_ok=True)
            tunnel = Tunnel(
                "a--b",
                End(lab.pid(end), f"{end}-eth0", MACS[end]),
                1500,
                NOTHING,
                end == "a",
                port,
                HOSTS[other],
                HOSTS[end],
            )
            place = Place(dict(os.environ), folder, folder)
            process = WireProcess([], place, [replace(tunnel, **changes)])
            made.callback(process.stop)
            for words in (
                f"address add {ADDRESSES[end]}/24 dev {end}-eth0",
                f"link set {end}-eth0 up",
                # Told from the start: a question for it that a link loses is asked again a second later.
                f"neighbour replace {ADDRESSES[other]} lladdr {MACS[other]} dev {end}-eth0 nud permanent",
            ):
                with inside_network_of(lab.pid(end), end):
                    subprocess.run(["ip", *words.split()], check=True)
            return process

        yield one


def ping(lab: Lab, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["mnexec", "-a", str(lab.pid("a")), "ping", "-n", "-W", "1", *options, ADDRESSES["b"]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def times_ms(done: subprocess.CompletedProcess[str]) -> list[float]:
    rows = [line for line in done.stdout.splitlines() if "time=" in line]
    return [float(row.partition("time=")[2].split()[0]) for row in rows]


def test_frames_reach_the_other_machine_whole_and_both_ways(lab: Lab, start: Start) -> None:
    start("a"), start("b")
    assert len(times_ms(ping(lab, "-c", "5", "-i", "0.05"))) == 5
    assert len(times_ms(ping(lab, "-c", "1", "-s", "1472", "-M", "do"))) == 1


def test_each_machine_does_to_frames_what_the_link_does_where_they_enter(lab: Lab, start: Start) -> None:
    start("a", impairment=Impairment(delay_ns=20_000_000)), start("b")
    assert 20 <= min(times_ms(ping(lab, "-c", "5", "-i", "0.05"))) < 35


def test_an_impairment_of_both_ways_is_split_between_the_machines(lab: Lab, start: Start) -> None:
    ends = {name: start(name) for name in "ab"}
    there, back = Impairment(delay_ns=10_000_000), Impairment(delay_ns=30_000_000)
    for process in ends.values():
        process.ask("impair", link="a--b", impairment=asdict(there), back=asdict(back))
    assert 40 <= min(times_ms(ping(lab, "-c", "5", "-i", "0.05"))) < 60


def test_a_link_that_is_down_carries_nothing_and_then_again(lab: Lab, start: Start) -> None:
    ends = {name: start(name) for name in "ab"}
    ends["b"].ask("take_down", link="a--b")
    assert times_ms(ping(lab, "-c", "1")) == []
    ends["b"].ask("bring_up", link="a--b")
    assert len(times_ms(ping(lab, "-c", "1", "-W", "10"))) == 1


def test_an_end_that_nobody_listens_at_yet_is_reached_once_somebody_does(lab: Lab, start: Start) -> None:
    first = start("a")
    assert times_ms(ping(lab, "-c", "1")) == []
    start("b")
    assert len(times_ms(ping(lab, "-c", "3", "-i", "0.05"))) == 3
    assert first.child.death() is None


def test_each_machine_counts_what_entered_its_end(lab: Lab, start: Start) -> None:
    ends = {name: start(name, impairment=Impairment(loss=1.0 if name == "b" else 0.0)) for name in "ab"}
    ping(lab, "-c", "2", "-i", "0.05")
    (from_a,), (from_b,) = (ends[name].ask("measures") for name in "ab")
    assert (from_a["source"], from_b["source"]) == ("a-eth0", "b-eth0")
    assert from_a["delivered"] == from_a["frames"] >= 2
    assert from_b["delivered"] == 0
    assert from_b["lost"] == from_b["frames"] >= 1


def test_a_network_that_is_narrower_than_the_frames_takes_them_in_pieces(lab: Lab) -> None:
    tunnel = Tunnel(
        "a--b", End(lab.pid("a"), "a-eth0", MACS["a"]), 1500, NOTHING, True, 61_900, HOSTS["b"], HOSTS["a"]
    )
    with inside_network_of(lab.pid("a"), "a"), ExitStack() as made:
        subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
        there = made.enter_context(open_tunnel(tunnel))
        back = made.enter_context(
            open_tunnel(replace(tunnel, address=tunnel.peer_address, peer_address=tunnel.address))
        )
        assert room(there) == 1458
        before = sent_in_pieces()
        for frame in (b"1" * 1472, b"2" * 1514):
            there.send(frame)
            back.settimeout(5)
            assert back.recv(2000) == frame
        assert sent_in_pieces() == before + 1


def sent_in_pieces() -> int:
    """How many datagrams this network namespace has cut into pieces (FragOKs)."""
    names, counts = (
        line.split()
        for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()
        if line.startswith("Ip:")
    )
    return int(counts[names.index("FragOKs")])


def test_a_log_names_links_whose_frames_go_in_pieces(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    tunnel = Tunnel("a--b", End(lab.pid("a"), "a-eth0", MACS["a"]), 1500, NOTHING, True, 61_900, HOSTS["b"])
    note_pieces(tunnel, 1500)
    assert capfd.readouterr().err == ""
    note_pieces(tunnel, 1458)
    assert "a--b: frames of more than 1,472 bytes go to 127.0.0.2 in pieces" in capfd.readouterr().err


def test_a_frame_that_no_datagram_has_room_for_is_refused(start: Start) -> None:
    with pytest.raises(NetworkError, match=r"its MTU is 65500, .*: give the link `mtu: 65493` or less"):
        start("a", mtu=65_500)


def test_a_port_that_is_taken_is_named(lab: Lab, start: Start) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((HOSTS["a"], 0))
        port = taken.getsockname()[1]
        with pytest.raises(
            NetworkError, match=rf"a--b to 127.0.0.2, UDP port {port}: Address already in use"
        ):
            start("a", port=port)
