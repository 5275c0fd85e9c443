"""Captures of any size, made quickly: messages that pass a chain of routers, seen at every interface.

    python tests/benchmarks/chain_captures.py FOLDER PACKETS

Eight files of pcap, two interfaces a router. Each message is in all of them once: received from its publisher
with hop count 0, sent and received with 1, 2 and 3, sent to its subscriber with 4. Every latency is a draw of
a seeded generator, so the same call writes the same bytes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nodes.wire.codec import encode
from nodes.wire.packets import PORT, Message

ROUTERS, PUBLISHERS, SEED = 4, 10, 1
START_NS, GAP_NS = 1_700_000_000_000_000_000, 2_000
LEAST_NS, MEAN_NS = 20_000, 30_000
CHUNK = 200_000
FILE_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
PACKET_AT = 16 + 14 + 20 + 8
"""Where the CBN packet begins in a record: behind its header, Ethernet, IPv4 and UDP."""


def names() -> list[str]:
    """The interfaces, in the order in which a message passes them."""
    return [f"r{number}-eth{end}" for number in range(1, ROUTERS + 1) for end in (0, 1)]


def write(folder: Path, packets: int) -> list[Path]:
    """Write captures that hold about so many packets together, and never fewer; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.pcap" for name in names()]
    files = [path.open("wb") for path in paths]
    for file in files:
        file.write(FILE_HEADER)
    for place, records in _chunks(-(-packets // len(paths))):
        files[place].write(records.tobytes())
    for file in files:
        file.close()
    return paths


def _chunks(messages: int) -> Iterator[tuple[int, np.ndarray]]:
    """The records of so many messages, a chunk of one capture after the other."""
    rng = np.random.default_rng(SEED)
    for first in range(0, messages, CHUNK):
        sequence = np.arange(first, min(first + CHUNK, messages), dtype=np.uint64)
        published = START_NS + sequence * np.uint64(GAP_NS)
        time = published.copy()
        source = rng.integers(1, PUBLISHERS + 1, len(sequence), dtype=np.uint32)
        for place in range(2 * ROUTERS):
            time = time + np.uint64(LEAST_NS) + rng.exponential(MEAN_NS, len(sequence)).astype(np.uint64)
            yield place, _records(place, np.sort(time), sequence, source, published)


def _records(
    place: int, time: np.ndarray, sequence: np.ndarray, source: np.ndarray, published: np.ndarray
) -> np.ndarray:
    """Records of one capture: a template, with what differs written over it."""
    template = _template(place)
    records = np.tile(np.frombuffer(template, np.uint8), (len(time), 1))

    def put(at: int, values: np.ndarray, kind: str) -> None:
        size = np.dtype(kind).itemsize
        records[:, at : at + size] = values.astype(kind)[:, None].view(np.uint8)

    second = np.uint64(10**9)
    put(0, time // second, "<u4")
    put(4, time % second, "<u4")
    put(PACKET_AT + 8, source, ">u4")
    put(PACKET_AT + 16, sequence, ">u8")
    put(PACKET_AT + 24, published, ">u8")
    return records


def _template(place: int) -> bytes:
    router, sent = place // 2 + 1, place % 2
    hops = router - 1 + sent
    content = {"kind": "quote", "place": "x" * 90, "price": 395, "volume": 2.5}
    packet = encode(Message(1, 0, 0, content, hop_limit=64 - hops, hop_count=hops))
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(packet), 0) + packet
    addresses = b"\x0a\0\0\1\x0a\0\0\2"
    ip = struct.pack("!BBHHHBBH8s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, addresses) + udp
    link = (place + 1) // 2  # both ends are captured, of all but the first and the last
    sender, receiver = bytes([2, 0, 0, 0, link, 1]), bytes([2, 0, 0, 0, link, 2])
    frame = receiver + sender + b"\x08\x00" + ip
    return struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame


def mac(place: int) -> str:
    """The address of the interface itself."""
    return f"02:00:00:00:{(place + 1) // 2:02x}:{1 if place % 2 else 2:02x}"


if __name__ == "__main__":
    written = write(Path(sys.argv[1]), int(sys.argv[2]))
    print(f"{sum(path.stat().st_size for path in written) / 1e9:.2f} GB")
