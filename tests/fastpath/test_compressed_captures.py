"""Captures compressed by gzip and zstd: read as streams, with the rows and counts of the plain file."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.pcap import PcapError, decode_batches, decode_pcap, index_pcap, unpack
from tests.fastpath.captures import (
    ACK,
    OWN,
    block,
    fragments,
    frame,
    interface,
    message,
    packet,
    pcap,
    pcapng,
    section,
)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


COMPRESS = {"gz": gzip.compress, "zst": zstd}


def capture(kind: str = "pcap") -> bytes:
    records = [frame(message(n), ACK) for n in range(500)]
    records += fragments(message(500, attributes={"a": "x" * 3000}), 1480, 1)
    return pcap(records) if kind == "pcap" else pcapng(records)


def decoded(path: Path, **options):
    batch, counts = decode_pcap(path, mac=OWN, **options)
    batch.validate(full=True)
    return batch.to_pylist(), counts


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_compressed_capture_has_the_rows_of_the_plain_one(tmp_path, compression, kind):
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(capture(kind))
    packed.write_bytes(COMPRESS[compression](capture(kind)))
    assert decoded(packed) == decoded(plain)
    assert decode_pcap(packed)[1]["packets"] == 1001


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_file_of_several_members_is_one_capture(tmp_path, compression):
    data, path = capture(), tmp_path / "members"
    path.write_bytes(COMPRESS[compression](data[:1000]) + COMPRESS[compression](data[1000:]))
    assert decode_pcap(path)[1]["packets"] == 1001


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_compressed_file_that_is_cut_off_gives_what_came_before_and_says_so(tmp_path, compression):
    rng = random.Random(1)
    data = pcap([frame(message(n, attributes={"a": rng.randbytes(60).hex()})) for n in range(20_000)])
    packed, path = COMPRESS[compression](data), tmp_path / "cut"
    whole = decode_pcap(_written(path, packed))[0].num_rows
    for part in (0.3, 0.9, 0.999):
        decoding = decode_batches(_written(path, packed[: int(len(packed) * part)]), rows=1000)
        rows = sum(batch.num_rows for batch in decoding)
        assert part * whole - 2000 < rows < whole
        assert decoding.counts["truncated_file"] == 1
        assert "cannot be unpacked" in decoding.why


@pytest.mark.parametrize("compression", COMPRESS)
def test_what_is_not_compressed_as_it_says_is_refused_with_the_reason(tmp_path, compression):
    magic = {"gz": unpack.GZIP + b"\x08", "zst": unpack.ZSTD}[compression]
    path = _written(tmp_path / "odd", magic + random.Random(2).randbytes(500))
    with pytest.raises(PcapError, match=f"{path} cannot be unpacked"):
        decode_pcap(path)


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_compressed_capture_is_not_split(tmp_path, compression):
    path = _written(tmp_path / "packed", COMPRESS[compression](capture()))
    with pytest.raises(PcapError, match="is compressed; it is read from front to back"):
        index_pcap(path, 100)


@pytest.mark.parametrize("compression", COMPRESS)
def test_what_is_compressed_and_no_capture_is_refused_with_the_reason(tmp_path, compression):
    path = _written(tmp_path / "text", COMPRESS[compression](b"no capture " * 10_000))
    with pytest.raises(PcapError, match="not a pcap file"):
        decode_pcap(path)
    with pytest.raises(PcapError, match="is empty"):
        decode_pcap(_written(path, COMPRESS[compression](b"")))


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_bomb_is_read_up_to_a_limit_in_little_memory(tmp_path, monkeypatch, compression):
    monkeypatch.setattr(unpack, "FREE_BYTES", 1 << 24)
    records = bytes(1 << 28)  # sixteen million records without a frame
    path = _written(tmp_path / "bomb", COMPRESS[compression](pcap([frame(ACK)]) + records))
    del records
    tracemalloc.start()
    decoding = decode_batches(path)
    rows = sum(batch.num_rows for batch in decoding)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 1
    assert peak < 1 << 23
    assert "more than 500 times its size" in decoding.why
    assert decoding.counts["records"] < 1 + (1 << 28) / 16


def test_memory_does_not_grow_with_a_capture_that_is_read_in_batches(tmp_path):
    """Ten times the rows, the same memory: a process that reads says how much it took at most."""
    data = pcap([frame(message(n)) for n in range(1000)])
    peaks = []
    for times in (200, 2000):
        path = tmp_path / f"{times}.pcap.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(data[:24])
            for _ in range(times):
                file.write(data[24:])
        peaks.append(_peak_kb(path))
    assert peaks[1] < peaks[0] + 30_000, peaks


def _peak_kb(path: Path) -> int:
    program = (
        "import resource, sys; from fastpath.pcap import decode_batches\n"
        "for batch in decode_batches(sys.argv[1], rows=20_000): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("rows", [1, 7, 500, 10_000])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_batches_together_are_the_file(tmp_path, kind, rows):
    path = _written(tmp_path / "x", capture(kind))
    decoding = decode_batches(path, mac=OWN, rows=rows)
    batches = list(decoding)
    whole, counts = decode_pcap(path, mac=OWN)
    assert pa.Table.from_batches(batches).combine_chunks() == pa.Table.from_batches([whole]).combine_chunks()
    assert decoding.counts == counts
    assert decoding.why == ""
    assert all(batch.num_rows <= rows + 1 for batch in batches)


def test_a_reader_that_is_left_before_the_end_leaves_no_thread(tmp_path):
    import threading

    path = _written(tmp_path / "x.gz", gzip.compress(pcap([frame(message(n)) for n in range(50_000)])))
    before = threading.active_count()
    decoding = decode_batches(path, rows=10)
    next(decoding)
    del decoding
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(5)
    assert threading.active_count() == before


def test_records_and_blocks_too_long_for_a_network_are_the_same_compressed(tmp_path):
    long = bytes(3 << 20)
    whole_block = block(77, long)
    record = struct.pack("<IIII", 1, 1, len(long), len(long)) + long
    for data in (
        pcap([frame(ACK)]) + record + pcap([frame(message())])[24:],
        pcap([frame(ACK)]) + record[:-5],
        pcap([frame(ACK)]) + struct.pack("<IIII", 1, 1, 0xFFFFFFF0, 60) + long,
        section() + whole_block + interface() + packet(frame(ACK)),
        section() + interface() + whole_block + packet(frame(ACK)),
        section() + interface() + packet(frame(ACK)) + whole_block[:-9],
        section() + whole_block[:-9],
    ):
        plain = decoded(_written(tmp_path / "plain", data))
        assert decoded(_written(tmp_path / "packed", zstd(data))) == plain


def test_damaged_captures_are_the_same_compressed(tmp_path):
    seeds = [capture("pcap")[:3000], capture("pcapng")[:3000]]

    @settings(max_examples=150, deadline=None)
    @given(st.sampled_from(seeds), st.integers(0, 2**32))
    def check(data: bytes, seed: int) -> None:
        rng, mutated = random.Random(seed), bytearray(data)
        for _ in range(rng.randint(0, 5)):
            mutated[rng.randrange(4, len(mutated))] = rng.choice([0, 1, 0x7F, 0xFF, rng.randrange(256)])
        plain = _written(tmp_path / "plain", bytes(mutated[: rng.randint(30, len(mutated))]))
        packed = _written(tmp_path / "packed", gzip.compress(plain.read_bytes(), 1))
        try:
            expected = decoded(plain)
        except PcapError as error:
            with pytest.raises(PcapError, match=str(error).removeprefix(str(plain))):
                decode_pcap(packed)
        else:
            assert decoded(packed) == expected

    check()


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
