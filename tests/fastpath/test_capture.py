"""Capturing frames of a veth pair in a network namespace of the test's own."""

import errno
import os
import socket
import struct
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from fastpath.capture import Capture
from fastpath.pcap import decode_pcap
from fastpath.wire.codec import encode_ack
from nodes.wire.packets import PORT

pytestmark = pytest.mark.timed

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


@pytest.fixture(params=[True, False], ids=["ring", "batches"])
def rings(request):
    return request.param


@contextmanager
def capturing(tap, path, **options):
    capture = Capture([(tap.fileno(), str(path))], **options)
    assert capture.rings == int(options.get("rings", False))
    thread = threading.Thread(target=capture.run)
    thread.start()
    try:
        yield capture
    finally:
        capture.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.mark.emu
def test_both_directions_are_captured_in_order_with_the_kernels_time(wire, tmp_path, rings):
    before = time.time_ns()
    with capturing(wire["tap"], tmp_path / "near.pcap", rings=rings) as capture:
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
    assert counters["files"] == 1
    lost = ("kernel_drops", "read_errors", "write_errors", "last_errno", "gone", "unfinished_checksums")
    assert {counters[k] for k in lost} == {0}


@pytest.mark.emu
def test_what_the_sockets_hold_at_stop_is_drained(wire, tmp_path, rings):
    """All frames are sent before the loop begins, and `stop` is called before that too."""
    capture = Capture([(wire["tap"].fileno(), str(tmp_path / "near.pcap"))], rings=rings)
    for number in range(3000):
        wire["far"].send(frame(number))
    capture.stop()
    capture.stop()
    capture.run()
    assert numbers(read_pcap(tmp_path / "near.pcap")[1]) == list(range(3000))


@pytest.mark.emu
def test_frames_beyond_the_snap_length_are_cut_and_say_how_long_they_were(wire, tmp_path, rings):
    with capturing(wire["tap"], tmp_path / "near.pcap", snap_bytes=100, rings=rings):
        wire["far"].send(frame(1, 1000))
    snap, records = read_pcap(tmp_path / "near.pcap")
    assert snap == 100
    assert [(original, f) for _, original, f in records if f[12:14] == b"\x88\xb5"] == [(1000, frame(1, 100))]


@pytest.mark.emu
def test_a_frame_as_long_as_offloading_makes_them_is_captured_whole(wire, namespace, tmp_path, rings):
    """The largest that fits a UDP datagram; a ring's block has room for it even when memory is scarce."""
    for end in ("near", "far"):
        namespace.ip(f"link set {end} mtu 65535")
    with capturing(wire["tap"], tmp_path / "near.pcap", memory_bytes=1, rings=rings):
        wire["far"].send(frame(1, 65_549))
    assert numbers(read_pcap(tmp_path / "near.pcap")[1]) == [1]
    assert read_pcap(tmp_path / "near.pcap")[1][0][2] == frame(1, 65_549)


@pytest.mark.emu
def test_frames_there_was_no_room_for_are_counted(wire, tmp_path, rings):
    tap = [(wire["tap"].fileno(), str(tmp_path / "near.pcap"))]
    capture = Capture(tap, snap_bytes=200, memory_bytes=1, rings=rings)
    assert capture.ring_bytes == (3 * 32_768 if rings else 0)
    if not rings:
        wire["tap"].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for number in range(3000):
        wire["far"].send(frame(number))
    assert capture.counters()[0]["kernel_drops"] > 0
    capture.stop()
    capture.run()
    got = numbers(read_pcap(tmp_path / "near.pcap")[1])
    assert capture.counters()[0]["kernel_drops"] == 3000 - len(got) > 0
    assert got == list(range(len(got)))


@pytest.mark.emu
def test_stamps_are_in_emulated_time(wire, tmp_path):
    """E: t = from + (t_real - from) / N."""
    began = time.time_ns()
    with capturing(wire["tap"], tmp_path / "near.pcap", dilate=1000, dilate_from_ns=began):
        wire["far"].send(frame(1))
    (stamp, _, _) = read_pcap(tmp_path / "near.pcap")[1][0]
    assert began <= stamp <= began + (time.time_ns() - began) // 1000


@pytest.mark.emu
def test_checksums_that_were_left_to_the_device_are_read_as_good(wire, namespace, tmp_path, rings):
    """A UDP datagram over a bare veth bears the sum of its pseudo-header alone."""
    for end, number in (("near", 1), ("far", 2)):
        namespace.ip(f"address add 10.9.0.{number}/30 dev {end}")
    payload = encode_ack(1, 2, 3, 4)

    def send():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"near")
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            for _ in range(5):
                sender.sendto(payload, ("10.9.0.3", PORT))

    with capturing(wire["tap"], tmp_path / "near.pcap", rings=rings) as capture:
        namespace.call(send)
    assert capture.counters()[0]["unfinished_checksums"] == (5 if rings else 0)
    batch, counts = decode_pcap(tmp_path / "near.pcap")
    assert (batch.num_rows, counts["bad_checksum"]) == (5, 0)


@pytest.mark.emu
def test_an_interface_that_is_cut_and_mended_is_captured_again(wire, namespace, tmp_path, rings):
    """A link that a fault takes down tells it once, and keeps nobody busy."""
    with capturing(wire["tap"], tmp_path / "near.pcap", rings=rings) as capture:
        wire["far"].send(frame(1))
        namespace.ip("link set near down")
        namespace.ip("link set near up")
        deadline = time.monotonic() + PATIENCE_S
        while capture.counters()[0]["packets"] < 2:
            assert time.monotonic() < deadline
            with suppress(OSError):  # until the carrier is back
                wire["far"].send(frame(2))
            os.sched_yield()
    counters = capture.counters()[0]
    assert (counters["read_errors"], counters["gone"]) == (1, 0)
    assert numbers(read_pcap(tmp_path / "near.pcap")[1])[0] == 1


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
def test_an_interface_that_goes_away_ends_nothing_and_is_said(wire, namespace, tmp_path, rings):
    with capturing(wire["tap"], tmp_path / "near.pcap", rings=rings) as capture:
        wire["far"].send(frame(1))
        namespace.ip("link del near")
        deadline = time.monotonic() + PATIENCE_S
        while capture.counters()[0]["read_errors"] == 0:
            assert time.monotonic() < deadline
            os.sched_yield()
    assert capture.counters()[0]["gone"] == 1
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
