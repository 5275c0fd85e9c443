"""Asks an address for an echo (ICMP), once: a `ping` for machines that have none.

Needs nothing but Python and root, so that it runs as a program of its own inside
any namespace: `python echo.py ADDRESS [SECONDS]` prints the round trip in
milliseconds; exit code 1 if nothing came back.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time

ECHO_REQUEST, ECHO_REPLY = 8, 0
TIMEOUT_S = 2.0


def echo(address: str, timeout_s: float = TIMEOUT_S) -> float | None:
    """The round trip in seconds; None if nothing came back in time."""
    number = os.getpid() & 0xFFFF
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        began = time.monotonic()
        try:
            sock.sendto(_request(number), (address, 0))
        except OSError:
            return None  # no way there, or its interface is down
        while (left := began + timeout_s - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                packet, (source, _) = sock.recvfrom(2048)
            except OSError:
                return None
            if source == address and _answers(packet, number):
                return time.monotonic() - began
    return None


def _request(number: int) -> bytes:
    bare = struct.pack("!BBHHH", ECHO_REQUEST, 0, 0, number, 1)
    total = sum(struct.unpack("!4H", bare))
    return struct.pack("!BBHHH", ECHO_REQUEST, 0, ~(total + (total >> 16)) & 0xFFFF, number, 1)


def _answers(packet: bytes, number: int) -> bool:
    icmp = packet[(packet[0] & 15) * 4 :]
    if len(icmp) < 8:
        return False
    kind, _, _, whose, _ = struct.unpack("!BBHHH", icmp[:8])
    return bool(kind == ECHO_REPLY and whose == number)


def main() -> int:
    """The program."""
    took_s = echo(sys.argv[1], *(float(text) for text in sys.argv[2:3]))
    print("no answer" if took_s is None else f"{took_s * 1000:.3f} ms")
    return 1 if took_s is None else 0


if __name__ == "__main__":
    sys.exit(main())
