"""Decoding captures, written here byte by byte and by scapy, never by the code under test."""

import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.codec import encode_ack, encode_control, encode_hello
from fastpath.pcap import PcapError, decode_pcap, index_pcap
from nodes.wire.codec import decode_attributes, encode
from nodes.wire.packets import PORT, Message, Pad

OWN, PEER = "02:00:00:00:00:01", "02:00:00:00:00:02"
ACK = encode_ack(1, 2, 3, 4)
READ = ("records", "packets")


def message(sequence=1, hop_count=0, attributes=None, **changes):
    fields = {"source": 7, "publish_time_ns": 99, "header_class": 0, **changes}
    return encode(
        Message(sequence=sequence, hop_count=hop_count, attributes=attributes or {"a": 1}, **fields)
    )


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(payload, source=PEER, target=OWN, kind=0x0800, tags=()):
    vlan = b"".join(struct.pack("!HH", tag, 5) for tag in tags)
    return mac(target) + mac(source) + vlan + struct.pack("!H", kind) + payload


def udp(payload, source=PORT, target=PORT, length=None):
    return struct.pack("!HHHH", source, target, 8 + len(payload) if length is None else length, 0) + payload


def ipv4(payload, total=None, options=b"", flags=0, offset=0, identification=1, protocol=17):
    size = 20 + len(options)
    total = size + len(payload) if total is None else total
    place = flags << 13 | offset // 8
    head = (0x40 | size // 4, 0, total, identification, place, 64, protocol, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    return struct.pack("!BBHHHBBH4s4s", *head) + options + payload


def ipv6(payload, headers=b"", first=17, length=None):
    body = headers + payload
    length = len(body) if length is None else length
    return struct.pack("!IHBB", 6 << 28, length, first, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + body


def frame(*packets, **options):
    return ethernet(ipv4(udp(b"".join(packets))), **options)


def pcap(records, link=1, order="<", magic=0xA1B23C4D, snap=65535):
    """Records are frames, or (seconds, fraction, frame), or (seconds, fraction, frame, original length)."""
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for number, record in enumerate(records):
        seconds, fraction, data, *rest = record if isinstance(record, tuple) else (number, 0, record)
        parts.append(
            struct.pack(order + "IIII", seconds, fraction, len(data), rest[0] if rest else len(data))
        )
        parts.append(data)
    return b"".join(parts)


@pytest.fixture
def decode(tmp_path):
    """decode(records, **of the file) -> (rows as dicts, counts of what was skipped)."""

    def decoded(records, own=OWN, **options):
        path = tmp_path / "test.pcap"
        path.write_bytes(records if isinstance(records, bytes) else pcap(records, **options))
        batch, counts = decode_pcap(path, mac=own)
        batch.validate(full=True)
        rows = batch.to_pylist()
        assert counts["packets"] == len(rows)
        return rows, {name: n for name, n in counts.items() if n and name not in READ}

    return decoded


def test_a_message_becomes_one_row_with_all_its_columns(decode):
    sent = message(5, attributes={"a": "x", "b": 2.5}, hop_limit=9)
    (row,), skipped = decode([(3, 17, frame(sent))])
    assert skipped == {}
    attributes = row.pop("attributes")
    assert row == {
        "sent": False,
        "time_ns": 3_000_000_017,
        "frame_bytes": len(frame(sent)),
        "packet_bytes": len(sent),
        "type": 1,
        "source": 7,
        "header_class": 0,
        "sequence": 5,
        "publish_time_ns": 99,
        "hop_limit": 9,
        "hop_count": 0,
        "attribute_count": 2,
        "kind": None,
    }
    assert decode_attributes(attributes, 2) == {"a": "x", "b": 2.5}


def test_extreme_numbers_survive(decode):
    sent = message(
        2**63 - 1, source=2**32 - 1, header_class=2**32 - 1, publish_time_ns=2**63 - 1, hop_count=255
    )
    (row,), _ = decode([(2**32 - 1, 999_999_999, frame(sent))])
    assert (row["sequence"], row["source"], row["header_class"]) == (2**63 - 1, 2**32 - 1, 2**32 - 1)
    assert row["time_ns"] == (2**32 - 1) * 10**9 + 999_999_999


def test_every_packet_type_has_its_row_and_nulls_where_a_column_is_not_its(decode):
    control = encode_control(2, 1, 1, 1, 0, 9, True, True, b"payload")
    packets = [message(), encode_hello(1, 4, 9, 1000), control, ACK, encode(Pad(9))]
    rows, _ = decode([frame(*packets)])
    assert [row["type"] for row in rows] == [1, 2, 3, 4, 0]
    assert [row["packet_bytes"] for row in rows] == [len(packet) for packet in packets]
    assert [row["kind"] for row in rows] == [None, None, 2, None, None]
    for row in rows[1:]:
        assert {row[k] for k in ("source", "sequence", "hop_limit", "attribute_count", "attributes")} == {
            None
        }


def test_attributes_are_kept_of_publications_alone(decode):
    """Received with hop count 0: what routers send or forward has been published elsewhere."""
    rows, _ = decode(
        [
            frame(message()),
            frame(message(hop_count=1)),
            frame(message(), source=OWN),
            frame(message(hop_count=1), source=OWN),
        ]
    )
    assert [row["attributes"] is not None for row in rows] == [True, False, False, False]
    assert [row["sent"] for row in rows] == [False, False, True, True]


def test_without_a_mac_the_direction_is_unknown(decode):
    (row,), _ = decode([frame(message())], own="")
    assert row["sent"] is None
    assert row["attributes"] is not None


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "scale"), [(0xA1B23C4D, 1), (0xA1B2C3D4, 1000)])
def test_both_byte_orders_and_both_resolutions(decode, order, magic, scale):
    (row,), _ = decode([(5, 123_456, frame(ACK))], order=order, magic=magic)
    assert row["time_ns"] == 5 * 10**9 + 123_456 * scale


