"""Table `packets` a second time, slowly: Scapy reads files, frames and packets, plain Python the rest.

Shares no code with the compiled reader: docs/captures.md and docs/wire-format.md say what a row holds. Frames
in IP fragments are not put together here; runs that are compared have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import RawPcapNgReader, RawPcapReader, checksum

from nodes.wire.layers import CBN
from nodes.wire.packets import PORT, PacketType

Row = dict[str, Any]
RECORDS = {1: "LINK_STATE", 2: "INTEREST", 5: "INTEREST_CHANGE", 10: "OFFER", 11: "OFFER_CHANGE"}
MATCHMAKER = (24, 25, 26, 27)
FIRST_FRAGMENT = 2
MASK = (1 << 64) - 1


def frames_of(path: Path, about: Row, mac: str, peer_mac: str) -> Iterator[list[Row]]:
    """The rows of one file, frame by frame; `about` says whose it is."""
    for time_ns, data, original in _records(path):
        source, destination, packets = _read(data)
        sent = _sent(source, destination, mac, peer_mac)
        if sent is None or packets is None:
            continue
        common = {**about, "sent": sent, "time_ns": time_ns, "frame_bytes": original}
        from_client = not sent and bool(about["peer_is_client"])
        yield [common | row | _attributes(row, from_client) for row in packets]


@lru_cache(maxsize=1 << 16)
def _read(data: bytes) -> tuple[str, str, list[Row] | None]:
    """Source and destination of a frame, and what its packets show wherever it is; None: it is not ours.

    Both ends of a link capture the same frame, so most are asked for twice.
    """
    frame = Ether(data)
    packets = _packets(bytes(frame[UDP].payload)) if _is_ours(frame) else None
    return frame.src, frame.dst, None if packets is None else [_row(*packet) for packet in packets]


def _attributes(row: Row, from_client: bool) -> Row:
    """Kept where a message comes from its publisher, and nowhere else."""
    return {} if from_client and row["hop_count"] == 0 else {"attributes": None}


def _records(path: Path) -> Iterator[tuple[int, bytes, int]]:
    if path.suffix == ".pcapng":
        for data, meta in RawPcapNgReader(str(path)):
            ticks = (meta.tshigh << 32) | meta.tslow
            assert meta.tsresol == 10**9
            yield ticks, data, meta.wirelen
    else:
        for data, meta in RawPcapReader(str(path)):
            yield meta.sec * 10**9 + meta.usec, data, meta.wirelen  # a file in nanoseconds


def _sent(source: str, destination: str, mac: str, peer_mac: str) -> bool | None:
    """By the source; if that is damaged, by the destination; None: of another link."""
    if source in (mac, peer_mac):
        return source == mac
    if destination in (mac, peer_mac):
        return destination == peer_mac
    return None


def _is_ours(frame: Any) -> bool:
    if UDP not in frame or PORT not in (frame[UDP].sport, frame[UDP].dport):
        return False
    ip, udp = frame[IP], frame[UDP]
    assert not ip.flags.MF
    assert ip.frag == 0
    datagram = bytes(udp)[: udp.len]
    if udp.len < 8 or udp.len > len(bytes(ip)) - 4 * ip.ihl:
        return False
    pseudo = bytes(ip)[12:20] + b"\0\x11" + len(datagram).to_bytes(2)
    said_only = checksum(pseudo) ^ 0xFFFF
    return udp.chksum in (0, said_only) or checksum(pseudo + datagram) == 0


def _packets(payload: bytes) -> list[tuple[Any, bytes]]:
    """The packets of a datagram; none if its framing is wrong."""
    found, at = [], 0
    while at < len(payload):
        size = int.from_bytes(payload[at + 2 : at + 4])
        raw = payload[at : at + size]
        layer = CBN(raw)
        if isinstance(layer, Raw) or not raw:
            return []
        found.append((layer, raw))
        at += size
    return found


def _row(packet: Any, raw: bytes) -> Row:
    is_message, is_control = packet.type == PacketType.MESSAGE, packet.type == PacketType.CONTROL
    row: Row = {"packet_bytes": len(raw), "type": packet.type, "kind": packet.kind if is_control else None}
    row |= dict.fromkeys(("source", "sequence", "attributes", *_OF_MESSAGES))
    row["content"] = 0
    row["front"] = raw[:57] if is_control and packet.kind in MATCHMAKER else None
    if is_message:
        row |= {name: getattr(packet, name) for name in ("source", "sequence", *_OF_MESSAGES)}
        start = 36 + packet.route_length
        size = sum(len(bytes(attribute)) for attribute in packet.attributes)
        end = len(raw) - (len(bytes(packet.trailer)) if packet.flags.AUTH else 0)
        row["content"] = digest(raw[start:end], packet.publish_time_ns)
        row["attributes"] = raw[start : start + size]
    if is_control:
        row["content"] = digest(raw[8:28], 0)
        if packet.kind in RECORDS and raw[4] & FIRST_FRAGMENT and len(raw) >= 44:
            row["source"], row["sequence"] = int.from_bytes(raw[32:36]), int.from_bytes(raw[36:44])
    return row


_OF_MESSAGES = ("header_class", "publish_time_ns", "hop_limit", "hop_count", "attribute_count")


def digest(data: bytes, start: int) -> int:
    """The number of a content, as `packets` has it: two words of eight bytes a time, multiplied, folded."""
    state = (start ^ (len(data) * 0x9E3779B97F4A7C15)) & MASK
    data = data.ljust(16, b"\0")
    at = 0
    while len(data) - at > 16:
        state = _folded(_word(data, at) ^ state, _word(data, at + 8) ^ 0xC2B2AE3D27D4EB4F)
        at += 16
    end = _folded(_word(data, len(data) - 16) ^ state, _word(data, len(data) - 8) ^ 0xC2B2AE3D27D4EB4F)
    return end - (1 << 64) if end >> 63 else end


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product ^ (product >> 64)) & MASK
