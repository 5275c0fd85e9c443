"""The receiving half of a channel: order, reassembly, and when to acknowledge.

Packets ahead of a gap wait within the window. In order, every fourth packet is
acknowledged at once and others after a short delay, which lets an answer carry
the acknowledgement; out of order or repeated, each is acknowledged at once, as
that is how the sender learns of losses.

Fragments of payloads of different kinds may come mixed; those of one kind come
one payload after the other.

Not here: packets (`channel`) and the sending half (`outbound`).
"""

from __future__ import annotations

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.drops import Reason
from nodes.wire.packets import Control

ACKNOWLEDGE_EVERY = 4
MILLISECOND_NS = 1_000_000


class _Open:
    """A payload of which not all fragments have come."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.discarding = False

    def discard(self) -> None:
        """Forget what came; what comes is thrown away."""
        self.pieces, self.size, self.discarding = [], 0, True

    def whole(self) -> bytes:
        """All that came."""
        return self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)


class Reassembly:
    """Puts payloads together from fragments; of each kind one may be open, of all together so many bytes."""

    def __init__(self, payload_bytes: int) -> None:
        self._limit = payload_bytes
        self._open: dict[int, _Open] = {}
        self._size = 0

    def add(self, packet: Control) -> tuple[tuple[int, bytes] | None, Reason | None]:
        """The next packet in order: (kind, payload) if it completes one, and why something was dropped."""
        reason = None
        if packet.first:
            reason = Reason.UNFINISHED_PAYLOAD if self._close(packet.kind) else None
            self._open[packet.kind] = _Open()
        part = self._open.get(packet.kind)
        if part is None:
            return None, Reason.FRAGMENT_WITHOUT_FIRST
        if not self._take(part, packet.fragment):
            reason = Reason.OVERSIZE_PAYLOAD
        if not packet.last:
            return None, reason
        self._close(packet.kind)
        return (None if part.discarding else (packet.kind, part.whole())), reason

    def _take(self, part: _Open, fragment: bytes) -> bool:
        """False if this is what makes it too much."""
        if part.discarding:
            return True
        if self._size + len(fragment) > self._limit:
            self._size -= part.size
            part.discard()
            return False
        part.pieces.append(fragment)
        part.size += len(fragment)
        self._size += len(fragment)
        return True

    def _close(self, kind: int) -> bool:
        part = self._open.pop(kind, None)
        self._size -= 0 if part is None else part.size
        return part is not None


class Inbound:
    """What one end has heard, in order."""

    def __init__(self, timers: TimerConfig, limits: LimitConfig) -> None:
        self.received = 0
        self.window = limits.window_packets
        self.acknowledge_now = False
        self.gap = False
        """Whether the last packet must be answered by an ACK of its own, not by data."""
        self._delay_ns = timers.retransmit_ms * MILLISECOND_NS // 10
        self._reassembly = Reassembly(limits.payload_bytes)
        self._ahead: dict[int, Control] = {}
        self._unacknowledged = 0
        self._acknowledge_at: int | None = None

    def accept(self, now_ns: int, packet: Control) -> tuple[list[tuple[int, bytes]], list[Reason]]:
        """Take a packet of the session: the payloads it completes, and what was dropped."""
        if packet.sequence <= self.received or packet.sequence in self._ahead:
            self.acknowledge_now = self.gap = True
            return [], [Reason.DUPLICATE_CONTROL]
        if packet.sequence > self.received + self.window:
            self.acknowledge_now = self.gap = True
            return [], [Reason.OUTSIDE_WINDOW]
        if packet.sequence > self.received + 1:
            self._ahead[packet.sequence] = packet
            self.acknowledge_now = self.gap = True
            return [], []
        return self._in_order(now_ns, packet)

    def handle_timer(self, now_ns: int) -> None:
        """A delayed acknowledgement may be due."""
        if self._acknowledge_at is not None and now_ns >= self._acknowledge_at:
            self.acknowledge_now = True

    def next_deadline(self) -> int | None:
        """When a delayed acknowledgement is due."""
        return self._acknowledge_at

    def acknowledged(self) -> None:
        """A packet that carries the acknowledgement goes out."""
        self.acknowledge_now = self.gap = False
        self._acknowledge_at, self._unacknowledged = None, 0

    def _in_order(self, now_ns: int, packet: Control) -> tuple[list[tuple[int, bytes]], list[Reason]]:
        payloads, reasons = [], []
        filled = bool(self._ahead)
        following: Control | None = packet
        while following is not None:
            self.received += 1
            payload, reason = self._reassembly.add(following)
            payloads += [payload] if payload is not None else []
            reasons += [reason] if reason is not None else []
            following = self._ahead.pop(self.received + 1, None)
        self._owe(now_ns, at_once=filled)
        return payloads, reasons

    def _owe(self, now_ns: int, at_once: bool) -> None:
        self._unacknowledged += 1
        if at_once or self._unacknowledged >= ACKNOWLEDGE_EVERY:
            self.acknowledge_now = True
        elif self._acknowledge_at is None:
            self._acknowledge_at = now_ns + self._delay_ns
