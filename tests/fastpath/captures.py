"""Captures written byte by byte, for tests of what reads them; nothing here uses the code under test."""

import struct

from fastpath.codec import encode_ack
from nodes.wire.codec import encode
from nodes.wire.packets import PORT, Message

OWN, PEER = "02:00:00:00:00:01", "02:00:00:00:00:02"
ACK = encode_ack(1, 2, 3, 4)


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


def fragments(payload, size, identification=1):
    whole = udp(payload)
    for offset in range(0, len(whole), size):
        piece = whole[offset : offset + size]
        more = offset + size < len(whole)
        yield ethernet(ipv4(piece, flags=int(more), offset=offset, identification=identification))
