"""From a frame to the CBN packets in it, by docs/wire-format.md and docs/captures.md.

IPv4 alone, and fragments of datagrams are not put together: nodes send neither IPv6 nor datagrams
that are larger than the MTU.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

PORT = 61803
PAD, MESSAGE, HELLO, CONTROL, ACK, SEAL = range(6)
LEAST_BYTES = {PAD: 4, MESSAGE: 36, HELLO: 32, CONTROL: 32, ACK: 32, SEAL: 40}
STRING, INTEGER, FLOAT, BOOLEAN, TIME = range(1, 6)
AUTH = 1
PAYLOAD = 2
ETHERNET_BYTES, VLAN_TAGS, IPV4, UDP = 14, (0x8100, 0x88A8), 0x0800, 17

Value = tuple[int, str | int | float | bool]
"""Type and value: values of different types never meet."""


class SkippedError(Exception):
    """Nothing in a frame counts; the text is the key of `captures.skipped`."""


class MalformedError(Exception):
    """A packet is not as the format has it."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet, and of a MESSAGE what the judge looks at."""

    type: int
    size: int
    kind: int | None = None
    source: int = 0
    sequence: int = 0
    """Of a message at its source, or of a CONTROL packet in its session."""
    publish_time_ns: int = 0
    hop_count: int = 0
    attributes: dict[str, Value] = field(default_factory=dict)
    payload: bytes = b""
    """The fragment of a CONTROL packet."""
    first: bool = False
    last: bool = False
    incarnation: int = 0
    peer_incarnation: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """What an Ethernet frame carries: whose it is, and the payload of its datagram."""

    source_mac: bytes
    target_mac: bytes
    payload: bytes
    partial: bool = False
    """Whether the capture has but the front of it."""


def open_frame(data: bytes, original_bytes: int) -> Frame:
    """The datagram in a frame.

    Raises:
        SkippedError: There is none that counts.
    """
    _need(data, original_bytes, 0, ETHERNET_BYTES)
    at = 12
    kind = int.from_bytes(data[at : at + 2], "big")
    while kind in VLAN_TAGS:
        at += 4
        _need(data, original_bytes, at, 2)
        kind = int.from_bytes(data[at : at + 2], "big")
    if kind != IPV4:
        raise SkippedError("not_cbn")
    payload, partial = _datagram(data, original_bytes, at + 2)
    return Frame(data[6:12], data[:6], payload, partial)


def _need(data: bytes, original_bytes: int, at: int, size: int) -> None:
    if len(data) < at + size:
        raise SkippedError("truncated" if original_bytes >= at + size else "bad_frame")


def _datagram(data: bytes, original_bytes: int, at: int) -> tuple[bytes, bool]:
    """The payload, and whether it is all there is."""
    _need(data, original_bytes, at, 20)
    header = 4 * (data[at] & 0xF)
    if data[at] >> 4 != 4 or header < 20:
        raise SkippedError("bad_frame")
    if data[at + 9] != UDP:
        raise SkippedError("not_cbn")
    if int.from_bytes(data[at + 6 : at + 8], "big") & 0x3FFF:
        raise SkippedError("ip_fragments")
    udp = at + header
    _need(data, original_bytes, udp, 8)
    source, target, length, checksum = struct.unpack_from(">4H", data, udp)
    if PORT not in (source, target):
        raise SkippedError("not_cbn")
    if length and (length < 8 or udp + length > original_bytes):
        raise SkippedError("bad_frame")
    whole = data[udp + 8 :]
    said = whole[: length - 8] if length else whole
    if len(data) < (udp + length if length else original_bytes):
        return said, True
    if len(whole) > len(said) and len(data) == original_bytes and is_framed(whole):
        return whole, False  # several segments that the kernel passed on as one
    if length and checksum and _is_damaged(data[at:], data[udp : udp + length], checksum):
        raise SkippedError("bad_checksum")
    return said, False


def _is_damaged(ip: bytes, datagram: bytes, checksum: int) -> bool:
    """Neither the whole sum is right nor is it that of the pseudo-header alone."""
    pseudo = _sum(ip[12:20] + struct.pack(">HH", UDP, len(datagram)))
    return checksum != pseudo and (_sum(datagram) + pseudo) % 0xFFFF != 0


