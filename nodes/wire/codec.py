"""The codec the nodes use: packets, attributes, filters and predicates as bytes and back.

A typed face over the compiled codec; everything the other rooms need of the
format can be imported from here. `docs/wire-format.md` is the authority; the
readable definition for people with Scapy is `nodes.wire.layers`.

A decoder given any bytes returns a value or raises `WireError`; an encoder
given a value the format cannot carry raises `UsageError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fastpath.wire import codec as compiled
from fastpath.wire.codec import WireError
from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, UsageError, Value, type_of
from nodes.wire.packets import (
    Ack,
    Control,
    DatagramSeal,
    Hello,
    Message,
    Packet,
    PacketType,
    Pad,
    Role,
    Trailer,
)

if TYPE_CHECKING:
    from fastpath.wire.codec import Attribute, ConstraintTuple, Scalar, TrailerTuple

__all__ = [
    "UsageError",
    "WireError",
    "bundle",
    "decode",
    "decode_attributes",
    "decode_datagram",
    "decode_destinations",
    "decode_filter",
    "decode_predicate",
    "encode",
    "encode_attributes",
    "encode_destinations",
    "encode_filter",
    "encode_messages",
    "encode_predicate",
    "split_datagram",
    "validate_message",
]

DATAGRAM_MAX = 65_507
"""What a UDP datagram over IPv4 can carry."""

_TYPES = {int(each): each for each in PacketType}
P = ParamSpec("P")
R = TypeVar("R")


def encoder(encode: Callable[P, R]) -> Callable[P, R]:
    """An encoder that refuses with the model's `UsageError`, the only one that callers know.

    The compiled codec imports no other room and so has an error of its own.
    """

    @wraps(encode)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return encode(*args, **kwargs)
        except compiled.UsageError as error:
            raise UsageError(str(error)) from None

    return call


validate_message = compiled.validate_message
encode_destinations = encoder(compiled.encode_destinations)
encode_messages = encoder(compiled.encode_messages)
decode_destinations = compiled.decode_destinations


@encoder
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
        case DatagramSeal():
            of = packet
            return compiled.encode_seal(of.key_id, of.session, of.counter, of.mac, of.algorithm)
    raise UsageError(f"{packet!r} is no packet")


def decode(data: bytes) -> Packet:
    """Exactly one packet.

    Raises:
        WireError: The bytes are anything else.
    """
    kind, fields = compiled.decode_packet(data)
    if kind >= PacketType.CONTROL and fields[-1] is None:
        return Control._make(fields) if kind == PacketType.CONTROL else Ack._make(fields)
    return _build(kind, *fields)


def split_datagram(data: bytes) -> list[tuple[PacketType, bytes]]:
    """The packets of a datagram, framed but not looked into.

    Raises:
        WireError: The framing is broken, which rejects the whole datagram.
    """
    frames = compiled.split_datagram(data)
    return [(_TYPES[kind], data[offset : offset + length]) for kind, offset, length in frames]


def decode_datagram(data: bytes) -> list[Packet]:
    """All packets of a datagram, PAD included.

    For reading what is known to be good: one bad packet raises. A node, which
    must not let it affect its neighbours, splits and decodes one by one.

    Raises:
        WireError: The framing or a packet is malformed.
    """
    return [decode(packet) for _, packet in split_datagram(data)]


def attribute_tuples(attributes: Mapping[str, Value]) -> list[Attribute]:
    """The attributes as the compiled codec takes them.

    Raises:
        UsageError: A value has none of the five types.
    """
    return [(type_of(value), name, _scalar(value)) for name, value in attributes.items()]


def attribute_mapping(attributes: Iterable[Attribute]) -> dict[str, Value]:
    """The attributes as the model has them, by ascending name."""
    return {name: Time(int(value)) if kind == Type.TIME else value for kind, name, value in attributes}


def filter_tuples(filter_: Filter) -> list[ConstraintTuple]:
    """The constraints as the compiled codec takes them."""
    return [
        (c.type, c.op, c.name, None if c.value is None else _scalar(c.value)) for c in filter_.constraints
    ]


def filter_value(constraints: Iterable[ConstraintTuple]) -> Filter:
    """The filter of decoded constraints."""
    return Filter(_constraint(*constraint) for constraint in constraints)


def predicate_tuples(predicate: Predicate) -> list[list[ConstraintTuple]]:
    """The filters as the compiled codec takes them."""
    return [filter_tuples(filter_) for filter_ in predicate.filters]


def predicate_value(filters: Iterable[Iterable[ConstraintTuple]]) -> Predicate:
    """The predicate of decoded filters."""
    return Predicate(filter_value(constraints) for constraints in filters)


@encoder
def encode_attributes(attributes: Mapping[str, Value]) -> bytes:
    """The attribute section of a message; its count is the mapping's."""
    return compiled.encode_attributes(attribute_tuples(attributes))


