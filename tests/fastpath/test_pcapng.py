"""pcapng files: whole, of several sections and interfaces, cut, contradictory, written by Scapy."""

import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.pcap import PcapError, decode_pcap, decode_range, index_pcap
from nodes.wire.packets import PORT
from tests.fastpath.captures import (
    ACK,
    OWN,
    PEER,
    block,
    ethernet,
    fragments,
    frame,
    interface,
    ipv4,
    ipv6,
    message,
    packet,
    pcap,
    pcapng,
    section,
    udp,
)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_rows_are_those_of_a_pcap_with_the_same_frames(decode, order):
    records = [(3, 17, frame(message(1), ACK)), (2**31, 999_999_999, frame(message(2), source=OWN))]
    assert decode(pcapng(records, order)) == decode(pcap(records))


@pytest.mark.parametrize(
    ("resolution", "ticks", "time_ns"),
    [
        (None, 1_500_000, 1_500_000_000),
        (0, 3, 3 * 10**9),
        (3, 1234, 1_234_000_000),
        (9, 2**62, 2**62),
        (12, 5_999, 5),
        (28, 2**64 - 1, 1),
        (29, 2**64 - 1, 0),
        (127, 2**64 - 1, 0),
        (0x80, 2, 2 * 10**9),
        (0x80 | 10, 1536, 1_500_000_000),
        (0x80 | 64, 2**63, 500_000_000),
        (0xFF, 2**64 - 1, 0),
        (9, 2**64 - 1, 2**63 - 1),
        (0, 2**64 - 1, 2**63 - 1),
    ],
)
def test_every_resolution_of_time_becomes_nanoseconds(decode, resolution, ticks, time_ns):
    """What lies beyond 64 bits of nanoseconds is the last instant there is."""
    (row,), _ = decode(section() + interface(resolution=resolution) + packet(frame(ACK), ticks))
    assert row["time_ns"] == time_ns


def test_an_interface_may_have_an_offset_and_one_that_is_too_large_changes_nothing_else(decode):
    for offset_s, time_ns in ((5, 5_000_000_007), (-1, -999_999_993), (2**62, 2**63 - 1)):
        (row,), _ = decode(section() + interface(offset_s=offset_s) + packet(frame(ACK), 7))
        assert row["time_ns"] == time_ns


def test_each_section_and_each_interface_is_read_by_its_own_rules(decode):
    data = [
        section(">"),
        interface(1, 9, order=">"),
        interface(101, None, order=">"),
        packet(frame(message(1)), 10, on=0, order=">"),
        packet(ipv4(udp(message(2))), 20, on=1, order=">"),
        section("<"),
        interface(101, 6),
        packet(ipv6(udp(message(3))), 30),
    ]
    rows, skipped = decode(b"".join(data))
    assert [(row["sequence"], row["time_ns"]) for row in rows] == [(1, 10), (2, 20_000), (3, 30_000)]
    assert skipped == {}


def test_what_holds_no_packet_is_passed_over_and_counted_if_it_is_unknown(decode):
    statistics, names, comment = block(5, bytes(12)), block(4, bytes(8)), block(0xBAD, b"whatever")
    simple = block(3, struct.pack("<I", 60) + frame(ACK))
    old = packet(frame(message(4)), 9, on=7 << 16, kind=2)
    data = section() + interface() + names + old + statistics + comment + simple + packet(frame(ACK), 1)
    rows, skipped = decode(data)
    assert [row["type"] for row in rows] == [1, 4]
    assert skipped == {"untimed": 1, "unknown_block": 1}


def test_a_block_that_contradicts_itself_costs_no_other(decode):
    bad = [
        packet(frame(ACK), on=1),
        packet(frame(ACK), captured=10**6),
        block(6, b"short"),
        packet(frame(ACK), captured=0xFFFFFFFF),
    ]
    rows, skipped = decode(section() + interface() + b"".join(bad) + packet(frame(message(8)), 1))
    assert [row["sequence"] for row in rows] == [8]
    assert skipped == {"bad_block": 4}


def test_an_interface_of_another_kind_is_counted_and_the_others_are_read(decode):
    data = section() + interface(147) + interface() + packet(b"x" * 60, on=0) + packet(frame(ACK), on=1)
    rows, skipped = decode(data)
    assert (len(rows), skipped) == (1, {"unknown_link": 1})


@pytest.mark.parametrize(
    "odd",
    [
        block(6, bytes(20), length=31),
        block(6, bytes(20), trailer=36),
        block(6, bytes(20), length=8),
        block(6, bytes(20), length=0),
        block(0x0A0D0D0A, b"nonsense" + bytes(8)),
    ],
)
def test_lengths_that_contradict_each_other_end_the_reading_and_say_so(decode, odd):
    rows, skipped = decode(section() + interface() + packet(frame(ACK)) + odd + packet(frame(ACK)))
    assert (len(rows), skipped) == (1, {"damaged_file": 1})


def test_a_file_that_is_damaged_from_the_start_is_refused(tmp_path):
    path = tmp_path / "odd.pcapng"
    path.write_bytes(block(0x0A0D0D0A, b"nonsense" + bytes(8)))
    with pytest.raises(PcapError, match="damaged pcapng"):
        decode_pcap(path)


def test_a_file_cut_anywhere_gives_its_whole_packets_and_says_so(decode):
    head = len(section() + interface())
    data = pcapng([frame(message(n)) for n in range(3)])
    size = (len(data) - head) // 3
    for cut in range(head, len(data)):
        rows, skipped = decode(data[:cut])
        assert len(rows) == (cut - head) // size
        assert skipped == ({"truncated_file": 1} if (cut - head) % size else {})