def test_vlan_tags_also_stacked_are_looked_through(decode):
    rows, _ = decode([frame(ACK, tags=(0x8100,)), frame(ACK, tags=(0x88A8, 0x8100))])
    assert len(rows) == 2


@pytest.mark.parametrize(("kind", "sent"), [(4, True), (0, False)])
def test_a_cooked_capture_says_the_direction_itself(decode, kind, sent):
    cooked = struct.pack("!HHIHBB", 0x0800, 0, 3, 1, kind, 6) + mac(PEER) + bytes(2)
    (row,), _ = decode([cooked + ipv4(udp(ACK))], link=276, own="")
    assert row["sent"] is sent


def test_raw_ip_of_both_versions(decode):
    rows, skipped = decode([ipv4(udp(ACK)), ipv6(udp(ACK)), b"\x50" + bytes(60)], link=101)
    assert len(rows) == 2
    assert skipped == {"not_cbn": 1}


def test_ip_options_and_extension_headers_are_stepped_over(decode):
    hop_by_hop = bytes([60, 0]) + bytes(6)
    options = bytes([17, 1]) + bytes(14)
    rows, skipped = decode(
        [
            ethernet(ipv4(udp(ACK), options=b"\1" * 8)),
            ethernet(ipv6(udp(ACK), hop_by_hop + options, first=0), kind=0x86DD),
        ]
    )
    assert (len(rows), skipped) == (2, {})


def test_padding_of_short_frames_is_not_taken_for_payload(decode):
    rows, skipped = decode([frame(encode(Pad(4))).ljust(60, b"\0")])
    assert ([row["packet_bytes"] for row in rows], skipped) == ([4], {})


@pytest.mark.parametrize("lengths", ["zero", "of the first segment"])
def test_a_super_datagram_is_the_sequence_of_its_segments(decode, lengths):
    """Segmentation offload leaves 0 or one segment's length in the headers of what a capture sees whole."""
    one = message(1)
    packets = [message(n) for n in range(1, 2000)]
    said = 0 if lengths == "zero" else 28 + len(one)
    data = b"".join(packets)
    assert len(data) > 65_535
    super_datagram = ethernet(ipv4(udp(data, length=said and said - 20), total=said))
    rows, skipped = decode([super_datagram], snap=262_144)
    assert ([row["sequence"] for row in rows], skipped) == (list(range(1, 2000)), {})
    assert {row["frame_bytes"] for row in rows} == {len(super_datagram)}


def test_what_is_not_ours_is_counted(decode):
    others = [
        ethernet(bytes(28), kind=0x0806),
        ethernet(ipv4(bytes(40), protocol=6)),
        ethernet(ipv4(udp(b"hello", 53, 5353))),
        ethernet(ipv6(bytes(20), first=58), kind=0x86DD),
    ]
    assert decode(others) == ([], {"not_cbn": 4})
    assert len(decode([ethernet(ipv4(udp(ACK, 9, PORT))), ethernet(ipv4(udp(ACK, PORT, 9)))])[0]) == 2


