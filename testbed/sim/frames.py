"""What a datagram looks like on the wire: Ethernet, IPv4 and UDP with right checksums.

One `Framer` a direction of a link. The one's complement sum of 16-bit words
is the number the bytes spell, modulo 65535 (RFC 1071), which Python does fast.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from typing import Protocol

from nodes.wire.packets import PORT

ETHERNET_BYTES = 14
IPV4_BYTES = 20
UDP_BYTES = 8
HEADER_BYTES = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES

_ETHERTYPE_IPV4 = 0x0800
_DONT_FRAGMENT = 0x4000
_TTL = 64
_UDP = 17
_MODULUS = 0xFFFF
_IPV4 = struct.Struct(">BBHHHBBH4s4s")
_UDP_HEADER = struct.Struct(">HHHH")


Watch = Callable[[int, bytes], None]
"""`watch(time_ns, datagram)`: is shown what a node sends on an interface, as it leaves."""


class Tap(Protocol):
    """Whoever is shown the frames that pass an interface."""

    def record(self, time_ns: int, frame: bytes) -> None:
        """Note that `frame` passed at `time_ns`."""


def words_sum(data: bytes) -> int:
    """The one's complement sum of the 16-bit words of `data`, odd lengths padded with a zero."""
    value = int.from_bytes(data, "big")
    return (value << 8 if len(data) & 1 else value) % _MODULUS


class Framer:
    """Puts the headers of one direction of a link before a datagram."""

    __slots__ = ("_destination", "_ethernet", "_mtu", "_name", "_prefixes", "_source", "datagram_max")

    def __init__(self, name: str, macs: tuple[str, str], addresses: tuple[str, str], mtu: int) -> None:
        """`macs` and `addresses` are (from, to); `name` is the sending interface's, for messages."""
        source_mac, destination_mac = map(packed_mac, macs)
        self._ethernet = destination_mac + source_mac + struct.pack(">H", _ETHERTYPE_IPV4)
        self._source, self._destination = (ipaddress.IPv4Address(a).packed for a in addresses)
        self._name = name
        self._mtu = mtu
        self.datagram_max = mtu - IPV4_BYTES - UDP_BYTES
        """The size of the largest datagram that fits."""
        self._prefixes: dict[int, tuple[bytes, int]] = {}

    def frame(self, datagram: bytes) -> bytes:
        """The whole frame that carries `datagram`."""
        size = len(datagram)
        prefix, partial = self._prefixes.get(size) or self._prefix(size)
        value = int.from_bytes(datagram, "big")
        total = partial + (value << 8 if size & 1 else value) % _MODULUS
        # Never 0, which would mean "no checksum" (RFC 768): the remainder is below 65535.
        checksum = _MODULUS - total % _MODULUS
        return b"%b%b%b" % (prefix, checksum.to_bytes(2, "big"), datagram)

    def check(self, size: int) -> None:
        """Fail if a datagram of this size does not fit."""
        assert size <= self.datagram_max, (
            f"a datagram of {size} bytes was sent on {self._name}, whose MTU of {self._mtu} "
            f"leaves {self.datagram_max}"
        )

    def _prefix(self, size: int) -> tuple[bytes, int]:
        """Everything before the UDP checksum for datagrams of this size, and the sum it starts from."""
        self.check(size)
        length = UDP_BYTES + size
        udp = _UDP_HEADER.pack(PORT, PORT, length, 0)
        partial = words_sum(self._source + self._destination + struct.pack(">HH", _UDP, length) + udp)
        self._prefixes[size] = self._ethernet + self._ipv4(length) + udp[:6], partial
        return self._prefixes[size]

    def _ipv4(self, payload_bytes: int) -> bytes:
        total = IPV4_BYTES + payload_bytes
        fields = (0x45, 0, total, 0, _DONT_FRAGMENT, _TTL, _UDP)
        blank = _IPV4.pack(*fields, 0, self._source, self._destination)
        checksum = (_MODULUS - words_sum(blank)) % _MODULUS
        return _IPV4.pack(*fields, checksum, self._source, self._destination)


def packed_mac(mac: str) -> bytes:
    """An interface's address as it stands in frames."""
    return bytes.fromhex(mac.replace(":", ""))
