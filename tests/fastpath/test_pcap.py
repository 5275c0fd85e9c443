"""What a capture's frames become: rows by packet, and counts of what is passed over."""

import struct

import pytest

from fastpath.pcap import decode_range
from fastpath.wire.codec import encode_control, encode_hello
from nodes.wire.codec import decode_attributes, encode
from nodes.wire.packets import PORT, DatagramSeal, Pad
from tests.fastpath.captures import ACK, OWN, PEER, ethernet, fragments, frame, ipv4, ipv6, mac, message, udp


def test_a_message_becomes_one_row_with_all_its_columns(decode):
    sent = message(5, attributes={"a": "x", "b": 2.5}, hop_limit=9)
    (row,), skipped = decode([(3, 17, frame(sent))])
    assert skipped == {}
    attributes, content = row.pop("attributes"), row.pop("content")
    assert content
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
        "control": b"",
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
    seal = encode(DatagramSeal(1, 2, 3, bytes(16)))
    packets = [message(), encode_hello(1, 4, 9, 1000), control, ACK, encode(Pad(9)), seal]
    rows, _ = decode([frame(*packets)])
    assert [row["type"] for row in rows] == [1, 2, 3, 4, 0, 5]
    assert [row["packet_bytes"] for row in rows] == [len(packet) for packet in packets]
    assert [row["kind"] for row in rows] == [None, None, 2, None, None, None]
    for row in [rows[1], *rows[3:]]:
        assert {row[k] for k in ("source", "sequence", "hop_limit", "attribute_count", "attributes")} == {
            None
        }


def test_copies_of_a_message_have_one_content_and_whatever_else_differs_has_another(decode):
    text = "a string of some length"
    attributes = {"a": 1, "b": text}
    same = [message(attributes=attributes), message(attributes=attributes, hop_count=9, header_class=7)]
    others = [message(attributes={**attributes, "a": n}) for n in range(2, 40)]
    others += [message(attributes={"a": 1, "b": text[:n]}) for n in range(len(text))]
    others += [message(attributes=attributes, publish_time_ns=100)]
    others += [message(attributes=attributes, payload=text[:n].encode()) for n in range(1, len(text))]
    rows, _ = decode([frame(*same, *others[:20]), frame(*others[20:])])
    first, second, *rest = [row["content"] for row in rows]
    assert first == second
    assert len({first, *rest}) == 1 + len(others)


def test_a_control_packet_and_its_repetitions_have_one_content(decode):
    def control(incarnation, sequence, ack=0):
        return encode_control(4, incarnation, 2, sequence, ack, 9, True, True, b"abcd")

    packets = [control(1, 1), control(1, 1, ack=5), control(1, 2), control(3, 1)]
    first, again, *others = [row["content"] for row in decode([frame(*packets)])[0]]
    assert first == again
    assert len({first, *others}) == 3


@pytest.mark.parametrize("kind", [1, 2, 5])
def test_the_front_of_what_a_router_announces_says_whose_it_is_and_which(decode, kind):
    record = struct.pack("!IQ", 2**32 - 1, 2**63 - 1) + bytes(4)
    packets = [encode_control(kind, 1, 2, 1, 0, 9, first, True, record) for first in (True, False)]
    packets.append(encode_control(kind, 1, 2, 1, 0, 9, True, True, record[:11]))
    rows, _ = decode([frame(*packets)])
    assert [(row["source"], row["sequence"]) for row in rows] == [
        (2**32 - 1, 2**63 - 1), (None, None), (None, None)
    ]  # fmt: skip


def test_what_clients_subscribe_to_and_routers_announce_is_kept_whole(decode):
    def control(kind, sequence):
        return encode_control(kind, 1, 2, sequence, 0, 9, True, True, bytes(12 + sequence))

    received = [message(), *(control(kind, kind) for kind in range(1, 7)), message()]
    sent = [control(kind, kind) for kind in range(1, 7)]
    rows, _ = decode([frame(*received), frame(*sent, source=OWN)])
    kept = {(row["kind"], row["sent"]): row["control"] for row in rows if row["control"]}
    records = {(kind, True): sent[kind - 1] for kind in (1, 2, 5)}
    assert kept == {(3, False): received[3], (4, False): received[4], **records}


OTHER = "02:00:00:00:00:09"


