"""Files that somebody might take for captures, or make to harm whoever reads them; written byte by byte.

Each has a name that says what is wrong, and what reading it must come to: an error in these words, or so many
rows and these counts of what was passed over.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

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
    option,
    packet,
    pcap,
    pcapng,
    section,
    udp,
)

LARGE = 4 << 20
"""More than any frame."""


class Hostile(NamedTuple):
    """A file, and what reading it comes to."""

    make: Callable[[], bytes]
    rows: int = 0
    skipped: dict[str, int] | None = None
    """None: not counted here, as where damage is random."""
    error: str = ""


def zstd(data: bytes) -> bytes:
    """Compressed by zstd, in one frame."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue().to_pybytes())


def record(captured: int, data: bytes = b"", original: int | None = None, order: str = "<") -> bytes:
    """A record that says this of its lengths, whatever follows."""
    return struct.pack(order + "IIII", 1, 0, captured, captured if original is None else original) + data


def _good(count: int = 1) -> bytes:
    return pcap([frame(message(number)) for number in range(count)])


def _good_ng(*more: bytes) -> bytes:
    return section() + interface() + packet(frame(ACK)) + b"".join(more)


def _open_ended(count: int) -> bytes:
    """Pieces of datagrams whose other pieces never come."""
    frames = []
    for number in range(count):
        frames.append(next(fragments(message(number, attributes={"a": "x" * 300}), 160, number)))
    return pcap(frames)


