"""The codec the nodes use: packets, payloads and predicates as bytes and back.

A typed face over the compiled codec; everything the other rooms need of the
format can be imported from here. `docs/wire-format.md` is the authority; the
readable definition for people with Scapy is `nodes.wire.layers`.

A decoder given any bytes returns a value or raises `WireError`; an encoder
given a value the format cannot carry raises `UsageError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastpath import codec as compiled
from fastpath.codec import UsageError, WireError
from nodes.wire.packets import Ack, Control, Hello, Message, Packet, PacketType, Pad, Role, Trailer
from nodes.wire.payloads import decode_payload, encode_payload, kind_of
from nodes.wire.predicates import (
    attribute_mapping,
    attribute_tuples,
    decode_attributes,
    decode_filter,
    decode_predicate,
    encode_attributes,
    encode_filter,
    encode_predicate,
)

if TYPE_CHECKING:
    from fastpath.codec import TrailerTuple

__all__ = [
    "UsageError",
    "WireError",
    "decode",
    "decode_attributes",
    "decode_datagram",
    "decode_destinations",
    "decode_filter",
    "decode_payload",
    "decode_predicate",
    "encode",
    "encode_attributes",
    "encode_destinations",
    "encode_filter",
    "encode_payload",
    "encode_predicate",
    "kind_of",
    "split_datagram",
    "validate_message",
]

validate_message = compiled.validate_message
encode_destinations = compiled.encode_destinations
decode_destinations = compiled.decode_destinations


def encode(packet: Packet) -> bytes:
    """The bytes of one packet.

    Raises:
        UsageError: The format cannot carry it.
    """
    match packet:
        case Message():
            return _encode_message(packet)
        case Control():
            return _encode_control(packet)
        case Ack():
            p, trailer = packet, _trailer_tuple(packet.trailer)
            return compiled.encode_ack(p.incarnation, p.peer_incarnation, p.ack, p.window, trailer)
        case Hello():
            return _encode_hello(packet)
        case Pad():
            return compiled.encode_pad(packet.length)
    raise UsageError(f"{packet!r} is no packet")


def decode(data: bytes) -> Packet:
    """Exactly one packet.

    Raises:
        WireError: The bytes are anything else.
    """
    kind, fields = compiled.decode_packet(data)
    return _build(kind, *fields)


def split_datagram(data: bytes) -> list[tuple[PacketType, bytes]]:
    """The packets of a datagram, framed but not looked into.

    Raises:
        WireError: The framing is broken, which rejects the whole datagram.
    """
    frames = compiled.split_datagram(data)
    return [(PacketType(kind), data[offset : offset + length]) for kind, offset, length in frames]


def decode_datagram(data: bytes) -> list[Packet]:
    """All packets of a datagram, PAD included.

    For reading what is known to be good: one bad packet raises. A node, which
    must not let it affect its neighbours, splits and decodes one by one.

    Raises:
        WireError: The framing or a packet is malformed.
    """
    return [decode(packet) for _, packet in split_datagram(data)]


def _trailer_tuple(trailer: Trailer | None) -> TrailerTuple | None:
    return None if trailer is None else (trailer.tag, trailer.key_id, trailer.algorithm)


def _trailer(fields: TrailerTuple | None) -> Trailer | None:
    return None if fields is None else Trailer(*fields)


def _encode_message(p: Message) -> bytes:
    attributes, trailer = attribute_tuples(p.attributes), _trailer_tuple(p.trailer)
    head = (p.source, p.sequence, p.publish_time_ns)
    return compiled.encode_message(
        *head, attributes, p.header_class, p.hop_limit, p.hop_count, p.route, trailer
    )


def _encode_hello(p: Hello) -> bytes:
    seen = (p.seen_node, p.seen_incarnation)
    trailer = _trailer_tuple(p.trailer)
    return compiled.encode_hello(p.role, p.node, p.incarnation, p.hold_time_ms, *seen, trailer)


def _encode_control(p: Control) -> bytes:
    session = (p.kind, p.incarnation, p.peer_incarnation, p.sequence, p.ack, p.window)
    return compiled.encode_control(*session, p.first, p.last, p.fragment, _trailer_tuple(p.trailer))


# The compiled codec's tuples have the order of the dataclasses' fields.
def _build(kind: int, *fields: Any) -> Packet:
    if kind == PacketType.PAD:
        return Pad(*fields)
    values = [*fields[:-1], _trailer(fields[-1])]
    if kind == PacketType.MESSAGE:
        values[3] = attribute_mapping(values[3])
        return Message(*values)
    if kind == PacketType.CONTROL:
        return Control(*values)
    if kind == PacketType.ACK:
        return Ack(*values)
    return Hello(Role(values[0]), *values[1:])
