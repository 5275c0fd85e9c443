"""How many messages a second one router forwards: real UDP sockets on loopback, one sender, one receiver.

    make bench        (or: .venv/bin/python -m pytest -s tests/benchmarks/bench_dataplane.py)

Bounded: 100,000 messages a row. The sender is Python and keeps a window of
messages on their way, so that no socket overflows; with one message a
datagram it is the sender that is measured. Expect some 5 s in all. Judge by
the rows' ratios: the machine may be shared.
"""

import os
import socket
import statistics
import struct
import threading
import time

import pytest

from fastpath.dataplane import DataPlane
from fastpath.fib import ClassEntry, Fib, ForwardingTable, Route
from fastpath.seal import MessageSeals
from nodes.config import Messages
from nodes.model import parse_filter
from nodes.wire.codec import encode, encode_filter
from nodes.wire.datagram_seal import SEAL_BYTES
from nodes.wire.packets import Message, Pad

MESSAGES = 100_000
REPEATS = 3
MTU_PAYLOAD = 1472
UDP_SEGMENT = 103
CLIENT = 7
KEY = (1, 5, bytes(range(32)))


def pair():
    ours, peer = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (ours, peer):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        each.bind(("127.0.0.1", 0))
    ours.connect(peer.getsockname())
    peer.connect(ours.getsockname())
    ours.setblocking(False)
    return ours, peer


def fib(filters):
    table = ForwardingTable()
    for number in range(filters):
        table.add(1, encode_filter(parse_filter(f'dest = "X{number}" and price < {number}')))
    table.add(1, encode_filter(parse_filter('dest = "ORD" and price < 400')))
    table.commit()
    return Fib(1, [CLIENT, 0], [ClassEntry(1, 0, 2, 0, 1)], [table])


def routed_fib(destinations):
    """Routers behind interface 1 that all want what is sent: found by matching, named in the header."""
    everything = ForwardingTable()
    for position in range(destinations):
        everything.add(position, encode_filter(parse_filter('dest = "ORD" and price < 400')))
    everything.commit()
    entry = ClassEntry(1, 0, 0, 1, 1, routed=True)
    route = Route(1, 0, tuple((2 + position, 1) for position in range(destinations)))
    return Fib(1, [CLIENT, 0], [entry], [everything, ForwardingTable()], route=route)


def message():
    attributes = {"airline": "UA", "dest": "ORD", "price": 399, "note": "x" * 110}
    return encode(Message(source=CLIENT, sequence=1, publish_time_ns=1, attributes=attributes))


def bundle(packet):
    """As many as fit into one datagram, filled up to its size with padding."""
    count = MTU_PAYLOAD // len(packet)
    return packet * count + encode(Pad(MTU_PAYLOAD - count * len(packet)))


def shapes():
    """name -> (messages a call, what one call sends)."""
    one, full = message(), bundle(message())
    per = MTU_PAYLOAD // len(one)
    segments = 65_507 // MTU_PAYLOAD
    offload = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", MTU_PAYLOAD))]
    return {
        "one a datagram": (1, lambda peer: peer.send(one)),
        f"bundles of {per}": (per, lambda peer: peer.send(full)),
        f"{segments} bundles by UDP GSO": (
            per * segments,
            lambda peer: peer.sendmsg([full * segments], offload),
        ),
    }


def sealed_shapes(messages):
    """The same with a seal at the end of each datagram, all made before they are sent."""
    one = message()
    segments = 65_507 // MTU_PAYLOAD
    offload = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", MTU_PAYLOAD))]
    sender = MessageSeals(1, Messages.REQUIRED)
    sender.use(0, KEY, [])
    per = (MTU_PAYLOAD - SEAL_BYTES) // len(one)
    full = one * per + encode(Pad(MTU_PAYLOAD - SEAL_BYTES - per * len(one)))

    def all_of(datagram, joined, each):
        calls = messages // (each * joined) + 3
        return iter([b"".join(sender.seal(0, datagram) for _ in range(joined)) for _ in range(calls)])

    singly, bundled, joined = all_of(one, 1, 1), all_of(full, 1, per), all_of(full, segments, per)
    return {
        "one a datagram": (1, lambda peer: peer.send(next(singly))),
        f"bundles of {per}": (per, lambda peer: peer.send(next(bundled))),
        f"{segments} bundles by UDP GSO": (
            per * segments,
            lambda peer: peer.sendmsg([next(joined)], offload),
        ),
    }


def guards():
    """A router whose two neighbours seal what they send, and to whom it seals what it sends."""
    seals = MessageSeals(2, Messages.REQUIRED)
    for interface in range(2):
        seals.use(interface, KEY, [KEY])
    return seals


def forward(per_call, call, installed, seals=None):
    """Messages a second that arrive behind one router, and how many of MESSAGES did not.

    The receiver is a second data plane without a FIB: it counts and drops.
    """
    near, far = pair(), pair()
    router = DataPlane([near[0].fileno(), far[0].fileno()], seals=seals)
    receiver = DataPlane([far[1].fileno()])
    router.install(installed)
    threads = [threading.Thread(target=plane.run) for plane in (router, receiver)]
    for thread in threads:
        thread.start()
    window = max(4_000, 3 * per_call)
    sent = passed = 0
    began = time.perf_counter()
    while passed < MESSAGES:
        if sent < MESSAGES and sent - passed < window:
            call(near[1])
            sent += per_call
            if sent % 256 >= per_call:
                continue
        passed = router.counters()["interfaces"][1]["tx_messages"]
        os.sched_yield()
    elapsed = time.perf_counter() - began
    for plane in (router, receiver):
        plane.stop()
    for thread in threads:
        thread.join()
    for end in near + far:
        end.close()
    return passed / elapsed, passed - receiver.counters()["interfaces"][0]["rx_messages"]


@pytest.mark.parametrize("filters", [0, 10_000])
def test_messages_forwarded_a_second(filters):
    print(f"\n{len(message())}-byte messages, {filters + 1} filters; best and median of {REPEATS}:")
    measure(fib(filters))


def test_sealed_messages_forwarded_a_second():
    """In turn, so that each pair of rows is measured under the same load."""
    print(f"\n{len(message())}-byte messages without and with seals, a filter; best and median of {REPEATS}:")
    runs = {}
    for _ in range(REPEATS):
        for name, (per_call, call) in shapes().items():
            runs.setdefault(name, []).append(forward(per_call, call, fib(0)))
        for name, (per_call, call) in sealed_shapes(MESSAGES).items():
            runs.setdefault(f"{name}, sealed", []).append(forward(per_call, call, fib(0), guards()))
    for name, found in runs.items():
        show(name, found)


def test_T5_messages_with_destinations_forwarded_a_second():
    print(f"\n{len(message())}-byte messages that get 10 destinations; best and median of {REPEATS}:")
    measure(routed_fib(10))


def measure(installed):
    for name, (per_call, call) in shapes().items():
        show(name, [forward(per_call, call, installed) for _ in range(REPEATS)])


def show(name, runs):
    rates, lost = zip(*runs, strict=True)
    figures = f"{max(rates):12,.0f} /s {statistics.median(rates):12,.0f} /s"
    print(f"  {name:36} {figures}   lost behind the router {sum(lost)}")
