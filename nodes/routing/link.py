"""One end of a link: the adjacency, the channel of its session, and the datagrams that go out.

The same for routers and clients, which take what arrives as `LinkUp`,
`LinkDown` and `Arrived` and decide what it means. Not here: what payloads hold.
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

from fastpath.wire import codec
from nodes.config import InterfaceConfig, LinkKey, NodeConfig
from nodes.routing.adjacency import Adjacency, Change, State
from nodes.routing.channel import UDP_OVERHEAD_BYTES, Channel, Segment, segment_of
from nodes.routing.effects import Drop, Log, Output, Reason, Send, Shut
from nodes.routing.guard import SEALS_REFUSED, Guard
from nodes.routing.message_keys import MessageKeys
from nodes.routing.outbound import Promise
from nodes.routing.share import Share
from nodes.wire.codec import WireError, bundle, decode, encode
from nodes.wire.packets import Ack, Control, DatagramSeal, Hello, Packet, PacketType, Pad


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The neighbours receive from each other; a new session begins."""


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The session is over; what was under way in it is lost."""


@final
class Arrived:
    """A whole control payload."""

    __slots__ = ("kind", "payload")

    def __init__(self, kind: int, payload: bytes) -> None:
        self.kind = kind
        self.payload = payload


CONTROL, ACK = int(PacketType.CONTROL), int(PacketType.ACK)
COUNTED = (CONTROL, ACK)
"""What counts against a neighbour's share (`share`)."""
TYPE_AT = 1
LinkEvent = LinkUp | LinkDown | Arrived


