"""Captures of an emulated run: all of it, from the first packet, and nothing else."""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fastpath.pcap import decode_pcap
from fastpath.wire.codec import split_datagram
from nodes.wire.packets import PORT, PacketType, Role
from testbed.emu.world import EmulatedWorld
from testbed.plan.load import load_plan

pytestmark = pytest.mark.emu
ICMP, UDP = 1, 17
PORT_UNREACHABLE = b"\x03\x03"
HEADERS = 14 + 20 + 8


def frames(path: Path) -> list[tuple[int, bytes]]:
    """(time, frame) of a nanosecond pcap."""
    data = path.read_bytes()
    magic, _, _, _, _, _, linktype = struct.unpack_from("<IHHiIII", data)
    assert (magic, linktype) == (0xA1B23C4D, 1)
    found, at = [], 24
    while at < len(data):
        seconds, nanoseconds, kept, size = struct.unpack_from("<IIII", data, at)
        assert kept == size
        found.append((seconds * 1_000_000_000 + nanoseconds, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return found


def kinds(captured: list[tuple[int, bytes]]) -> Counter[PacketType]:
    rows = [(t, frame) for t, frame in captured if frame[23] == UDP]
    return Counter(PacketType(kind) for _, frame in rows for kind, _, _ in split_datagram(frame[HEADERS:]))


@pytest.fixture
def recorded(bed: Any) -> Any:
    """A complete run with captures: (plan, outcome, index rows by interface, frames by interface)."""
    plan = bed.plan(captures=True)
    outcome = bed.run(plan)
    assert outcome.outcome == "complete", outcome.message
    index = json.loads((bed.out / "captures" / "index.json").read_text())
    rows = {row["interface"]: row for row in index["interfaces"]}
    return (
        plan,
        outcome,
        rows,
        {name: frames(bed.out / "captures" / row["file"]) for name, row in rows.items()},
    )


def test_every_router_interface_is_captured_and_described(recorded: Any) -> None:
    plan, outcome, rows, captured = recorded
    interfaces = [(node, i) for node in plan.routers for i in node.interfaces]
    ids = {node.name: (node.node_id, node.role) for node in plan.nodes}
    assert list(rows) == [i.name for _, i in interfaces]
    for node, i in interfaces:
        row = rows[i.name]
        assert (row["node"], row["node_id"], row["mac"]) == (node.name, node.node_id, i.mac)
        assert (row["peer"], row["peer_id"]) == (i.peer, ids[i.peer][0])
        assert row["peer_role"] == ids[i.peer][1].name.lower()
        assert row["link"] == plan.links[i.link].name
        assert row["frames"] == len(captured[i.name]) > 0
        assert row["bytes"] == sum(len(frame) for _, frame in captured[i.name])
        assert row["drops"] == 0
    assert outcome.captured_frames == sum(len(c) for c in captured.values())
    assert outcome.capture_drops == 0


def test_nothing_but_the_networks_own_packets_is_on_a_link(recorded: Any) -> None:
    """No ARP, no IPv6: every frame is IPv4 and UDP between the two ends of the link.

    But for one thing: a node that is not up yet, or no more, answers a HELLO with an ICMP message.
    """
    plan, _, _, captured = recorded
    for node in plan.routers:
        for i in node.interfaces:
            ends = {bytes.fromhex(mac.replace(":", "")) for mac in (i.mac, i.peer_mac)}
            for _, frame in captured[i.name]:
                assert {frame[:6], frame[6:12]} == ends
                assert (frame[12:14], frame[23] in (UDP, ICMP)) == (b"\x08\x00", True)
                if frame[23] == ICMP:
                    assert frame[34:36] == PORT_UNREACHABLE
                    continue
                assert struct.unpack_from("!HH", frame, 34) == (PORT, PORT)


def test_the_first_packet_of_every_link_is_the_first_hello(recorded: Any) -> None:
    """What says hello first knows of nobody yet."""
    _, outcome, _, captured = recorded
    for name, rows in captured.items():
        first = rows[0][1][HEADERS:]
        assert first[1] == PacketType.HELLO, name
        assert struct.unpack_from("!I", first, 12) == (0,), name
        assert rows[0][0] < outcome.start_ns


def test_the_captures_hold_exactly_the_messages_that_the_routers_counted(recorded: Any, bed: Any) -> None:
    plan, _, _, captured = recorded
    for node in plan.routers:
        status = json.loads((bed.out / "logs" / f"{node.name}.status.json").read_text())
        for row in status["interfaces"]:
            counted = row["tx_messages"] + row["rx_messages"]
            assert kinds(captured[row["name"]])[PacketType.MESSAGE] == counted, row["name"]


def test_what_subscribers_took_is_what_stands_on_their_access_links(recorded: Any, bed: Any) -> None:
    plan, outcome, _, captured = recorded
    deliveries = Counter(node for _, _, node in bed.delivered().elements())
    for router in plan.routers:
        for i in router.interfaces:
            client = next(n for n in plan.nodes if n.name == i.peer)
            if client.role is Role.CLIENT:
                mac = bytes.fromhex(i.mac.replace(":", ""))
                sent = [(t, frame) for t, frame in captured[i.name] if frame[6:12] == mac]
                assert kinds(sent)[PacketType.MESSAGE] == deliveries[client.name]
                assert max(t for t, _ in sent) < outcome.end_ns + 10_000_000_000


def test_an_interface_that_is_not_there_fails_the_run_and_is_named(bed: Any, monkeypatch: Any) -> None:
    from testbed.emu.recorder import Recorder

    plan = bed.plan(captures=True)
    start = Recorder.start
    nobody = 2**22  # no process has this id
    monkeypatch.setattr(Recorder, "start", lambda self, _, *more: start(self, lambda node: nobody, *more))
    outcome = bed.run(plan)
    assert outcome.outcome == "failed"
    bed.assert_nothing_is_left()


def test_a_full_disk_is_reported_once_and_leaves_what_can_be_read(bed: Any, progress: Any) -> None:
    """The captures are on a tmpfs with room for few frames; the network does not notice."""
    plan = bed.plan(captures=True)
    directory = bed.directory()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "cbn-test", str(directory.captures)], check=True
    )
    try:
        outcome = EmulatedWorld().run(plan, directory, progress)
        assert outcome.outcome == "failed"
        assert "No space left on device" in outcome.message
        assert sum("the captures lost" in line for line in progress.lines) == 1
        assert outcome.capture_drops > 0
        files = list(directory.captures.glob("*.pcap"))
        assert len(files) == 9
        assert outcome.captured_frames == sum(len(frames(file)) for file in files)
    finally:
        subprocess.run(["umount", str(directory.captures)], check=True)
    assert bed.delivered() == bed.owed()
    bed.assert_nothing_is_left()


