"""The CBN wire format as Scapy layers: its readable definition.

    >>> from scapy.all import *
    >>> from nodes.wire.layers import *
    >>> hello = IP() / UDP() / CBNHello(role="client", node=7, incarnation=1)
    >>> rdpcap("r1-eth0.pcap")[0].show()

Importing this binds UDP port 61803. A datagram is a sequence of packets, which
Scapy shows as layers upon each other: `UDP / CBNMessage / CBNMessage / CBNPad`.
What stands inside packets is in `layer_parts`.

Lengths and counts are computed when a packet is built and believed when one is
read. Where Scapy has its own use for a name, the field is called otherwise:
`attribute` for an attribute's name, `route_data`, `fragment_data`. Whether
bytes are canonical is for `nodes.wire.codec` to judge.
`docs/wire-format.md` is the authority.
"""

# Scapy asks for lists as class attributes and hands every field the packet.
# ruff: noqa: RUF012

from __future__ import annotations

from typing import Any

from scapy.config import conf
from scapy.fields import (
    ByteEnumField,
    ByteField,
    ConditionalField,
    FieldLenField,
    FlagsField,
    IntField,
    LongField,
    MultipleTypeField,
    PacketField,
    PacketLenField,
    PacketListField,
    ShortField,
    XLongField,
    XStrLenField,
)
from scapy.layers.inet import UDP
from scapy.packet import NoPayload, Packet, Raw, bind_bottom_up, bind_top_down

from nodes.wire.layer_parts import (
    ALGORITHMS,
    LIST_MAX,
    PAYLOADS,
    CBNAdvertise,
    CBNAttribute,
    CBNCause,
    CBNCbcbEra,
    CBNCbcbRA,
    CBNCbcbSR,
    CBNCbcbUR,
    CBNCdUpdate,
    CBNChangeMarking,
    CBNChangeMarkingReply,
    CBNConstraint,
    CBNCostAnnounce,
    CBNDescriptor,
    CBNFilter,
    CBNInterest,
    CBNInterestChange,
    CBNLinkState,
    CBNNeighbour,
    CBNOffer,
    CBNOfferChange,
    CBNPredicate,
    CBNRecordRequest,
    CBNRefused,
    CBNRenewal,
    CBNSienaAdvertise,
    CBNSienaSubscribe,
    CBNSienaUnadvertise,
    CBNSienaUnsubscribe,
    CBNSubscribe,
    CBNSubscribePattern,
    CBNTrailer,
    CBNUnadvertise,
    CBNUnsubscribe,
    CBNUnsubscribePattern,
    Part,
    RouteField,
)
from nodes.wire.packets import DEFAULT_HOP_LIMIT, PORT, VERSION, Kind, PacketType, Role

__all__ = [
    "CBN",
    "PACKETS",
    "PAYLOADS",
    "PORT",
    "CBNAck",
    "CBNAdvertise",
    "CBNAttribute",
    "CBNCause",
    "CBNCbcbEra",
    "CBNCbcbRA",
    "CBNCbcbSR",
    "CBNCbcbUR",
    "CBNCdUpdate",
    "CBNChangeMarking",
    "CBNChangeMarkingReply",
    "CBNConstraint",
    "CBNControl",
    "CBNCostAnnounce",
    "CBNDescriptor",
    "CBNFilter",
    "CBNHello",
    "CBNInterest",
    "CBNInterestChange",
    "CBNLinkState",
    "CBNMatch",
    "CBNMessage",
    "CBNNeighbour",
    "CBNOffer",
    "CBNOfferChange",
    "CBNPad",
    "CBNPredicate",
    "CBNRecordRequest",
    "CBNRefused",
    "CBNRenewal",
    "CBNSeal",
    "CBNSienaAdvertise",
    "CBNSienaSubscribe",
    "CBNSienaUnadvertise",
    "CBNSienaUnsubscribe",
    "CBNSubscribe",
    "CBNSubscribePattern",
    "CBNTrailer",
    "CBNUnadvertise",
    "CBNUnsubscribe",
    "CBNUnsubscribePattern",
    "Layer",
    "Part",
    "frame_size",
]

PACKET_TYPES = {int(kind): kind.name for kind in PacketType}
ROLES = {int(role): role.name.lower() for role in Role}
KINDS = {0: "none"} | {int(kind): kind.name for kind in Kind}
FLAGS = ["AUTH", "FIRST", "LAST"]
MESSAGE_FLAGS = ["AUTH", "PAYLOAD"]
MINIMUM = {0: 4, 1: 36, 2: 32, 3: 32, 4: 32, 5: 40}
"""The least length of each packet type."""
Layer = Packet


def _common(kind: PacketType) -> list[Any]:
    return [
        ByteField("version", VERSION),
        ByteEnumField("type", int(kind), PACKET_TYPES),
        ShortField("length", None),
    ]