def _sum(data: bytes) -> int:
    """The one's complement sum of 16-bit words; 0 only of zeros."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) // 2 * 2]))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def is_framed(payload: bytes) -> bool:
    """Whether the bytes are packets back to back."""
    try:
        return bool(list(_framed(payload)))
    except MalformedError:
        return False


def _framed(payload: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(payload):
        if at + 4 > len(payload):
            raise MalformedError("a packet without its length")
        version, kind, size = struct.unpack_from(">BBH", payload, at)
        if version != 1 or kind not in LEAST_BYTES or size < LEAST_BYTES[kind] or at + size > len(payload):
            raise MalformedError("no packet of this version")
        yield kind, payload[at : at + size]
        at += size


def split(payload: bytes, partial: bool = False) -> tuple[list[Packet], int]:
    """The packets of a datagram, and how many were malformed, alone or as a whole.

    Of one that was captured in part, the packets at its front that are whole.
    """
    framed = []
    try:
        for each in _framed(payload):
            framed.append(each)
    except MalformedError:
        if not partial:
            return [], 1
    if not framed and not partial:
        return [], 1
    packets, malformed = [], 0
    for kind, data in framed:
        try:
            packets.append(_READERS[kind](data))
        except (MalformedError, struct.error, UnicodeDecodeError):
            malformed += 1
    return packets, malformed


def _read_pad(data: bytes) -> Packet:
    if any(data[4:]):
        raise MalformedError("PAD is zeros")
    return Packet(PAD, len(data))


def _body_end(data: bytes, flags: int) -> int:
    """Where the packet ends without its trailer."""
    if not data[4] & AUTH:
        end = len(data)
    else:
        end = len(data) - 4 - data[-1]
        if not data[-1]:
            raise MalformedError("a trailer without a tag")
    if data[4] & ~flags:
        raise MalformedError("reserved flags")
    if end < LEAST_BYTES[data[1]]:
        raise MalformedError("the trailer leaves no room")
    return end


def _read_message(data: bytes) -> Packet:
    end = _body_end(data, AUTH | PAYLOAD)
    hop_count, reserved, source = data[6], data[7], struct.unpack_from(">I", data, 8)[0]
    sequence, publish_time_ns, route_bytes, count = struct.unpack_from(">QQHH", data, 16)
    if reserved or not source or sequence >> 63 or publish_time_ns >> 63 or 36 + route_bytes > end:
        raise MalformedError("the header of a message")
    if data[4] & PAYLOAD:
        end = _payload_start(data, 36 + route_bytes, end)
    attributes = read_attributes(data[36 + route_bytes : end], count)
    return Packet(
        MESSAGE,
        len(data),
        source=source,
        sequence=sequence,
        publish_time_ns=publish_time_ns,
        hop_count=hop_count,
        attributes=attributes,
    )


def _payload_start(data: bytes, start: int, end: int) -> int:
    """Where the payload of a message begins, whose length stands at its end."""
    if end - 2 < start:
        raise MalformedError("a payload without its length")
    size = int.from_bytes(data[end - 2 : end], "big")
    if not size or end - 2 - size < start:
        raise MalformedError("the length of a payload")
    return end - 2 - size


def read_attributes(data: bytes, count: int) -> dict[str, Value]:
    """So many attributes, which fill the bytes."""
    found: dict[str, Value] = {}
    at, before = 0, b""
    for _ in range(count):
        kind, name_bytes = struct.unpack_from(">BB", data, at)
        name, at = _taken(data, at + 2, name_bytes)
        if not name or (found and name <= before):
            raise MalformedError("names ascend")
        value, at = read_value(data, at, kind)
        found[name.decode()], before = (kind, value), name
    if at != len(data):
        raise MalformedError("bytes remain")
    return found


def read_value(data: bytes, at: int, kind: int) -> tuple[str | int | float | bool, int]:
    """A value of a type, and where it ends."""
    if kind == STRING:
        text, at = _taken(data, at + 2, struct.unpack_from(">H", data, at)[0])
        return text.decode(), at
    if kind in (INTEGER, TIME):
        return struct.unpack_from(">q", data, at)[0], at + 8
    if kind == FLOAT:
        number = struct.unpack_from(">d", data, at)[0]
        if math.isnan(number) or (number == 0 and math.copysign(1, number) < 0):
            raise MalformedError("no float")
        return float(number), at + 8
    if kind == BOOLEAN and data[at : at + 1] in (b"\0", b"\1"):
        return data[at] == 1, at + 1
    raise MalformedError("no value")


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise MalformedError("the bytes run out")
    return data[at : at + size], at + size


def _read_hello(data: bytes) -> Packet:
    if _body_end(data, AUTH) != 32:
        raise MalformedError("bytes remain")
    role, hold, node, seen, incarnation, seen_incarnation = struct.unpack_from(">BHIIQQ", data, 5)
    if role not in (1, 2) or not hold or not node or not incarnation or bool(seen) != bool(seen_incarnation):
        raise MalformedError("a field of HELLO")
    return Packet(HELLO, len(data))


def _read_control(data: bytes) -> Packet:
    end = _body_end(data, AUTH | 2 | 4)
    kind, _, incarnation, peer, sequence, _ = struct.unpack_from(">BHQQII", data, 5)
    if not kind or not incarnation or not peer or not sequence:
        raise MalformedError("a field of CONTROL")
    first, last = bool(data[4] & 2), bool(data[4] & 4)
    return Packet(
        CONTROL,
        len(data),
        kind,
        sequence=sequence,
        payload=data[32:end],
        first=first,
        last=last,
        incarnation=incarnation,
        peer_incarnation=peer,
    )


def _read_ack(data: bytes) -> Packet:
    if _body_end(data, AUTH) != 32:
        raise MalformedError("bytes remain")
    kind, _, incarnation, peer, sequence, _ = struct.unpack_from(">BHQQII", data, 5)
    if kind or sequence or not incarnation or not peer:
        raise MalformedError("a field of ACK")
    return Packet(ACK, len(data))


def _read_seal(data: bytes) -> Packet:
    if data[4] or len(data) != LEAST_BYTES[SEAL]:
        raise MalformedError("a field of SEAL")
    return Packet(SEAL, len(data))


_READERS = {
    PAD: _read_pad,
    MESSAGE: _read_message,
    HELLO: _read_hello,
    CONTROL: _read_control,
    ACK: _read_ack,
    SEAL: _read_seal,
}