class Link:
    """The exchange of packets with the neighbour at one interface."""

    def __init__(
        self, node: NodeConfig, interface: InterfaceConfig, incarnation: int, rng: random.Random
    ) -> None:
        self.interface = interface
        self._message_keys = MessageKeys(node, interface)
        self.datagram_bytes = interface.mtu - UDP_OVERHEAD_BYTES - self._message_keys.seal_bytes
        self._node = node
        self._adjacency = Adjacency(node, interface, incarnation, rng)
        self._guard = Guard(node, interface)
        self._share = Share(node.limits)
        self._refused: set[Reason] = set()
        """Why seals, or what is over its share, were refused in this session; each reason is logged once."""
        self._now_ns = 0
        self._channel: Channel | None = None
        self._packets: list[bytes] = []
        self._outputs: list[Output] = []
        self._retransmissions = 0
        self.deadline: int | None = None
        """What `next_deadline` found last; None: something has happened since."""
        self.stirred = False
        """Whether something has happened since `take_outputs`, which may have something to give."""

    @property
    def up(self) -> bool:
        """Whether the neighbours receive from each other."""
        return self._channel is not None

    @property
    def state(self) -> State:
        """How far the adjacency is."""
        return self._adjacency.state

    @property
    def incarnation(self) -> int:
        """What names our end of the session."""
        return self._adjacency.incarnation

    @property
    def received_ns(self) -> int:
        """When something of the neighbour last arrived."""
        return self._adjacency.received_ns

    @property
    def quiet(self) -> bool:
        """Nothing but matches is unacknowledged, and no handshake is half done."""
        if self._channel is not None:
            return self._channel.quiet
        return self.state is State.DOWN

    @property
    def idle(self) -> bool:
        """Everything that was sent in this session has been acknowledged."""
        return self._channel is None or self._channel.idle

    @property
    def waiting(self) -> int:
        """How many payloads have not begun to be sent."""
        return self._channel.waiting if self._channel is not None else 0

    @property
    def acknowledged_ticket(self) -> int:
        """Payloads up to this ticket have arrived in this session."""
        return self._channel.acknowledged_ticket if self._channel is not None else 0

    @property
    def retransmissions(self) -> int:
        """Control packets sent again, over all sessions."""
        current = self._channel.retransmissions if self._channel is not None else 0
        return self._retransmissions + current

    def receive(self, now_ns: int, packet: bytes) -> list[LinkEvent]:
        """Take one packet that is not a MESSAGE."""
        self.stirred, self.deadline = True, None
        self._now_ns = now_ns
        counts = self._share.is_limited and len(packet) > TYPE_AT and packet[TYPE_AT] in COUNTED
        if counts and not self._within_share(now_ns):
            return []
        if self._guard.watches and not self._admits(now_ns, packet):
            return []
        if counts:
            self._share.count_packet()
        said = self._of_session(packet)
        if said is not None:
            events = self._take_said(now_ns, said)
        else:
            try:
                events = self._dispatch(now_ns, decode(packet))
            except WireError:
                self.drop(Reason.MALFORMED)
                return []
        if counts:
            self._look_at_share(now_ns)
        self._gather(now_ns)
        return events

    def send(self, now_ns: int, kind: int, payload: bytes, key: Hashable = None) -> int:
        """Send a payload over the session, which must be up; returns its ticket."""
        assert self._channel is not None, "the link is down"
        self.stirred, self.deadline = True, None
        return self._channel.send(now_ns, kind, payload, key)

    def promise(self, now_ns: int, key: Hashable, make: Promise) -> None:
        """Send over the session, which must be up, what is made once its turn has come."""
        assert self._channel is not None, "the link is down"
        self._stir()
        self._channel.promise(now_ns, key, make)

    def forget(self, key: Hashable) -> None:
        """Do not send what still waits under the key."""
        if self._channel is not None:
            self._channel.forget(key)

    def use_keys(self, now_ns: int, keys: tuple[LinkKey, ...]) -> None:
        """Seal and look at seals with these keys from now on."""
        self._guard.use(now_ns, keys)
        self._refused.clear()
        if self._message_keys.watches:
            self._stir()
            self._message_keys.use(keys)
            self._name_messages(now_ns)

    def put(self, packet: bytes) -> None:
        """Send a packet as it is."""
        self._stir()
        self._packets.append(packet)

    def drop(self, reason: Reason, **fields: object) -> None:
        """Count a drop; with fields, also log it."""
        self._stir()
        self._outputs.append(Drop(self.interface.index, reason))
        if fields:
            who = {"interface": self.interface.name, "peer": self.interface.peer_name}
            self._outputs.append(Log(reason, {**who, **fields}))

    def handle_timer(self, now_ns: int) -> list[LinkEvent]:
        """Do what is due."""
        self._stir()
        self._now_ns = now_ns
        if self._share.is_limited:
            self._look_at_share(now_ns)
        events = self._changes(self._adjacency.handle_timer(now_ns))
        if self._channel is not None:
            self._channel.handle_timer(now_ns)
        self._gather(now_ns)
        if self._channel is not None and self._channel.spent:
            events += self._changes(self._adjacency.give_up(now_ns))
        return events

    def next_deadline(self) -> int:
        """When `handle_timer` is wanted."""
        if self.deadline is None:
            hello_at = self._adjacency.next_deadline()
            deadline = self._channel.next_deadline() if self._channel is not None else None
            self.deadline = hello_at if deadline is None else min(hello_at, deadline)
            opens_at = self._share.opens_at
            if opens_at is not None and opens_at < self.deadline:
                self.deadline = opens_at
        return self.deadline

    def take_outputs(self) -> list[Output]:
        """Drops and logs, then the packets bundled into datagrams of at most the MTU."""
        outputs, self._outputs = self._outputs, []
        packets, self._packets = self._packets, []
        self.stirred, self.deadline = False, None  # an acknowledgement that goes out now is not due later
        if self._channel is not None:
            packets += self._channel.take_packets()
        if packets:
            if self._guard.watches:
                packets = [self._guard.seal(self._now_ns, packet) for packet in packets]
            index = self.interface.index
            datagrams = packets if len(packets) == 1 else bundle(packets, self.datagram_bytes)
            for datagram in datagrams:
                outputs.append(Send(index, datagram))
        return outputs

    def _stir(self) -> None:
        self.stirred, self.deadline = True, None

    def _admits(self, now_ns: int, packet: bytes) -> bool:
        """Whether a packet may be the neighbour's."""
        opening = 0 if self.up else self._adjacency.incarnation
        reason = self._guard.refusal(now_ns, packet, opening)
        if reason is None:
            return True
        permitted = self._guard.permits(reason)
        if reason in self._refused:
            self.drop(reason)
        else:
            self._refused.add(reason)
            self.drop(reason, why=SEALS_REFUSED[reason], taken=permitted)
        return permitted

    def _within_share(self, now_ns: int) -> bool:
        """Whether the neighbour is within its share; if not, the packet is dropped, whoever it is of."""
        self._look_at_share(now_ns)
        setting = self._share.shut_by
        if setting is None:
            return True
        first = Reason.OVER_SHARE not in self._refused
        self._refused.add(Reason.OVER_SHARE)
        self.drop(Reason.OVER_SHARE, **({"setting": setting} if first else {}))
        return False

    def _look_at_share(self, now_ns: int) -> None:
        """Whoever carries the packets is told whether to bring those that count."""
        if self._share.look(now_ns):
            self._outputs.append(Shut(self.interface.index, self._share.shut_by is not None))

    def _of_session(self, packet: bytes) -> Segment | None:
        """What a packet says that names our session and has no seal, as most do; None: `_dispatch` tells."""
        adjacency = self._adjacency
        fields = codec.read_session(packet, adjacency.peer_incarnation, adjacency.incarnation)
        if fields is None or adjacency.state is State.DOWN:
            return None
        kind, sequence, ack, window, first, last, fragment = fields
        return Segment(kind, sequence, ack, window, first=first, last=last, fragment=fragment)

    def _dispatch(self, now_ns: int, packet: Packet) -> list[LinkEvent]:
        match packet:
            case Control() | Ack():
                return self._take_session(now_ns, packet)
            case Hello():
                return self._take_hello(now_ns, packet)
            case Pad() | DatagramSeal():
                return []
        self.drop(Reason.UNEXPECTED_PACKET)
        return []

    def _take_hello(self, now_ns: int, hello: Hello) -> list[LinkEvent]:
        refused = self._adjacency.refusal(hello)
        if refused is not None:
            self.drop(refused)
            return []
        return self._changes(self._adjacency.receive(now_ns, hello))

    def _take_session(self, now_ns: int, packet: Control | Ack) -> list[LinkEvent]:
        adjacency = self._adjacency
        named = packet.peer_incarnation == adjacency.incarnation
        if adjacency.state is State.DOWN or not named or packet.incarnation != adjacency.peer_incarnation:
            self.drop(Reason.OTHER_SESSION)
            return []
        return self._take_said(now_ns, segment_of(packet))

    def _take_said(self, now_ns: int, said: Segment) -> list[LinkEvent]:
        """A packet of the session came."""
        changes = self._adjacency.prove(now_ns)
        events = self._changes(changes) if changes else []
        assert self._channel is not None
        for kind, payload in self._channel.take(now_ns, said):
            if self._share.is_limited:
                self._share.count_payload(len(payload))
            events.append(Arrived(kind, payload))
        return events

    def _changes(self, changes: list[Change]) -> list[LinkEvent]:
        events: list[LinkEvent] = []
        for change in changes:
            if self._channel is not None:
                self._retransmissions += self._channel.retransmissions
            self._channel = self._open() if change is Change.OPENED else None
            self._refused.clear()
            events.append(LinkUp() if change is Change.OPENED else LinkDown())
        return events

    def _open(self) -> Channel:
        adjacency, node = self._adjacency, self._node
        mtu = self.interface.mtu - self._guard.seal_bytes
        return Channel(adjacency.incarnation, adjacency.peer_incarnation, mtu, node.timers, node.limits)

    def _gather(self, now_ns: int) -> None:
        """Collect what the adjacency has to send, and the logs and drops of both."""
        if self._message_keys.watches:
            self._name_messages(now_ns)
        if (hello := self._adjacency.take_hello(now_ns)) is not None:
            self._packets.append(encode(hello))
        if self._adjacency.log:
            self._outputs += self._adjacency.log
            self._adjacency.log.clear()
        if self._channel is not None and self._channel.drops:
            for reason in self._channel.drops:
                self._drop(reason)
            self._channel.drops.clear()

    def _name_messages(self, now_ns: int) -> None:
        """Messages are sealed by sessions, which an adjacency may have begun or ended."""
        adjacency = self._adjacency
        names = adjacency.incarnation, adjacency.peer_incarnation
        told = self._message_keys.look(now_ns, names, up=adjacency.state is State.UP)
        if told is not None:
            self._outputs.append(told)

    def _drop(self, reason: Reason) -> None:
        if reason is Reason.OVERSIZE_PAYLOAD:
            self.drop(reason, limit_bytes=self._node.limits.payload_bytes, setting="limits.payload_bytes")
        else:
            self.drop(reason)