def test_bad_frames_are_counted(decode):
    bad = [
        b"",
        mac(OWN),
        ethernet(b"\x45\0"),
        ethernet(ipv4(udp(ACK), total=10)),
        ethernet(b"\x42" + ipv4(udp(ACK))[1:]),
        ethernet(b"\x65" + ipv4(udp(ACK))[1:]),
        ethernet(ipv4(udp(ACK, length=7))),
        ethernet(ipv4(udp(ACK, length=2000))),
        ethernet(ipv6(b"", b"\x3c\xff" + bytes(6), first=0), kind=0x86DD),
    ]
    assert decode(bad) == ([], {"bad_frame": len(bad)})


def test_malformed_datagrams_and_packets_are_counted(decode):
    dirty = bytearray(message())
    dirty[7] = 1
    rows, skipped = decode([frame(b""), frame(b"\7\7\7\7"), frame(ACK, b"\1"), frame(ACK, bytes(dirty), ACK)])
    assert (len(rows), skipped) == (2, {"malformed": 4})


def test_of_frames_captured_in_part_the_whole_packets_are_read(decode):
    whole = frame(ACK, message(), message())
    rows, skipped = decode([(0, 0, whole[:-10], len(whole)), (0, 0, whole[:20], len(whole)), (0, 0, b"", 90)])
    assert ([row["type"] for row in rows], skipped) == ([4, 1], {"truncated": 3})
    assert {row["frame_bytes"] for row in rows} == {len(whole)}


def test_records_beyond_the_snap_length_and_odd_original_lengths_are_read(decode):
    rows, skipped = decode([(0, 0, frame(ACK)), (0, 0, frame(ACK), 1)], snap=10)
    assert (len(rows), skipped) == (2, {})


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


def fragments(payload, size, identification=1):
    whole = udp(payload)
    for offset in range(0, len(whole), size):
        piece = whole[offset : offset + size]
        more = offset + size < len(whole)
        yield ethernet(ipv4(piece, flags=int(more), offset=offset, identification=identification))


def test_fragments_are_put_together_in_any_order(decode, rng):
    big = message(1, attributes={"a": "x" * 9000})
    other = message(2, attributes={"a": "y" * 5000})
    pieces = [*fragments(big, 1480, 1), *fragments(other, 1480, 2)]
    rng.shuffle(pieces)
    rows, skipped = decode(pieces)
    assert sorted(row["sequence"] for row in rows) == [1, 2]
    assert skipped == {}
    total = sum(len(piece) for piece in fragments(big, 1480))
    assert [row["frame_bytes"] for row in rows if row["sequence"] == 1] == [total]


def test_ipv6_fragments_are_put_together(decode):
    big = message(1, attributes={"a": "x" * 3000})
    whole, pieces = udp(big), []
    for offset in range(0, len(whole), 1000):
        more = offset + 1000 < len(whole)
        header = struct.pack("!BBHI", 17, 0, offset | more, 77)
        pieces.append(ethernet(ipv6(whole[offset : offset + 1000], header, first=44), kind=0x86DD))
    rows, skipped = decode(pieces)
    assert ([row["sequence"] for row in rows], skipped) == ([1], {})


def test_fragments_whose_datagram_is_incomplete_or_overlaps_are_counted(decode):
    first, second, third = fragments(message(1, attributes={"a": "x" * 4000}), 1480)
    assert decode([first, third]) == ([], {"ip_fragments": 2})
    assert len(decode([first, first, second, third])[0]) == 1
    overlapping = ethernet(ipv4(bytes(1480), flags=1, offset=1472))
    assert decode([first, overlapping, third]) == ([], {"ip_fragments": 3})
    assert decode([(0, 0, first[:-1], len(first))]) == ([], {"ip_fragments": 1})


def test_fragments_without_end_are_forgotten_in_bounded_memory(decode):
    first = next(iter(fragments(message(1, attributes={"a": "x" * 4000}), 1480)))
    assert decode([first] * 3000) == ([], {"ip_fragments": 3000})
    many = [next(iter(fragments(message(1, attributes={"a": "x" * 4000}), 64, n))) for n in range(2000)]
    assert decode(many) == ([], {"ip_fragments": 2000})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\xd4\xc3\xb2\xa1", "ends within"),
        (struct.pack("<I", 0x0A0D0D0A) + bytes(40), "pcapng"),
        (b"\x1f\x8b\x08" + bytes(40), "compressed"),
        (bytes(100), "not a pcap file"),
        (pcap([], link=113), "link type 113"),
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
