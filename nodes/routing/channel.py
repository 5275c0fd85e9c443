"""A reliable, ordered, flow-controlled channel over one link, for one session.

Theory of operation. A session is named by the incarnations of its two ends and
lives as long as the adjacency. Each direction numbers its packets from 1. Every
packet carries up to where everything has arrived (`ack`) and how many more will be
taken (`window`). Payloads larger than a packet are cut to the interface's MTU
and put together again at the other end; payloads arrive once and whole, and in
the order in which they were sent, except that urgent kinds are sent before
others. What arrives wrong is counted and changes nothing.

Receiving. Packets ahead of a gap wait within the window. In order, every fourth
packet is acknowledged at once and others after a short delay, which lets an
answer carry the acknowledgement; out of order or repeated, each is acknowledged
at once, as that is how the sender learns of losses. Fragments of payloads of
different kinds may come mixed; those of one kind come one payload after the other.

Not here: the rules of sending (`outbound`); who the neighbour is (`adjacency`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import final

from fastpath.wire import codec
from nodes.config import MILLISECOND_NS, LimitConfig, TimerConfig
from nodes.routing.effects import Reason
from nodes.routing.outbound import Fragment, Outbound, Promise
from nodes.routing.pending import earlier
from nodes.wire.packets import Ack, Control, Kind

UDP_OVERHEAD_BYTES = 28
"""IPv4 and UDP headers."""
CONTROL_HEADER_BYTES = 32
ACKNOWLEDGE_EVERY = 4
IMPOSSIBLE_IN_A_ROW = 8
"""So many packets that acknowledge what was never sent mean that the neighbour took it from somebody else."""
URGENT = frozenset((Kind.LINK_STATE, Kind.RECORD_REQUEST))
"""Kinds of small payloads that pass between the fragments of large ones of other kinds."""
STREAMED = frozenset((Kind.MATCH,))
"""Kinds of payloads that come as messages do, and change nothing at who takes them."""


@final
class Segment:
    """What a packet of the session says: a CONTROL, or an ACK, which has no number."""

    __slots__ = ("ack", "first", "fragment", "kind", "last", "sequence", "window")

    def __init__(
        self, kind: int, sequence: int, ack: int, window: int, *, first: bool, last: bool, fragment: bytes
    ) -> None:
        self.kind = kind
        self.sequence = sequence
        self.ack = ack
        self.window = window
        self.first = first
        self.last = last
        self.fragment = fragment


def segment_of(packet: Control | Ack) -> Segment:
    """What it says but for the session."""
    if isinstance(packet, Ack):
        return Segment(0, 0, packet.ack, packet.window, first=False, last=False, fragment=b"")
    kind, _, _, sequence, ack, window, first, last, fragment, _ = packet
    return Segment(kind, sequence, ack, window, first=first, last=last, fragment=fragment)


class _Open:
    """A payload of which not all fragments have come."""

    def __init__(self) -> None:
        self.data = bytearray()
        """So a fragment costs its bytes and no more, however small it is."""
        self.discarding = False

    def discard(self) -> None:
        """Forget what came; what comes is thrown away."""
        self.data, self.discarding = bytearray(), True


class Reassembly:
    """Puts payloads together from fragments; of each kind one may be open, of all together so many bytes."""

    def __init__(self, payload_bytes: int) -> None:
        self._limit = payload_bytes
        self._open: dict[int, _Open] = {}
        self._size = 0

    def add(self, packet: Segment) -> tuple[tuple[int, bytes] | None, Reason | None]:
        """The next packet in order: (kind, payload) if it completes one, and why something was dropped."""
        if packet.first and packet.last and packet.kind not in self._open:
            if self._size + len(packet.fragment) <= self._limit:
                return (packet.kind, packet.fragment), None
            return None, Reason.OVERSIZE_PAYLOAD
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
        return (None if part.discarding else (packet.kind, bytes(part.data))), reason

    def _take(self, part: _Open, fragment: bytes) -> bool:
        """False if this is what makes it too much."""
        if part.discarding:
            return True
        if self._size + len(fragment) > self._limit:
            self._size -= len(part.data)
            part.discard()
            return False
        part.data += fragment
        self._size += len(fragment)
        return True

    def _close(self, kind: int) -> bool:
        part = self._open.pop(kind, None)
        self._size -= 0 if part is None else len(part.data)
        return part is not None


class Inbound:
    """What one end has received, in order."""

    def __init__(self, timers: TimerConfig, limits: LimitConfig) -> None:
        self.received = 0
        self.window = limits.window_packets
        self.acknowledge_now = False
        self.gap = False
        """Whether the last packet must be answered by an ACK of its own, not by data."""
        self._delay_ns = timers.retransmit_ms * MILLISECOND_NS // 10
        self._reassembly = Reassembly(limits.payload_bytes)
        self._ahead: dict[int, Segment] = {}
        self._unacknowledged = 0
        self._acknowledge_at: int | None = None

    def accept(self, now_ns: int, packet: Segment) -> tuple[list[tuple[int, bytes]], list[Reason]]:
        """Take a packet of the session: the payloads it completes, and what was dropped."""
        if packet.sequence == self.received + 1 <= self.received + self.window:
            return self._in_order(now_ns, packet)
        if packet.sequence <= self.received or packet.sequence in self._ahead:
            self.acknowledge_now = self.gap = True
            return [], [Reason.DUPLICATE_CONTROL]
        if packet.sequence > self.received + self.window:
            self.acknowledge_now = self.gap = True
            return [], [Reason.OUTSIDE_WINDOW]
        self._ahead[packet.sequence] = packet
        self.acknowledge_now = self.gap = True
        return [], []

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

    def _in_order(self, now_ns: int, packet: Segment) -> tuple[list[tuple[int, bytes]], list[Reason]]:
        payloads, reasons = [], []
        filled = len(self._ahead) > 0
        following: Segment | None = packet
        while following is not None:
            self.received += 1
            payload, reason = self._reassembly.add(following)
            if payload is not None:
                payloads.append(payload)
            if reason is not None:
                reasons.append(reason)
            following = self._ahead.pop(self.received + 1, None) if filled else None
        self._schedule_ack(now_ns, at_once=filled)
        return payloads, reasons

    def _schedule_ack(self, now_ns: int, at_once: bool) -> None:
        self._unacknowledged += 1
        if at_once or self._unacknowledged >= ACKNOWLEDGE_EVERY:
            self.acknowledge_now = True
        elif self._acknowledge_at is None:
            self._acknowledge_at = now_ns + self._delay_ns


class Channel:
    """One end of a session. `take_packets` after every call that takes a time."""

    def __init__(self, local: int, peer: int, mtu: int, timers: TimerConfig, limits: LimitConfig) -> None:
        self.local = local
        self.peer = peer
        self.drops: list[Reason] = []
        self._out = Outbound(mtu - UDP_OVERHEAD_BYTES - CONTROL_HEADER_BYTES, timers, limits)
        self._in = Inbound(timers, limits)
        self._packets: list[bytes] = []
        self._impossible = 0
        """How many packets in a row acknowledged what was never sent."""

    @property
    def idle(self) -> bool:
        """Whether everything sent has been acknowledged."""
        return self._out.idle

    @property
    def spent(self) -> bool:
        """Whether the session must be renewed: no number is left, or the ends differ on what was sent."""
        return self._out.spent or self._impossible >= IMPOSSIBLE_IN_A_ROW

    @property
    def acknowledged_ticket(self) -> int:
        """All payloads up to this ticket have arrived."""
        return self._out.acknowledged_ticket

    @property
    def retransmissions(self) -> int:
        """How many packets were sent again."""
        return self._out.retransmissions

    @property
    def quiet(self) -> bool:
        """Whether everything sent has been acknowledged that says something of the network's state."""
        return self._out.idle_but_for(STREAMED)

    @property
    def waiting(self) -> int:
        """How many payloads have not begun to be sent."""
        return self._out.waiting

    def send(self, now_ns: int, kind: int, payload: bytes, key: Hashable = None) -> int:
        """Send a payload; one that still waits under the same key is replaced. Returns its ticket."""
        urgent = kind in URGENT
        at_once = None if self._in.gap else self._out.send_at_once(now_ns, kind, payload, urgent)
        if at_once is not None:
            sequence, fragment = at_once
            self._transmit(sequence, fragment)
            return fragment.ticket
        ticket = self._out.enqueue(kind, payload, key, urgent)
        self._flush(now_ns)
        return ticket

    def promise(self, now_ns: int, key: Hashable, make: Promise) -> None:
        """Send what is made once its turn has come; nothing if that is promised already."""
        self._out.promise(key, make)
        self._flush(now_ns)

    def forget(self, key: Hashable) -> None:
        """Do not send what still waits under the key."""
        self._out.forget(key)

    def receive(self, now_ns: int, packet: Control | Ack) -> list[tuple[int, bytes]]:
        """Take a packet of this session; returns the (kind, payload)s it completes, in order."""
        return self.take(now_ns, segment_of(packet))

    def take(self, now_ns: int, said: Segment) -> list[tuple[int, bytes]]:
        """Take what a packet of this session says, as `receive`."""
        if not self._out.plausible(said.ack):
            self.drops.append(Reason.IMPOSSIBLE_ACK)
            self._impossible += 1
            return []
        self._impossible = 0
        payloads: list[tuple[int, bytes]] = []
        pure = said.sequence == 0
        if not pure:
            payloads, reasons = self._in.accept(now_ns, said)
            self.drops += reasons
        self._out.acknowledge(now_ns, said.ack, said.window, pure)
        if self._in.gap or self._out.has_more:
            self._flush(now_ns)
        return payloads

    def handle_timer(self, now_ns: int) -> None:
        """Resend and acknowledge what is due."""
        self._out.handle_timer(now_ns)
        self._in.handle_timer(now_ns)
        self._flush(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        return earlier(self._out.next_deadline(), self._in.next_deadline())

    def take_packets(self) -> list[bytes]:
        """The packets to send, in order; what arrived since the last call is acknowledged once."""
        if self._in.acknowledge_now:
            self._acknowledge()
        packets, self._packets = self._packets, []
        return packets

    def _flush(self, now_ns: int) -> None:
        if self._in.gap:
            # Only a pure ACK counts as a repeat at the sender, so data cannot stand in for it.
            self._acknowledge()
        if self._out.has_more:
            for sequence, fragment in self._out.collect(now_ns):
                self._transmit(sequence, fragment)

    def _transmit(self, sequence: int, fragment: Fragment) -> None:
        packet = codec.encode_control(
            fragment.kind,
            self.local,
            self.peer,
            sequence,
            self._in.received,
            self._in.window,
            fragment.first,
            fragment.last,
            fragment.data,
        )
        self._packets.append(packet)
        self._in.acknowledged()

    def _acknowledge(self) -> None:
        self._packets.append(codec.encode_ack(self.local, self.peer, self._in.received, self._in.window))
        self._in.acknowledged()