def _flags(default: int = 0, names: list[str] = FLAGS) -> FlagsField:
    return FlagsField("flags", default, 8, names)


def _trailer() -> ConditionalField:
    return ConditionalField(
        PacketField("trailer", CBNTrailer(), CBNTrailer), lambda packet: packet.flags.AUTH
    )


def frame_size(data: bytes) -> int | None:
    """The length of the packet at the start of the data; None if it cannot be framed."""
    minimum = MINIMUM.get(data[1]) if len(data) >= 4 and data[0] == VERSION else None
    size = int.from_bytes(data[2:4])
    return size if minimum is not None and minimum <= size <= len(data) else None


class CBN(Packet):
    """A CBN packet: call it with bytes and it becomes the class of the packet's type."""

    name = "CBN"
    fields_desc = _common(PacketType.PAD)

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_args: Any, **_options: Any) -> type[Packet]:
        """The class for these bytes; what cannot be framed is Raw."""
        if _pkt is None:
            return cls
        return Raw if frame_size(_pkt) is None else PACKETS[_pkt[1]]

    def do_dissect(self, s: bytes) -> bytes:
        """Read this packet within its own length."""
        size = int.from_bytes(s[2:4])
        return bytes(super().do_dissect(s[:size])) + s[size:]

    def do_dissect_payload(self, s: bytes) -> None:
        """Stack the packets that follow in a loop: a super-datagram has more than calls can nest."""
        last: Packet = self
        while s:
            size = frame_size(s) or len(s)
            layer = _dissect_one(s[:size])
            layer.underlayer = last
            last.payload = layer
            last, s = layer, s[size:]

    def chain(self) -> tuple[list[CBN], Packet]:
        """This packet and those that follow, and what comes after them."""
        found, layer = [self], self.payload
        while isinstance(layer, CBN):
            found.append(layer)
            layer = layer.payload
        return found, layer

    # Scapy does these by calls within calls.

    def do_build_payload(self) -> bytes:
        """Build the packets that follow."""
        packets, beyond = self.chain()
        return b"".join(packet.alone() for packet in packets[1:]) + bytes(beyond.do_build())

    def build_padding(self) -> bytes:
        """Build what Scapy keeps as padding."""
        return bytes(self.chain()[1].build_padding())

    def build_done(self, p: bytes) -> bytes:
        """End a build."""
        return bytes(self.chain()[1].build_done(p))

    def dissection_done(self, pkt: Packet) -> None:
        """End a dissection."""
        packets, beyond = self.chain()
        for packet in packets:
            packet.post_dissection(pkt)
        beyond.dissection_done(pkt)

    def alone(self) -> bytes:
        """The bytes of this packet without those that follow."""
        own = bytes(self.self_build())
        return own if self.raw_packet_cache is not None else self.post_build(own, b"")

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill in the length."""
        if self.length is None:
            pkt = pkt[:2] + len(pkt).to_bytes(2) + pkt[4:]
        return pkt + pay


def _dissect_one(data: bytes) -> Packet:
    """One packet, or Raw where it makes no sense, so that its neighbours are read all the same."""
    try:
        layer = CBN(data)
    except Exception:
        if conf.debug_dissector:
            raise
        return Raw(data)
    return layer if isinstance(layer.payload, NoPayload) else Raw(data)


class CBNPad(CBN):
    """Fills a segment."""

    name = "CBN PAD"
    fields_desc = [
        *_common(PacketType.PAD),
        XStrLenField("padding", b"", length_from=lambda packet: packet.length - 4),
    ]


def _carried(field: Any) -> ConditionalField:
    return ConditionalField(field, lambda packet: packet.flags.PAYLOAD)


def _payload_length(packet: Packet) -> int:
    """Of a message's payload, which ends with its length."""
    end = packet.length - (packet.original[packet.length - 1] + 4 if packet.flags.AUTH else 0)
    return int.from_bytes(packet.original[max(0, end - 2) : max(0, end)])


class CBNMessage(CBN):
    """A published message."""

    name = "CBN MESSAGE"
    fields_desc = [
        *_common(PacketType.MESSAGE),
        _flags(names=MESSAGE_FLAGS),
        ByteField("hop_limit", DEFAULT_HOP_LIMIT),
        ByteField("hop_count", 0),
        ByteField("reserved", 0),
        IntField("source", 1),
        IntField("header_class", 0),
        LongField("sequence", 0),
        LongField("publish_time_ns", 0),
        FieldLenField("route_length", None, fmt="H", length_of="route_data"),
        FieldLenField("attribute_count", None, fmt="H", count_of="attributes"),
        RouteField("route_data", b"", length_from=lambda packet: packet.route_length),
        PacketListField(
            "attributes",
            [],
            CBNAttribute,
            count_from=lambda packet: packet.attribute_count,
            max_count=LIST_MAX,
        ),
        _carried(XStrLenField("payload_data", b"", length_from=_payload_length)),
        _carried(FieldLenField("payload_length", None, fmt="H", length_of="payload_data")),
        _trailer(),
    ]

    def mysummary(self) -> str:
        """The message's id and how far it has come."""
        return str(self.sprintf("CBN MESSAGE %source%:%sequence% after %hop_count% hops"))