def test_a_file_without_packets_has_no_rows(decode, tmp_path):
    assert decode(section() + interface()) == ([], {})
    assert index_pcap(tmp_path / "test.pcap", 1) == []


def test_a_very_large_block_takes_no_memory_and_the_next_is_read(decode):
    """Of a frame that no network could carry, the front is read: enough for the packet at its start."""
    huge = ethernet(ipv4(udp(message(1)))) + bytes(3 << 20)
    data = section() + interface() + packet(huge) + block(0xBAD, bytes(5 << 20)) + packet(frame(message(2)))
    for whole in (data, pcap([(0, 0, huge), (1, 0, frame(message(2)))])):
        rows, _ = decode(whole)
        assert [row["sequence"] for row in rows] == [1, 2]


@pytest.mark.parametrize("target", [1, 1000, 10_000, 10**9])
def test_splitting_by_the_index_gives_the_same_rows_and_clean_edges(tmp_path, rng, target):
    records = []
    for number in range(200):
        if number % 10 == 3:
            long = message(number, attributes={"a": "x" * rng.randint(1500, 5000)})
            records += fragments(long, 1480, number)
        else:
            records.append(frame(*[message(number)] * rng.randint(1, 3)))
    path = tmp_path / "split.pcapng"
    path.write_bytes(pcapng(records))
    ranges = index_pcap(path, target)
    whole, counts = decode_pcap(path, mac=OWN)
    parts = [decode_range(path, start, end, mac=OWN) for start, end in ranges]
    assert pa.Table.from_batches([batch for batch, *_ in parts]).equals(pa.Table.from_batches([whole]))
    assert {name: sum(part[name] for _, part, *_ in parts) for name in counts} == counts
    assert all(edges == (True, True, False) for _, _, edges, _ in parts)


@pytest.mark.parametrize("written", [pcap, pcapng])
def test_edges_tell_a_range_that_begins_or_ends_where_no_record_does(tmp_path, written):
    path = tmp_path / "x.pcap"
    path.write_bytes(written([frame(message(n)) for n in range(20)]))
    places = [start for start, _ in index_pcap(path, 1)]
    for end in range(places[1], places[3] + 1):
        assert decode_range(path, places[0], end)[2].ends_clean == (end in places)


@pytest.mark.parametrize("written", [pcap, pcapng])
def test_edges_tell_a_range_that_parts_the_fragments_of_a_datagram(tmp_path, written):
    pieces = list(fragments(message(attributes={"a": "x" * 200}), 100))
    path = tmp_path / "x.pcap"
    path.write_bytes(written([frame(ACK), pieces[0], frame(ACK)]))
    size = path.stat().st_size
    begin = index_pcap(path, 10**9)[0][0]
    tail = len(written([frame(ACK)])) - begin
    assert not decode_range(path, begin, size - tail)[2].ends_clean
    assert decode_range(path, begin, size)[2] == (True, True, False)
    path.write_bytes(written([pieces[0], frame(ACK)]))
    assert not decode_range(path, begin, path.stat().st_size)[2].starts_clean


def test_a_file_whose_rules_change_on_the_way_is_not_split(tmp_path):
    path = tmp_path / "x.pcapng"
    one = section() + interface() + packet(frame(ACK)) * 50
    for data in (one + one, one + interface() + packet(frame(ACK), on=1) * 50):
        path.write_bytes(data)
        ((start, end),) = index_pcap(path, 1000)
        batch, counts, edges, _ = decode_range(path, start, end)
        assert (batch.num_rows, counts["bad_block"], edges.late) == (100, 0, True)


def test_files_written_by_scapy_are_read(tmp_path):
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw
    from scapy.utils import wrpcapng

    layers = Ether(src=OWN, dst=PEER) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=PORT, dport=PORT)
    packets = [layers / Raw(message(n)) for n in range(5)]
    for number, each in enumerate(packets):
        each.time = 1000 + number
    wrpcapng(str(tmp_path / "scapy.pcapng"), packets)
    batch, counts = decode_pcap(tmp_path / "scapy.pcapng", mac=OWN)
    assert batch.column("sequence").to_pylist() == [0, 1, 2, 3, 4]
    assert batch.column("time_ns").to_pylist() == [(1000 + n) * 10**9 for n in range(5)]
    assert counts["records"] == counts["packets"] == 5


def test_random_and_mutated_bytes_never_crash(tmp_path):
    seeds = [
        pcapng([frame(message(), ACK), *fragments(message(attributes={"a": "x" * 90}), 48)]),
        pcapng([frame(ACK)], ">") + pcapng([frame(message())]) + block(3, bytes(40)),
    ]
    path = Path(tmp_path / "fuzz.pcapng")

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(seeds), st.integers(0, 2**32), st.binary(max_size=60))
    def check(data, seed, noise):
        mutated, rng = bytearray(data), random.Random(seed)
        for _ in range(rng.randint(0, 6)):
            mutated[rng.randrange(12, len(mutated))] = rng.choice(
                [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
            )
        path.write_bytes(bytes(mutated[: rng.randint(28, len(mutated))]) + noise)
        try:
            batch, counts = decode_pcap(path, mac=OWN)
        except PcapError:
            return
        batch.validate(full=True)
        assert counts["packets"] == batch.num_rows
        parts = [decode_pcap(path, start, end)[1] for start, end in index_pcap(path, rng.randint(1, 200))]
        assert sum(part["records"] for part in parts) == counts["records"]

    check()
