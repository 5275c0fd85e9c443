"""Matching and pcap decoding, each alone on one core; prints figures, judges nothing."""

import random
import struct
import time

from fastpath.fib import ForwardingTable
from fastpath.pcap import decode_pcap, index_pcap
from nodes.model import parse_filter
from nodes.wire.codec import encode, encode_filter
from nodes.wire.packets import PORT, Message

REPEATS = 5


def best(work):
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def test_matching():
    rng = random.Random("bench/matching")
    names = [f"n{i}" for i in range(100)]

    def constraint():
        return f"{rng.choice(names)} {rng.choice(['=', '=', '=', '<', '>'])} {rng.randint(0, 99)}"

    messages = [
        encode(Message(1, 1, 0, {name: rng.randint(0, 99) for name in rng.sample(names, rng.randint(1, 19))}))
        for _ in range(500)
    ]
    print()
    for count in (1_000, 50_000):
        table = ForwardingTable()
        for _ in range(count):
            text = " and ".join({constraint() for _ in range(rng.randint(1, 9))})
            table.add(rng.randrange(20), encode_filter(parse_filter(text)))
        build_s = best_commit(table)
        each_us = best(lambda table=table: [table.match(m) for m in messages]) / len(messages) * 1e6
        stats = table.stats()
        size = stats["bytes"] / stats["constraints"]
        print(f"  {count:7,} filters on 20 interfaces: {each_us:8.2f} us a match,", end=" ")
        print(f"commit {build_s * 1e3:8.1f} ms, {size:.0f} bytes a constraint")


def best_commit(table):
    began = time.perf_counter()
    table.commit()
    return time.perf_counter() - began


def test_decoding(tmp_path):
    packets = 500_000
    attributes = {"airline": "UA", "dest": "ORD", "price": 399, "note": "x" * 110}
    packet = encode(Message(7, 1, 1, attributes, hop_count=1))
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(packet), 0) + packet
    ip = struct.pack("!BBHHHBBH8s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes(8)) + udp
    frame = bytes(12) + b"\x08\0" + ip
    record = struct.pack("=IIII", 1, 2, len(frame), len(frame)) + frame
    path = tmp_path / "bench.pcap"
    path.write_bytes(struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + record * packets)
    decode_s = best(lambda: decode_pcap(path))
    index_s = best(lambda: index_pcap(path, 64 << 20))
    print(
        f"\n  {packets:,} packets of {len(frame)} bytes: decoded at {packets / decode_s / 1e6:.1f} M/s,",
        end=" ",
    )
    print(f"scanned for split points at {packets / index_s / 1e6:.1f} M/s")
