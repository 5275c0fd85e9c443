"""Packets into datagrams: bundles up to a size, and equal segments for UDP GSO.

The kernel's cost is per datagram walked, not per byte: one call that hands it
many equal-sized segments is some forty times as fast as many calls. Equal
sizes are made with PAD packets. Sending is the daemon's; here are bytes alone,
in the order they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fastpath.codec import UsageError, encode_pad

DATAGRAM_MAX = 65_507
"""What a UDP datagram over IPv4 can carry; also the most one GSO call takes."""
SEGMENTS_MAX = 64
"""What every kernel with UDP GSO takes in one call (UDP_MAX_SEGMENTS)."""
PAD_MIN = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """What one `sendmsg` sends: `data`, cut by the kernel (UDP_SEGMENT) every `segment_size` bytes."""

    data: bytes
    segment_size: int

    @property
    def datagrams(self) -> list[bytes]:
        """The datagrams that arrive; only the last may be shorter than the others."""
        return [self.data[at : at + self.segment_size] for at in range(0, len(self.data), self.segment_size)]


def bundle(packets: Iterable[bytes], size: int) -> list[bytes]:
    """Datagrams of at most `size` bytes; a packet that is larger travels alone.

    Raises:
        UsageError: A packet fits no datagram at all.
    """
    datagrams: list[bytearray] = []
    for packet in packets:
        _check_size(len(packet), "a packet")
        if datagrams and len(datagrams[-1]) + len(packet) <= size:
            datagrams[-1] += packet
        else:
            datagrams.append(bytearray(packet))
    return [bytes(datagram) for datagram in datagrams]


def batches(packets: Iterable[bytes], segment_size: int, segments_max: int = SEGMENTS_MAX) -> list[Batch]:
    """Batches of segments padded to `segment_size`, for one GSO call each.

    A packet larger than that is a batch of its own. One that is one to three
    bytes smaller, too close to be padded, is the last of its batch.

    Raises:
        UsageError: A packet or the segment fits no datagram.
    """
    _check_size(segment_size, "a segment")
    room = min(segments_max, DATAGRAM_MAX // segment_size)
    found: list[Batch] = []
    run: list[bytes] = []
    for segment in _segments(packets, segment_size):
        if run and (len(run) == room or len(run[-1]) != segment_size or len(segment) > segment_size):
            found.append(_batch(run))
            run = []
        run.append(segment)
    return [*found, _batch(run)] if run else found


def _check_size(size: int, what: str) -> None:
    if not PAD_MIN <= size <= DATAGRAM_MAX:
        raise UsageError(f"{what} of {size} bytes fits no datagram; expected {PAD_MIN} to {DATAGRAM_MAX}")


def _batch(run: list[bytes]) -> Batch:
    return Batch(b"".join(run), len(run[0]))


def _segments(packets: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Segments of exactly `size` bytes wherever padding can make them so; the last is left as it is."""
    current: list[bytes] = []
    filled = 0
    for packet in packets:
        _check_size(len(packet), "a packet")
        while current and filled + len(packet) > size:
            segment, current = _close(current, size - filled)
            filled = sum(map(len, current))
            yield segment
        current.append(packet)
        filled += len(packet)
    if current:
        yield b"".join(current)


def _close(current: list[bytes], gap: int) -> tuple[bytes, list[bytes]]:
    """The padded segment, and the packets that go into the next one."""
    moved: list[bytes] = []
    if 0 < gap < PAD_MIN and len(current) > 1:
        moved = [current.pop()]
        gap += len(moved[0])
    padding = encode_pad(gap) if gap >= PAD_MIN else b""
    return b"".join(current) + padding, moved
