"""Capturing frames of a veth pair in a network namespace of the test's own."""

import errno
import os
import socket
import struct
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from fastpath.capture import Capture

ETHERTYPE = 0x88B5  # for local experiments: nobody else's frames bear it
ETH_P_ALL = 0x0003
PATIENCE_S = 20


def packet_socket(interface, protocol):
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    made.bind((interface, protocol))
    return made


@pytest.fixture
def wire(namespace):
    """near ---- far, joined by veth; sockets to capture at near and to send at both ends."""
    namespace.ip("link add near type veth peer name far")
    for end in ("near", "far"):
        namespace.ip(f"link set {end} addrgenmode none up")
    ends = {"tap": ("near", ETH_P_ALL), "near": ("near", 0), "far": ("far", 0)}
    sockets = namespace.call(lambda: {name: packet_socket(*where) for name, where in ends.items()})
    yield sockets
    for each in sockets.values():
        each.close()


def frame(number, size=60):
    return struct.pack("!6s6sHI", b"\2\0\0\0\0\1", b"\2\0\0\0\0\2", ETHERTYPE, number).ljust(size, b"\xaa")


def read_pcap(path):
    """(snap bytes, [(time_ns, original length, frame)]) of a nanosecond pcap, or an assertion fails."""
    data = path.read_bytes()
    magic, major, minor, _, _, snap, link = struct.unpack_from("=IHHiIII", data)
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 1)
    at, records = 24, []
    while at < len(data):
        seconds, nanoseconds, captured, original = struct.unpack_from("=IIII", data, at)
        at += 16
        assert at + captured <= len(data), "a record was cut short"
        records.append((seconds * 10**9 + nanoseconds, original, data[at : at + captured]))
        at += captured
    return snap, records


def numbers(records):
    return [struct.unpack_from("!I", f, 14)[0] for _, _, f in records if f[12:14] == b"\x88\xb5"]


@contextmanager
def capturing(tap, path, **options):
    capture = Capture([(tap.fileno(), str(path))], **options)
    thread = threading.Thread(target=capture.run)
    thread.start()
    try:
        yield capture
    finally:
        capture.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.mark.emu
def test_both_directions_are_captured_in_order_with_the_kernels_time(wire, tmp_path):
    before = time.time_ns()
    with capturing(wire["tap"], tmp_path / "near.pcap") as capture:
        for number in range(1000):
            wire["near" if number % 2 else "far"].send(frame(number, 60 + number))
    snap, records = read_pcap(tmp_path / "near.pcap")
    assert numbers(records) == list(range(1000))
    assert [f for _, _, f in records if f[12:14] == b"\x88\xb5"] == [frame(n, 60 + n) for n in range(1000)]
    stamps = [stamp for stamp, _, _ in records]
    assert before <= min(stamps)
    assert max(stamps) <= time.time_ns()
    assert snap == 262_144
    (counters,) = capture.counters()
    assert counters["packets"] == len(records)
    assert counters["bytes"] == sum(original for _, original, _ in records)
    assert {counters[k] for k in ("kernel_drops", "read_errors", "write_errors", "last_errno")} == {0}


@pytest.mark.emu
def test_what_the_sockets_hold_at_stop_is_drained(wire, tmp_path):
    """All frames are sent before the loop begins, and `stop` is called before that too."""
    capture = Capture([(wire["tap"].fileno(), str(tmp_path / "near.pcap"))])
    for number in range(3000):
        wire["far"].send(frame(number))
    capture.stop()
    capture.stop()
    capture.run()
    assert numbers(read_pcap(tmp_path / "near.pcap")[1]) == list(range(3000))


@pytest.mark.emu
def test_frames_beyond_the_snap_length_are_cut_and_say_how_long_they_were(wire, tmp_path):
    with capturing(wire["tap"], tmp_path / "near.pcap", snap_bytes=100):
        wire["far"].send(frame(1, 1000))
    snap, records = read_pcap(tmp_path / "near.pcap")
    assert snap == 100
    assert [(original, f) for _, original, f in records if f[12:14] == b"\x88\xb5"] == [(1000, frame(1, 100))]


@pytest.mark.emu
def test_frames_the_kernel_had_no_room_for_are_counted(wire, tmp_path):
    capture = Capture([(wire["tap"].fileno(), str(tmp_path / "near.pcap"))])
    wire["tap"].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for number in range(500):
        wire["far"].send(frame(number))
    assert capture.counters()[0]["kernel_drops"] > 0
    capture.stop()
    capture.run()
    got = numbers(read_pcap(tmp_path / "near.pcap")[1])
    assert capture.counters()[0]["kernel_drops"] == 500 - len(got) > 0


@pytest.mark.emu
def test_a_quiet_capture_brings_its_file_up_to_date(wire, tmp_path):
    """So that a kill loses little: the file is whole on disk while the capture still runs."""
    with capturing(wire["tap"], tmp_path / "near.pcap"):
        wire["far"].send(frame(7))
        deadline = time.monotonic() + PATIENCE_S
        while 7 not in numbers(read_pcap(tmp_path / "near.pcap")[1]):
            assert time.monotonic() < deadline
            os.sched_yield()


@pytest.mark.emu
def test_a_full_disk_is_counted_and_leaves_whole_records(wire, tmp_path):
    """A tmpfs of 256 KB takes some of 3 MB; what is there can be read to the end."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "cbn-test", str(disk)], check=True)
    try:
        (disk / "hog").write_bytes(bytes(100_000))
        capture = Capture([(wire["tap"].fileno(), str(disk / "near.pcap"))])
        for number in range(2200):
            wire["far"].send(frame(number, 1400))
        capture.stop()
        capture.run()
        (counters,) = capture.counters()
        records = read_pcap(disk / "near.pcap")[1]
        assert counters["packets"] == len(records)
        assert counters["write_errors"] == 2200 - len(numbers(records)) > 0
        assert counters["last_errno"] == errno.ENOSPC
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.emu
def test_an_interface_that_goes_away_ends_nothing(wire, namespace, tmp_path):
    with capturing(wire["tap"], tmp_path / "near.pcap") as capture:
        wire["far"].send(frame(1))
        namespace.ip("link del near")
        deadline = time.monotonic() + PATIENCE_S
        while capture.counters()[0]["read_errors"] == 0:
            assert time.monotonic() < deadline
            os.sched_yield()
    assert numbers(read_pcap(tmp_path / "near.pcap")[1]) == [1]


def test_a_descriptor_that_is_no_packet_socket_is_refused(tmp_path):
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        pytest.raises(OSError, match="cannot be captured from"),
    ):
        Capture([(udp.fileno(), str(tmp_path / "x.pcap"))])
    assert not (tmp_path / "x.pcap").exists()


@pytest.mark.emu
def test_a_file_that_cannot_be_made_is_named(wire, tmp_path):
    with pytest.raises(FileNotFoundError) as failed:
        Capture([(wire["tap"].fileno(), str(tmp_path / "none" / "x.pcap"))])
    assert failed.value.filename == str(tmp_path / "none" / "x.pcap")
