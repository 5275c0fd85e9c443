"""Capture files whole, cut, damaged, split, and written by Scapy."""

import os
import random
import struct
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.pcap import PcapError, decode_pcap, index_pcap
from nodes.wire.packets import PORT
from tests.fastpath.captures import ACK, OWN, PEER, ethernet, fragments, frame, ipv4, ipv6, message, pcap, udp


def test_a_file_cut_anywhere_gives_its_whole_records_and_says_so(decode):
    data = pcap([frame(message(n)) for n in range(3)])
    size = (len(data) - 24) // 3
    for cut in range(24, len(data)):
        rows, skipped = decode(data[:cut])
        assert len(rows) == (cut - 24) // size
        assert skipped == ({"truncated_file": 1} if (cut - 24) % size else {})


def test_a_garbage_length_ends_the_reading(decode):
    good = pcap([frame(ACK)])
    rows, skipped = decode(good + struct.pack("<IIII", 1, 1, 0xFFFFFFF0, 60) + bytes(500))
    assert (len(rows), skipped) == (1, {"truncated_file": 1})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\xd4\xc3\xb2\xa1", "ends within"),
        (struct.pack("<I", 0x0A0D0D0A) + bytes(40), "damaged pcapng"),
        (b"\x1f\x8b\x08" + bytes(40), "cannot be unpacked"),
        (bytes(100), "not a pcap file"),
        (pcap([], link=147), "link type 147"),
    ],
)
def test_what_is_no_pcap_is_refused_with_the_reason(tmp_path, data, words):
    path = tmp_path / "odd.pcap"
    path.write_bytes(data)
    for read in (lambda: decode_pcap(path), lambda: index_pcap(path, 100)):
        with pytest.raises(PcapError, match=words) as error:
            read()
        assert str(path) in str(error.value)


def test_a_file_that_is_not_there_or_is_a_directory_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        decode_pcap(tmp_path / "none.pcap")
    with pytest.raises(IsADirectoryError):
        decode_pcap(tmp_path)
    with pytest.raises(ValueError, match="six octets"):
        decode_pcap(tmp_path, mac="02:00")


def test_a_file_without_records_has_no_rows(decode, tmp_path):
    assert decode([]) == ([], {})
    assert index_pcap(tmp_path / "test.pcap", 1) == []


@pytest.mark.parametrize("target", [1, 100, 1000, 10_000, 10**9])
def test_splitting_by_the_index_gives_the_same_rows(tmp_path, rng, target):
    """Fragments stay together, whatever the target."""
    records = []
    for number in range(200):
        if number % 10 == 3:
            records += fragments(
                message(number, attributes={"a": "x" * rng.randint(1500, 5000)}), 1480, number
            )
        else:
            records.append(frame(*[message(number)] * rng.randint(1, 3)))
    path = tmp_path / "split.pcap"
    path.write_bytes(pcap(records))
    ranges = index_pcap(path, target)
    assert [start for start, _ in ranges] == [24, *[end for _, end in ranges[:-1]]]
    assert ranges[-1][1] == path.stat().st_size
    whole, counts = decode_pcap(path, mac=OWN)
    parts = [decode_pcap(path, start, end, mac=OWN) for start, end in ranges]
    assert pa.Table.from_batches([batch for batch, _ in parts]).equals(pa.Table.from_batches([whole]))
    assert {name: sum(part[name] for _, part in parts) for name in counts} == counts
    assert counts["ip_fragments"] == 0
    if target <= 1000:
        assert len(ranges) > 10


def test_files_written_by_scapy_are_read(tmp_path):
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.packet import Raw
    from scapy.utils import wrpcap

    layers = Ether(src=OWN, dst=PEER) / Dot1Q(vlan=3) / IP(src="10.0.0.1", dst="10.0.0.2")
    packets = [layers / UDP(sport=PORT, dport=PORT) / Raw(message(n)) for n in range(5)]
    for number, packet in enumerate(packets):
        packet.time = 1000 + number
    for nano in (False, True):
        wrpcap(str(tmp_path / "scapy.pcap"), packets, nano=nano)
        batch, counts = decode_pcap(tmp_path / "scapy.pcap", mac=OWN)
        assert batch.column("sequence").to_pylist() == [0, 1, 2, 3, 4]
        assert batch.column("time_ns").to_pylist() == [(1000 + n) * 10**9 for n in range(5)]
        assert batch.column("sent").to_pylist() == [True] * 5
        assert counts["records"] == counts["packets"] == 5


def test_columns_outlive_the_reader_and_each_other(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([frame(message(n)) for n in range(1000)]))
    column = decode_pcap(path)[0].column("sequence")
    path.unlink()
    assert column.to_pylist() == list(range(1000))


def test_random_and_mutated_bytes_never_crash(tmp_path):
    seeds = [
        pcap(
            [
                frame(message(), ACK),
                ethernet(ipv6(udp(ACK)), kind=0x86DD),
                *fragments(message(attributes={"a": "x" * 90}), 48),
            ]
        ),
        pcap([ipv4(udp(ACK)), ipv6(udp(ACK))], link=101, order=">"),
    ]
    path = Path(tmp_path / "fuzz.pcap")

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(seeds), st.integers(0, 2**32), st.binary(max_size=60))
    def check(data, seed, noise):
        mutated, rng = bytearray(data), random.Random(seed)
        for _ in range(rng.randint(0, 6)):
            mutated[rng.randrange(24, len(mutated))] = rng.choice(
                [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
            )
        path.write_bytes(bytes(mutated[: rng.randint(24, len(mutated))]) + noise)
        batch, counts = decode_pcap(path, mac=OWN)
        batch.validate(full=True)
        assert counts["packets"] == batch.num_rows
        for start, end in index_pcap(path, rng.randint(1, 200)):
            decode_pcap(path, start, end)

    check()


def test_a_file_that_becomes_shorter_while_it_is_read_has_a_truncated_end(tmp_path):
    """It is cut at some moment of the reading; whenever that is, nobody's process ends for it."""
    path = tmp_path / "shrinking.pcap"
    data = pcap([frame(message(n)) for n in range(1000)])
    size = (len(data) - 24) // 1000
    path.write_bytes(data + data[24:] * 199)
    read = []
    reader = threading.Thread(target=lambda: read.append(decode_pcap(path)))
    reader.start()
    os.truncate(path, 24 + size * 700 + 10)
    reader.join()
    ((batch, counts),) = read
    assert counts["records"] == batch.num_rows >= 700
    assert (counts["truncated_file"] == 1) == (batch.num_rows < 200_000)
