"""What the simulator captures can be read by others, is right, and agrees at both ends of a link."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader, rdpcap

from fastpath.capture import CaptureWriter
from fastpath.wire.codec import split_datagram

pytestmark = pytest.mark.sim

Record = tuple[int, bytes]


def records(path: Path) -> list[Record]:
    """(time_ns, frame), read by hand: the format is the claim."""
    data = path.read_bytes()
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
    return list(_records(data))


def _records(data: bytes) -> Iterator[Record]:
    at = 24
    while at < len(data):
        seconds, nanoseconds, kept, size = struct.unpack_from("<IIII", data, at)
        assert nanoseconds < 10**9
        assert kept == size
        yield seconds * 10**9 + nanoseconds, data[at + 16 : at + 16 + kept]
        at += 16 + kept
    assert at == len(data)


@pytest.fixture
def run(triangle: dict[str, Any], simulate: Callable[..., Any]) -> Any:
    triangle["topology"]["link_defaults"] = {"delay": "2ms", "jitter": "1ms"}
    return simulate(triangle)


def test_there_is_one_capture_for_each_router_interface_and_the_index_says_which(run: Any) -> None:
    rows = run.index["interfaces"]
    files = sorted(path.name for path in (run.path / "captures").glob("*.pcap"))
    assert files == sorted(row["file"] for row in rows)
    assert [(r["node_id"], r["interface"]) for r in rows] == [
        (1, "r1-eth0"), (1, "r1-eth1"), (1, "r1-eth2"),
        (2, "r2-eth0"), (2, "r2-eth1"), (2, "r2-eth2"),
        (3, "r3-eth0"), (3, "r3-eth1"), (3, "r3-eth2"),
    ]  # fmt: skip
    for row in rows:
        found = records(run.path / "captures" / row["file"])
        assert (row["frames"], row["bytes"]) == (len(found), sum(len(frame) for _, frame in found))
        assert row["drops"] == 0
    assert [(r["peer"], r["peer_id"], r["peer_role"]) for r in rows if r["peer_role"] == "client"] == [
        ("alice", 4, "client"), ("bob", 5, "client"), ("carol", 6, "client")
    ]  # fmt: skip
    assert run.index["start_ns"] == run.outcome.start_ns


def test_records_are_in_order_of_time(run: Any) -> None:
    for path in (run.path / "captures").glob("*.pcap"):
        times = [time_ns for time_ns, _ in records(path)]
        assert times == sorted(times)


def test_a_rate_leaves_the_records_in_order_of_time(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    triangle["topology"]["link_defaults"] = {"rate": "200kbit", "delay": "1ms"}
    test_records_are_in_order_of_time(simulate(triangle))


def test_every_frame_carries_cbn_packets_from_one_end_of_the_link_to_the_other(run: Any) -> None:
    for row in run.index["interfaces"]:
        for _, raw in records(run.path / "captures" / row["file"]):
            frame = Ether(raw)
            assert row["mac"] in (frame.src, frame.dst)
            assert split_datagram(bytes(frame[UDP].payload))


def test_checksums_are_those_that_scapy_computes(run: Any) -> None:
    for packet in rdpcap(str(run.path / "captures" / "r1-eth0.pcap")):
        blank = packet.copy()
        del blank[IP].chksum, blank[UDP].chksum
        assert bytes(blank) == bytes(packet)


def test_scapy_reads_the_time_stamps_to_the_nanosecond(run: Any) -> None:
    path = run.path / "captures" / "r1-eth2.pcap"
    read = [int(packet.time * 10**9) for packet in rdpcap(str(path))]
    assert read == [time_ns for time_ns, _ in records(path)]


def test_what_one_end_sent_is_what_the_other_end_received_later(run: Any) -> None:
    """Without loss, the captures at both ends of a link hold the same frames, apart by the delay."""
    rows = {row["interface"]: row for row in run.index["interfaces"]}
    by_mac = {row["mac"]: row for row in rows.values()}
    compared = 0
    for row in rows.values():
        sent = [(t, f) for t, f in records(run.path / "captures" / row["file"]) if Ether(f).src == row["mac"]]
        peer = by_mac.get(Ether(sent[0][1]).dst)
        if peer is None:
            continue
        got = [(t, f) for t, f in records(run.path / "captures" / peer["file"]) if Ether(f).src == row["mac"]]
        # Only what was still on its way at the end has not arrived.
        last = run.outcome.end_ns - 3_000_000
        assert {f for t, f in sent if t < last} <= {f for _, f in got} <= {f for _, f in sent}
        compared += len(got)
    assert compared > 20


def test_the_events_and_the_captures_tell_the_same_deliveries(run: Any) -> None:
    leaving = 0
    for row in run.index["interfaces"]:
        if row["peer_role"] == "client":
            for _, raw in records(run.path / "captures" / row["file"]):
                frame = Ether(raw)
                packets = split_datagram(bytes(frame[UDP].payload))
                leaving += frame.src == row["mac"] and sum(kind == 1 for kind, _, _ in packets)
    assert leaving == len(run.deliveries()) > 0


def test_frames_beyond_the_snap_length_are_cut_and_say_so(tmp_path: Path) -> None:
    capture = CaptureWriter(tmp_path / "x.pcap", snap_bytes=64)
    capture.record(1_500_000_000, bytes(range(100)))
    capture.record(1_500_000_001, bytes(10))
    capture.flush()
    (first, meta), (second, _) = list(RawPcapReader(capture.path))
    assert (first, meta.caplen, meta.wirelen) == (bytes(range(64)), 64, 100)
    assert second == bytes(10)
    assert capture.frame_bytes == 110


def test_a_capture_without_packets_is_a_valid_file(tmp_path: Path) -> None:
    capture = CaptureWriter(tmp_path / "x.pcap", snap_bytes=64)
    capture.flush()
    assert list(RawPcapReader(capture.path)) == []


def test_captures_of_the_simulator_can_be_pcapng_in_several_files_and_are_the_same_each_time(
    triangle: dict[str, Any], simulate: Callable[..., Any]
) -> None:
    triangle["clients"]["alice"]["publish"][0]["count"] = 300
    triangle["record"] = {"format": "pcapng", "rotate": "10KiB", "clients": True}
    first, second = simulate(triangle), simulate(triangle)
    rows = first.index["interfaces"]
    assert sum(row["role"] == "client" for row in rows) == 3
    files = [name for row in rows for name in row["files"]]
    assert len(files) > len(rows)
    assert sorted(files) == sorted(path.name for path in (first.path / "captures").glob("*.pcapng"))
    for name in files:
        assert (first.path / "captures" / name).read_bytes() == (second.path / "captures" / name).read_bytes()
    for row in rows:
        found = [packet for name in row["files"] for packet in rdpcap(str(first.path / "captures" / name))]
        assert len(found) == row["frames"]