@pytest.mark.parametrize(
    ("source", "target", "sent"),
    [
        (OWN, PEER, True), (OWN, OTHER, True), (OTHER, PEER, True), (PEER, PEER, False),
        (PEER, OWN, False), (PEER, OTHER, False), (OTHER, OWN, False),
    ],
)  # fmt: skip
def test_the_addresses_of_a_link_say_the_direction_though_one_is_damaged(decode, source, target, sent):
    (row,), skipped = decode([frame(message(), source=source, target=target)], peer=PEER)
    assert (row["sent"], skipped) == (sent, {})


def test_frames_of_another_link_are_foreign_and_the_first_is_named(decode, tmp_path):
    frames = [frame(message(), source=OTHER, target=other) for other in (OTHER, "02:00:00:00:00:08")]
    assert decode([*frames, ethernet(b"arp", kind=0x0806)], peer=PEER) == ([], {"foreign": 2, "not_cbn": 1})
    _, counts, _, addresses = decode_range(tmp_path / "test.pcap", 0, None, OWN, PEER)
    assert (counts["foreign"], addresses) == (2, (OTHER, OTHER))
    assert decode_range(tmp_path / "test.pcap", 0, None, OWN)[3] is None


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


@pytest.mark.parametrize(("kind", "sent"), [(0, False), (4, True)])
@pytest.mark.parametrize("tags", [b"", struct.pack("!HH", 5, 0x0800)])
def test_an_old_cooked_capture_says_the_direction_itself_also_with_vlan_tags(decode, kind, sent, tags):
    head = struct.pack("!HHH8sH", kind, 1, 6, bytes(8), 0x8100 if tags else 0x0800)
    rows, skipped = decode([head + tags + ipv4(udp(message()))], link=113)
    assert ([row["sent"] for row in rows], skipped) == ([sent], {})
    assert decode([head[:9]], link=113) == ([], {"bad_frame": 1})


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("family", "version"), [(2, 4), (24, 6), (28, 6), (30, 6), (10, 6)])
def test_loopback_of_every_system_is_read(decode, order, family, version):
    packet = ipv4(udp(ACK)) if version == 4 else ipv6(udp(ACK))
    framed = struct.pack(order + "I", family) + packet
    rows, skipped = decode([framed], link=0)
    assert ([row["sent"] for row in rows], skipped) == ([None], {})
    rows, skipped = decode([framed], link=108)  # in network order alone
    assert (len(rows), skipped) == ((1, {}) if order == ">" else (0, {"not_cbn": 1}))
    assert decode([framed[:3]], link=0) == ([], {"bad_frame": 1})


def test_raw_ip_with_a_version_of_its_own_is_read(decode):
    assert len(decode([ipv4(udp(ACK))], link=228)[0]) == 1
    assert len(decode([ipv6(udp(ACK))], link=229)[0]) == 1


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


def summed(kind, datagram, partial=False):
    """The datagram with its checksum, or with what a sender leaves that lets its device compute it."""
    ends = b"\x0a\0\0\1\x0a\0\0\2" if kind == 4 else bytes(15) + b"\1" + bytes(15) + b"\2"
    pseudo = ends + struct.pack("!IHBB", len(datagram), 0, 0, 17)
    data = pseudo if partial else pseudo + datagram + b"\0" * (len(datagram) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data)) % 0xFFFF
    checksum = total if partial else 0xFFFF - total
    return datagram[:6] + struct.pack("!H", checksum) + datagram[8:]


@pytest.mark.parametrize("text", ["a", "ab"], ids=["odd", "even"])
@pytest.mark.parametrize("kind", [4, 6])
def test_datagrams_damaged_on_the_way_are_counted_and_unfinished_checksums_are_not(decode, kind, text):
    datagram = udp(message(attributes={"a": text}))

    def whole(datagram):
        return ethernet(ipv4(datagram)) if kind == 4 else ethernet(ipv6(datagram), kind=0x86DD)

    right = summed(kind, datagram)
    good = [whole(datagram), whole(right), whole(summed(kind, datagram, partial=True))]
    flipped = [bytes(b ^ (at == n) << 3 for at, b in enumerate(right)) for n in range(8, len(right))]
    rows, skipped = decode([*good, *map(whole, flipped)])
    assert (len(rows), skipped) == (3, {"bad_checksum": len(flipped)})


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


def test_fragments_are_put_together_in_any_order(decode, rng):
    big = message(1, attributes={"a": "x" * 9000})
    timed = [(second, 5, piece) for second, piece in enumerate(fragments(big, 1480))]
    assert [row["time_ns"] for row in decode(timed)[0]] == [(len(timed) - 1) * 10**9 + 5], "of the last one"
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