def test_a_file_that_cannot_be_written_fails_the_run_and_is_named(bed: Any, progress: Any) -> None:
    plan = bed.plan(captures=True)
    directory = bed.directory()
    (directory.captures / "r2-eth1.pcap").mkdir()
    outcome = EmulatedWorld().run(plan, directory, progress)
    assert outcome.outcome == "failed"
    assert "cannot capture" in outcome.message
    assert "r2-eth1.pcap" in outcome.message
    bed.assert_nothing_is_left()


def test_clients_in_several_pcapng_files(bed: Any) -> None:
    plan = load_plan(
        bed.scenario(captures=True),
        overrides={"record.clients": "true", "record.format": "pcapng", "record.rotate": "10KiB"},
    )
    outcome = bed.run(plan)
    assert outcome.outcome == "complete", outcome.message
    rows = json.loads((bed.out / "captures" / "index.json").read_text())["interfaces"]
    assert [row["interface"] for row in rows] == [i.name for node in plan.nodes for i in node.interfaces]
    assert [row["node"] for row in rows if row["role"] == "client"] == ["a", "b", "c"]
    assert any(len(row["files"]) > 1 for row in rows)
    for row in rows:
        found = [decode_pcap(bed.out / "captures" / name, mac=row["mac"])[1] for name in row["files"]]
        assert sum(counts["records"] for counts in found) == row["frames"] > 0
        assert sum(counts["truncated_file"] + counts["bad_block"] for counts in found) == 0
    assert outcome.captured_frames == sum(row["frames"] for row in rows)
