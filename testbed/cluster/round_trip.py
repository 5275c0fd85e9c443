"""How long the network between two machines takes there and back: echoes of ICMP, which its kernel answers.

The least of several is looked at: it shows the network; the others show the machines too. Half of it is what
the network adds to a link between the two, and what a link is to delay is shortened by as much.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import replace

from testbed.plan.model import Impairment

COUNT = 20
"""So many echoes are asked for."""
WAIT_S = 0.5
"""As long as one is waited for; links that are slower are none to run a network over."""
_HEADER = struct.Struct("!BBHHH")
_V4 = (socket.IPPROTO_ICMP, 8, 0)
_V6 = (socket.IPPROTO_ICMPV6, 128, 129)
"""The protocol, and the types of a request and its reply."""


def least_ns(address: str, count: int = COUNT) -> int | None:
    """The shortest way to a machine and back; None: it does not answer, as some networks do not let it.

    Raises:
        OSError: there is no such name, or echoes may not be sent here.
    """
    family, _, _, _, place = socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)[0]
    protocol, asks, answers = _V6 if family == socket.AF_INET6 else _V4
    number, took = os.getpid() & 0xFFFF, []
    with socket.socket(family, socket.SOCK_RAW, protocol) as echoes:
        echoes.connect(place)
        for sequence in range(count):
            began_ns = time.monotonic_ns()
            try:
                echoes.send(_request(asks, number, sequence))
                if not _awaited(echoes, (answers, number, sequence), time.monotonic() + WAIT_S):
                    break
            except OSError:  # a firewall, here or there; who needs the way itself finds out by using it
                break
            took.append(time.monotonic_ns() - began_ns)
    return min(took, default=None)


def left_to_do(impairment: Impairment, crossing_ns: int) -> Impairment:
    """What a link has to do to packets itself, if the network under it takes that long one way."""
    delay_ns = impairment.delay_ns
    return replace(impairment, delay_ns=max(0, delay_ns - crossing_ns)) if delay_ns else impairment


def _request(asks: int, number: int, sequence: int) -> bytes:
    """With its checksum: the kernel makes that of IPv6 alone."""
    words = struct.unpack("!4H", _HEADER.pack(asks, 0, 0, number, sequence))
    total = sum(words)
    return _HEADER.pack(asks, 0, ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF, number, sequence)


def _awaited(echoes: socket.socket, wanted: tuple[int, int, int], deadline: float) -> bool:
    """Whether that reply has come in time; others are read over."""
    while (left_s := deadline - time.monotonic()) > 0:
        echoes.settimeout(left_s)
        try:
            packet = echoes.recv(2048)
        except TimeoutError:
            return False
        start = (packet[0] & 0xF) * 4 if echoes.family == socket.AF_INET else 0
        if len(packet) >= start + _HEADER.size:
            kind, _, _, number, sequence = _HEADER.unpack_from(packet, start)
            if (kind, number, sequence) == wanted:
                return True
    return False
