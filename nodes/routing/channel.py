"""A reliable, ordered, flow-controlled channel over one link, for one session.

Theory of operation. A session is named by the incarnations of its two ends and
lives as long as the adjacency. Each direction numbers its packets from 1. Every
packet says up to where everything has arrived (`ack`) and how many more will be
taken (`window`). Payloads larger than a packet are cut to the interface's MTU
and put together again at the other end; payloads arrive once and whole, and in
the order in which they were sent, but that those of urgent kinds overtake
others. What arrives wrong is counted and changes nothing.

Here: the two halves joined and made into packets. The rules of sending are in
`outbound`, those of receiving in `inbound`; who the neighbour is, in `adjacency`.
"""

from __future__ import annotations

from collections.abc import Hashable

from fastpath import codec
from nodes.config import LimitConfig, TimerConfig
from nodes.routing.drops import Reason
from nodes.routing.inbound import Inbound
from nodes.routing.outbound import Fragment, Outbound, Promise
from nodes.wire.packets import Ack, Control, Kind

UDP_OVERHEAD_BYTES = 28
"""IPv4 and UDP headers."""
CONTROL_HEADER_BYTES = 32
URGENT = frozenset((Kind.LINK_STATE, Kind.RECORD_REQUEST))
"""Kinds of small payloads that pass between the fragments of large ones of other kinds."""


class Channel:
    """One end of a session. `take_packets` after every call that takes a time."""

    def __init__(self, local: int, peer: int, mtu: int, timers: TimerConfig, limits: LimitConfig) -> None:
        self.local = local
        self.peer = peer
        self.drops: list[Reason] = []
        self._out = Outbound(mtu - UDP_OVERHEAD_BYTES - CONTROL_HEADER_BYTES, timers, limits)
        self._in = Inbound(timers, limits)
        self._packets: list[bytes] = []

    @property
    def idle(self) -> bool:
        """Whether everything sent has been acknowledged."""
        return self._out.idle

    @property
    def spent(self) -> bool:
        """Whether the session ran out of sequence numbers and must be renewed."""
        return self._out.spent

    @property
    def acknowledged_ticket(self) -> int:
        """All payloads up to this ticket have arrived."""
        return self._out.acknowledged_ticket

    @property
    def retransmissions(self) -> int:
        """How many packets were sent again."""
        return self._out.retransmissions

    def send(self, now_ns: int, kind: int, payload: bytes, key: Hashable = None) -> int:
        """Send a payload; one that still waits under the same key is replaced. Returns its ticket."""
        ticket = self._out.enqueue(kind, payload, key, urgent=kind in URGENT)
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
        if not self._out.plausible(packet.ack):
            self.drops.append(Reason.IMPOSSIBLE_ACK)
            return []
        payloads: list[tuple[int, bytes]] = []
        if isinstance(packet, Control):
            payloads, reasons = self._in.accept(now_ns, packet)
            self.drops += reasons
        self._out.acknowledge(now_ns, packet.ack, packet.window, pure=isinstance(packet, Ack))
        self._flush(now_ns)
        return payloads

    def handle_timer(self, now_ns: int) -> None:
        """Resend and acknowledge what is due."""
        self._out.handle_timer(now_ns)
        self._in.handle_timer(now_ns)
        self._flush(now_ns)

    def next_deadline(self) -> int | None:
        """When `handle_timer` is wanted."""
        ours, theirs = self._out.next_deadline(), self._in.next_deadline()
        if ours is None or theirs is None:
            return theirs if ours is None else ours
        return min(ours, theirs)

    @property
    def has_packets(self) -> bool:
        """Whether `take_packets` would give any."""
        return bool(self._packets) or self._in.acknowledge_now

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
