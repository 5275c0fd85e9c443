"""What capturing leaves on disk: formats, several files, indexes, and disks that take no more."""

import errno
import re
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgReader, RawPcapReader

from fastpath.capture import CaptureWriter
from tests.fastpath.captures import fragments, frame, message

FRAMES = st.lists(st.tuples(st.integers(0, 2**62), st.binary(max_size=200)), max_size=60)
READERS = {"pcap": RawPcapReader, "pcapng": RawPcapNgReader}


def frames_in(path, kind):
    return [data for data, _ in READERS[kind](str(path))]


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
@pytest.mark.parametrize("rotate", [0, 700])
def test_whatever_is_written_is_read_by_others_file_by_file(tmp_path, kind, rotate):
    @settings(max_examples=60, deadline=None)
    @given(FRAMES)
    def check(frames):
        path = tmp_path / f"x.{kind}"
        writer = CaptureWriter(path, 100, format=kind, rotate_bytes=rotate, buffer_bytes=300)
        for time_ns, data in frames:
            writer.record(time_ns, data)
        writer.close()
        files = [path, *[tmp_path / f"x.{n}.{kind}" for n in range(1, writer.files)]]
        assert [data for file in files for data in frames_in(file, kind)] == [
            data[:100] for _, data in frames
        ]
        assert (writer.packets, writer.frame_bytes) == (len(frames), sum(len(data) for _, data in frames))
        assert rotate or writer.files == 1
        if rotate:
            assert all(len(frames_in(file, kind)) > 0 for file in files[1:])
            assert all(file.stat().st_size <= rotate + 400 for file in files)

    check()


def test_a_pcapng_file_names_its_interface_its_clock_and_what_was_lost(tmp_path):
    writer = CaptureWriter(tmp_path / "x.pcapng", 2048, format="pcapng", name="r1-eth0")
    writer.record(2**40 + 5, frame(message()))
    writer.close()
    data, at, blocks = (tmp_path / "x.pcapng").read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        blocks.append((kind, data[at + 8 : at + length - 4]))
        at += length
    assert [kind for kind, _ in blocks] == [0x0A0D0D0A, 1, 6, 5]
    assert blocks[1][1] == struct.pack("<HHI", 1, 0, 2048) + (
        b"\x02\0\x07\0r1-eth0\0" + b"\x09\0\x01\0\x09\0\0\0" + b"\0\0\0\0"
    )
    assert struct.unpack_from("<III", blocks[2][1]) == (0, 2**8, 5)
    assert blocks[3][1][12:] == struct.pack("<HHQHHQI", 4, 8, 1, 5, 8, 0, 0)


def test_the_fragments_of_a_datagram_stay_in_one_file(tmp_path):
    writer = CaptureWriter(tmp_path / "x.pcap", rotate_bytes=2_000)
    for number in range(60):
        for each in fragments(message(number, attributes={"a": "x" * 600}), 304, number):
            writer.record(number, each)
        for _ in range(2):  # between them is where a file may end
            writer.record(number, frame(message(number)))
    writer.close()
    assert writer.files > 3
    for number in range(writer.files):
        path = tmp_path / ("x.pcap" if number == 0 else f"x.{number}.pcap")
        first, last = frames_in(path, "pcap")[0], frames_in(path, "pcap")[-1]
        assert struct.unpack_from("!H", first, 20)[0] & 0x1FFF == 0, "begins with a first fragment"
        assert struct.unpack_from("!H", last, 20)[0] & 0x2000 == 0, "ends with a last one"


def test_the_index_of_a_capture_that_was_here_before_is_removed(tmp_path):
    stale = tmp_path / "x.pcap.idx"
    stale.write_text("cbn capture index 1\n5 5 5\n")
    CaptureWriter(tmp_path / "x.pcap").close()
    assert not stale.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"format": "pcapx"}, "pcap, pcapng"), ({"snap_bytes": 0}, "64 to"), ({"snap_bytes": 1 << 30}, "64 to")],
)
def test_what_makes_no_sense_is_refused(tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        CaptureWriter(tmp_path / "x", **options)


def test_a_file_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as failed:
        CaptureWriter(tmp_path / "none" / "x.pcap")
    assert failed.value.filename == str(tmp_path / "none" / "x.pcap")


def write_all(path, kind, limit_bytes, **options):
    """In a process of its own, that may write no larger files: how it ended, and how much it kept."""
    program = f"""
import resource
from fastpath.capture import CaptureWriter
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, resource.RLIM_INFINITY))
writer = CaptureWriter({str(path)!r}, format={kind!r}, buffer_bytes=5_000, **{options!r})
try:
    for number in range(1000):
        writer.record(number, bytes(100))
    writer.close()
except OSError as error:
    print(error.errno, error.filename)
print(writer.packets)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root, timeout=60
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_limit_of_file_sizes_is_said_and_leaves_whole_records(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    complaint, kept = write_all(path, kind, 30_000)
    assert complaint == f"{errno.EFBIG} {path}"
    found = frames_in(path, kind)
    assert len(found) == int(kept) > 100
    assert path.stat().st_size <= 30_000
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_rotation_keeps_below_a_limit_of_file_sizes(tmp_path):
    assert write_all(tmp_path / "x.pcap", "pcap", 30_000, rotate_bytes=20_000) == ["1000"]
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.pcap")}
    assert all(re.fullmatch(r"x(\.\d)?\.pcap", name) for name in sizes)
    assert max(sizes.values()) <= 20_000