CORPUS: dict[str, Hostile] = {
    "empty": Hostile(lambda: b"", error="is empty"),
    "one byte": Hostile(lambda: b"\xd4", error="ends within"),
    "half a header": Hostile(lambda: _good()[:23], error="ends within"),
    "zeros": Hostile(lambda: bytes(5000), error="not a pcap file"),
    "text": Hostile(lambda: b"<html>not found</html>" * 10, error="not a pcap file"),
    "magic turned round": Hostile(lambda: _good()[3::-1] + _good()[4:], 0, {"truncated_file": 1}),
    "an unknown magic": Hostile(lambda: b"\x34\xcd\xb2\xa1" + _good()[4:], error="not a pcap file"),
    "an unknown link type": Hostile(lambda: pcap([frame(ACK)], link=147), error="link type 147"),
    "the largest link type": Hostile(lambda: pcap([], link=0xFFFF), error="link type 65535"),
    "a header alone": Hostile(lambda: pcap([]), 0, {}),
    "big endian": Hostile(lambda: pcap([frame(ACK)], order=">"), 1, {}),
    "microseconds": Hostile(lambda: pcap([frame(ACK)], magic=0xA1B2C3D4), 1, {}),
    "big endian microseconds": Hostile(lambda: pcap([frame(ACK)], order=">", magic=0xA1B2C3D4), 1, {}),
    "a fraction of four seconds": Hostile(lambda: pcap([(1, 0xFFFFFFFF, frame(ACK))]), 1, {}),
    "a time at the end of 32 bits": Hostile(lambda: pcap([(0xFFFFFFFF, 0, frame(ACK))]), 1, {}),
    "half a record header": Hostile(lambda: _good() + bytes(7), 1, {"truncated_file": 1}),
    "half a frame": Hostile(lambda: _good(2)[:-9], 1, {"truncated_file": 1}),
    "captured more than it was": Hostile(lambda: pcap([(1, 0, frame(ACK), 10)]), 1, {}),
    "captured more than snap": Hostile(lambda: pcap([frame(ACK)], snap=8), 1, {}),
    "a record of four gigabytes": Hostile(
        lambda: _good() + record(0xFFFFFFFF, bytes(100)), 1, {"truncated_file": 1}
    ),
    "a record of four gigabytes, big endian": Hostile(
        lambda: pcap([frame(ACK)], order=">") + record(0xFFFFFFF0, bytes(9), order=">"),
        1,
        {"truncated_file": 1},
    ),
    "a record of which four gigabytes were not captured": Hostile(
        lambda: pcap([(1, 0, frame(ACK), 0xFFFFFFFF)]), 1, {}
    ),
    "a frame larger than any network's": Hostile(lambda: pcap([bytes(LARGE), frame(ACK)]), 1, {"not_cbn": 1}),
    "ten thousand empty frames": Hostile(lambda: pcap([b""] * 10_000), 0, {"bad_frame": 10_000}),
    "no packets of ours": Hostile(
        lambda: pcap([ethernet(bytes(46), kind=0x0806), ethernet(ipv4(udp(b"dns", 53, 53)))]),
        0,
        {"not_cbn": 2},
    ),
    "our port and no packet": Hostile(
        lambda: pcap([ethernet(ipv4(udp(b"hello, world")))]), 0, {"malformed": 1}
    ),
    "an empty datagram": Hostile(lambda: pcap([ethernet(ipv4(udp(b"")))]), 0, {"malformed": 1}),
    "tags without end": Hostile(
        lambda: pcap([ethernet(b"", tags=(0x8100,) * 300, kind=0x8100)]), 0, {"bad_frame": 1}
    ),
    "headers of IPv6 without end": Hostile(
        lambda: pcap([ethernet(ipv6(b"\0\0" * 4 * 150, first=0), kind=0x86DD)]), 0, {"bad_frame": 1}
    ),
    "an IP header longer than the frame": Hostile(
        lambda: pcap([ethernet(b"\x4f" + ipv4(udp(ACK))[1:25])]), 0, {"bad_frame": 1}
    ),
    "fragments that never end": Hostile(lambda: _open_ended(3000), 0, {"ip_fragments": 3000}),
    "a fragment beyond the end of a datagram": Hostile(
        lambda: pcap([ethernet(ipv4(bytes(64), flags=0, offset=0x1FFF * 8))]), 0, {"ip_fragments": 1}
    ),
    "fragments that overlap": Hostile(
        lambda: pcap(
            [
                ethernet(ipv4(udp(ACK)[:24], flags=1, offset=0)),
                ethernet(ipv4(udp(ACK)[16:], offset=16)),
            ]
        ),
        0,
        {"ip_fragments": 2},
    ),
    "a capture within a packet": Hostile(
        lambda: pcap([frame(message(attributes={"file": _good().hex()})), ethernet(ipv4(udp(_good(3))))]),
        1,
        {"malformed": 1},
    ),
    "two captures one after the other": Hostile(
        lambda: _good() + _good(), 1, {"truncated_file": 1, "truncated": 1, "bad_frame": 2}
    ),
    "a clock that goes backwards": Hostile(
        lambda: pcap([(9, 0, frame(ACK)), (1, 0, frame(ACK)), (5, 0, frame(ACK))]), 3, {}
    ),
    "the same records twice": Hostile(lambda: _good(2) + _good(2)[24:], 4, {}),
    "blocks: not even a section": Hostile(
        lambda: block(6, bytes(40)) + block(1, bytes(8)), error="not a pcap file"
    ),
    "blocks: a byte order that is none": Hostile(
        lambda: block(0x0A0D0D0A, struct.pack("<IHHq", 0x11223344, 1, 0, -1)), error="damaged pcapng"
    ),
    "blocks: a section of length zero": Hostile(
        lambda: struct.pack("<III", 0x0A0D0D0A, 0, 0x1A2B3C4D) + bytes(40), error="damaged pcapng"
    ),
    "blocks: a section alone": Hostile(section, 0, {}),
    "blocks: big endian": Hostile(lambda: pcapng([frame(ACK)], order=">"), 1, {}),
    "blocks: a length of zero": Hostile(
        lambda: _good_ng(struct.pack("<II", 6, 0) + bytes(40)), 1, {"damaged_file": 1}
    ),
    "blocks: a length that is no multiple of four": Hostile(
        lambda: _good_ng(block(6, bytes(20), length=33)), 1, {"damaged_file": 1}
    ),
    "blocks: lengths that differ": Hostile(
        lambda: _good_ng(block(6, bytes(20), trailer=36)), 1, {"damaged_file": 1}
    ),
    "blocks: a length of four gigabytes": Hostile(
        lambda: _good_ng(block(6, bytes(20), length=0xFFFFFFFC)), 1, {"truncated_file": 1}
    ),
    "blocks: a frame longer than its block": Hostile(
        lambda: _good_ng(packet(frame(ACK), captured=5000), packet(frame(ACK))), 2, {"bad_block": 1}
    ),
    "blocks: a packet too short to be one": Hostile(
        lambda: _good_ng(block(6, bytes(8)), packet(frame(ACK))), 2, {"bad_block": 1}
    ),
    "blocks: a packet of an interface that is not there": Hostile(
        lambda: _good_ng(packet(frame(ACK), on=7), packet(frame(ACK), on=0xFFFFFFFF)), 1, {"bad_block": 2}
    ),
    "blocks: packets before any interface": Hostile(
        lambda: section() + packet(frame(ACK)) + interface() + packet(frame(ACK)), 1, {"bad_block": 1}
    ),
    "blocks: an interface without content": Hostile(
        lambda: section() + block(1, b"") + packet(frame(ACK)), 0, {"unknown_link": 1}
    ),
    "blocks: options of length zero": Hostile(
        lambda: (
            section()
            + block(1, struct.pack("<HHI", 1, 0, 0) + option(9, b"") + option(14, b"") + option(2, b""))
            + packet(frame(ACK))
        ),
        1,
        {},
    ),
    "blocks: an option longer than its block": Hostile(
        lambda: (
            section()
            + block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 9, 0xFFFF))
            + packet(frame(ACK))
        ),
        1,
        {},
    ),
    "blocks: a resolution of 2 to the -127": Hostile(
        lambda: section() + interface(resolution=0xFF) + packet(frame(ACK), ticks=2**64 - 1), 1, {}
    ),
    "blocks: a resolution of 10 to the -127": Hostile(
        lambda: section() + interface(resolution=0x7F) + packet(frame(ACK), ticks=2**64 - 1), 1, {}
    ),
    "blocks: an offset of all of time": Hostile(
        lambda: section() + interface(offset_s=2**63 - 1) + packet(frame(ACK), ticks=2**63), 1, {}
    ),
    "blocks: link types mixed": Hostile(
        lambda: (
            section()
            + b"".join(interface(link) for link in (1, 101, 113, 276, 0, 147))
            + packet(frame(ACK), on=0)
            + packet(ipv4(udp(ACK)), on=1)
            + packet(struct.pack("!HHH8sH", 4, 1, 6, bytes(8), 0x0800) + ipv4(udp(ACK)), on=2)
            + packet(struct.pack("!HHIHBB8s", 0x0800, 0, 1, 1, 4, 6, bytes(8)) + ipv4(udp(ACK)), on=3)
            + packet(struct.pack("<I", 2) + ipv4(udp(ACK)), on=4)
            + packet(frame(ACK), on=5)
        ),
        5,
        {"unknown_link": 1},
    ),
    "blocks: seventy thousand interfaces": Hostile(
        lambda: section() + interface() * 70_000 + packet(frame(ACK), on=1) + packet(frame(ACK), on=69_999),
        1,
        {"bad_block": 1},
    ),
    "blocks: byte orders that change": Hostile(
        lambda: pcapng([frame(ACK)]) + pcapng([frame(ACK)], order=">") + pcapng([frame(ACK)]), 3, {}
    ),
    "blocks: a block of four megabytes": Hostile(
        lambda: _good_ng(block(0xBAD, bytes(LARGE)), packet(frame(ACK))), 2, {"unknown_block": 1}
    ),
    "blocks: simple packets": Hostile(
        lambda: _good_ng(block(3, struct.pack("<I", 60) + bytes(60))), 1, {"untimed": 1}
    ),
    "gzip: two bytes": Hostile(lambda: b"\x1f\x8b", error="cannot be unpacked"),
    "gzip: garbage": Hostile(lambda: b"\x1f\x8b\x08" + bytes(range(1, 200)), error="cannot be unpacked"),
    "gzip: cut off": Hostile(lambda: gzip.compress(_good(20_000))[:-2000], 0, None),
    "gzip: the end alone missing": Hostile(lambda: gzip.compress(_good())[:-8], error="cannot be unpacked"),
    "gzip: a wrong checksum": Hostile(
        lambda: gzip.compress(_good())[:-8] + bytes(8), error="cannot be unpacked"
    ),
    "gzip: followed by garbage": Hostile(
        lambda: gzip.compress(_good()) + b"garbage", error="cannot be unpacked"
    ),
    "gzip: compressed twice": Hostile(lambda: gzip.compress(gzip.compress(_good())), error="not a pcap file"),
    "gzip: zlib without its header": Hostile(lambda: zlib.compress(_good()), error="not a pcap file"),
    "gzip: nothing": Hostile(lambda: gzip.compress(b""), error="is empty"),
    "zstd: garbage": Hostile(lambda: b"\x28\xb5\x2f\xfd" + bytes(100), error="cannot be unpacked|is empty"),
    "zstd: cut off": Hostile(lambda: zstd(_good(200))[:-20], error="cannot be unpacked"),
    "zstd: nothing": Hostile(lambda: zstd(b""), error="is empty"),
    "zstd: a bomb of zeros": Hostile(lambda: zstd(bytes(1 << 28)), error="not a pcap file"),
    "zstd: a bomb of records": Hostile(lambda: zstd(_good() + bytes(1 << 25)), 1, {"bad_frame": 1 << 21}),
}
"""By what is wrong with them."""

assert OWN != PEER
