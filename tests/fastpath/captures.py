"""Captures written byte by byte, for tests of what reads them; nothing here uses the code under test."""

import struct

from fastpath.wire.codec import encode_ack
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


def block(kind, body, order="<", length=None, trailer=None):
    """A block of pcapng; `length` and `trailer` are what it says of its length, if not the truth."""
    body += bytes(-len(body) % 4)
    true = 12 + len(body)
    first = true if length is None else length
    last = first if trailer is None else trailer
    return struct.pack(order + "II", kind, first) + body + struct.pack(order + "I", last)


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def option(code, value, order="<"):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(link=1, resolution=9, offset_s=None, order="<"):
    """Without a resolution (None), time stamps are in microseconds."""
    options = b"" if resolution is None else option(9, bytes([resolution]), order)
    if offset_s is not None:
        options += option(14, struct.pack(order + "q", offset_s), order)
    return block(1, struct.pack(order + "HHI", link, 0, 0) + options + option(0, b"", order), order)


def packet(data, ticks=0, on=0, order="<", captured=None, original=None, kind=6):
    captured = len(data) if captured is None else captured
    head = (on, ticks >> 32, ticks & 0xFFFFFFFF, captured, original or len(data))
    return block(kind, struct.pack(order + "IIIII", *head) + data, order)


def pcapng(records, order="<"):
    """One section, one interface with nanoseconds; records as for `pcap`."""
    parts = [section(order), interface(order=order)]
    for number, record in enumerate(records):
        seconds, fraction, data = record if isinstance(record, tuple) else (number, 0, record)
        parts.append(packet(data, seconds * 10**9 + fraction, order=order))
    return b"".join(parts)