def decode_attributes(data: bytes, count: int) -> dict[str, Value]:
    """A section of exactly `count` attributes.

    Raises:
        WireError: It is malformed.
    """
    return attribute_mapping(compiled.decode_attributes(data, count))


@encoder
def encode_filter(filter_: Filter) -> bytes:
    """The canonical bytes of a filter: equal filters, equal bytes."""
    return compiled.encode_filter(filter_tuples(filter_))


def decode_filter(data: bytes) -> Filter:
    """One filter and nothing after it.

    Raises:
        WireError: The bytes are malformed or not canonical.
    """
    return filter_value(compiled.decode_filter(data))


@encoder
def encode_predicate(predicate: Predicate) -> bytes:
    """The canonical bytes of a predicate: equal predicates, equal bytes."""
    return compiled.encode_predicate(predicate_tuples(predicate))


def decode_predicate(data: bytes) -> Predicate:
    """One predicate and nothing after it.

    Raises:
        WireError: The bytes are malformed or not canonical.
    """
    return predicate_value(compiled.decode_predicate(data))


def bundle(packets: Sequence[bytes], size: int) -> list[bytes]:
    """Datagrams of at most `size` bytes; a packet that is larger travels alone.

    Raises:
        UsageError: A packet fits no datagram at all.
    """
    if len(packets) == 1 and len(packets[0]) <= DATAGRAM_MAX:
        return [*packets]
    datagrams: list[bytearray] = []
    for packet in packets:
        if len(packet) > DATAGRAM_MAX:
            raise UsageError(
                f"a packet of {len(packet)} bytes fits no datagram; expected at most {DATAGRAM_MAX}"
            )
        if datagrams and len(datagrams[-1]) + len(packet) <= size:
            datagrams[-1] += packet
        else:
            datagrams.append(bytearray(packet))
    return [bytes(datagram) for datagram in datagrams]


def _trailer_tuple(trailer: Trailer | None) -> TrailerTuple | None:
    return None if trailer is None else (trailer.tag, trailer.key_id, trailer.algorithm)


def _trailer(fields: TrailerTuple | None) -> Trailer | None:
    return None if fields is None else Trailer(*fields)


def _encode_message(p: Message) -> bytes:
    attributes, trailer = attribute_tuples(p.attributes), _trailer_tuple(p.trailer)
    head = (p.source, p.sequence, p.publish_time_ns)
    return compiled.encode_message(
        *head, attributes, p.header_class, p.hop_limit, p.hop_count, p.route, p.payload, trailer
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
    if kind == PacketType.SEAL:
        return DatagramSeal(*fields)
    values = [*fields[:-1], _trailer(fields[-1])]
    if kind == PacketType.MESSAGE:
        values[3] = attribute_mapping(values[3])
        return Message(*values)
    if kind == PacketType.CONTROL:
        return Control(*values)
    if kind == PacketType.ACK:
        return Ack(*values)
    return Hello(Role(values[0]), *values[1:])


def _scalar(value: Value) -> Scalar:
    return value.ns if isinstance(value, Time) else value


def _constraint(kind: int, op: int, name: str, scalar: Scalar | None) -> Constraint:
    value: Value | None = scalar
    if kind == Type.TIME and scalar is not None:
        value = Time(int(scalar))
    return Constraint(name, Type(kind), Op(op), value)