class CBNMatch(Part):
    """Control payload: the messages of one match of a pattern, upon each other as in a datagram."""

    name = "CBN MATCH"
    fields_desc = [IntField("pattern", 0), PacketField("messages", CBNMessage(), CBN)]


PAYLOADS[Kind.MATCH] = CBNMatch


class CBNHello(CBN):
    """Neighbour discovery and keep-alive."""

    name = "CBN HELLO"
    fields_desc = [
        *_common(PacketType.HELLO),
        _flags(),
        ByteEnumField("role", 1, ROLES),
        ShortField("hold_time_ms", 3000),
        IntField("node", 1),
        IntField("seen_node", 0),
        XLongField("incarnation", 1),
        XLongField("seen_incarnation", 0),
        _trailer(),
    ]

    def mysummary(self) -> str:
        """Who sends it, and whose HELLO it has received."""
        return str(self.sprintf("CBN HELLO of %role% %node%, hears %seen_node%"))


def _session(kind: int, sequence: int) -> list[Any]:
    return [
        ByteEnumField("kind", kind, KINDS),
        ShortField("window", 0),
        XLongField("incarnation", 1),
        XLongField("peer_incarnation", 1),
        IntField("sequence", sequence),
        IntField("ack", 0),
    ]


def _fragment_length(packet: Packet) -> int:
    trailer = packet.original[packet.length - 1] + 4 if packet.flags.AUTH else 0
    return max(0, int(packet.length) - 32 - trailer)


def _is_whole(packet: Packet) -> bool:
    return bool(packet.flags.FIRST and packet.flags.LAST) and packet.kind in PAYLOADS


NO_PAYLOAD: Any = None
"""What a whole fragment of no bytes is to Scapy."""


def _payload_of(data: bytes, _parent: Packet | None = None) -> Packet:
    """The layer of a payload that came in one fragment, by the kind its packet names."""
    if _parent is None:
        return Raw(data)
    return PAYLOADS[_parent.kind](data, _parent=_parent)


class CBNControl(CBN):
    """One fragment of a control payload; shown as the payload if it is the only one."""

    name = "CBN CONTROL"
    fields_desc = [
        *_common(PacketType.CONTROL),
        _flags(0b110),
        *_session(Kind.LINK_STATE, 1),
        MultipleTypeField(
            [(PacketLenField("fragment_data", NO_PAYLOAD, _payload_of, _fragment_length), _is_whole)],
            XStrLenField("fragment_data", b"", length_from=_fragment_length),
        ),
        _trailer(),
    ]

    def mysummary(self) -> str:
        """What is carried, and its place in the session."""
        return str(self.sprintf("CBN CONTROL %kind% sequence %sequence% ack %ack%"))


class CBNAck(CBN):
    """Acknowledges CONTROL packets."""

    name = "CBN ACK"
    fields_desc = [*_common(PacketType.ACK), _flags(), *_session(0, 0), _trailer()]

    def mysummary(self) -> str:
        """How far it acknowledges."""
        return str(self.sprintf("CBN ACK %ack%"))


class CBNSeal(CBN):
    """Proves who sent the datagram that it ends."""

    name = "CBN SEAL"
    fields_desc = [
        *_common(PacketType.SEAL),
        _flags(names=[]),
        ByteEnumField("algorithm", 2, ALGORITHMS),
        ShortField("key_id", 0),
        XLongField("session", 0),
        LongField("counter", 0),
        XStrLenField("mac", bytes(16), length_from=lambda packet: packet.length - 24),
    ]

    def mysummary(self) -> str:
        """Its key and its place in the order."""
        return str(self.sprintf("CBN SEAL key %key_id% counter %counter%"))


PACKETS: dict[int, type[CBN]] = {
    PacketType.PAD: CBNPad,
    PacketType.MESSAGE: CBNMessage,
    PacketType.HELLO: CBNHello,
    PacketType.CONTROL: CBNControl,
    PacketType.ACK: CBNAck,
    PacketType.SEAL: CBNSeal,
}


bind_bottom_up(UDP, CBN, dport=PORT)
bind_bottom_up(UDP, CBN, sport=PORT)
_ALL: list[type[CBN]] = [CBN, *PACKETS.values()]
for _packet in _ALL:
    bind_top_down(UDP, _packet, sport=PORT, dport=PORT)
