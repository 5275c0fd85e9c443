"""A second codec, made of the Scapy layers: slow, readable, and independent of the compiled one.

The compiled codec is held to it. What is canonical is decided by one rule: bytes
are accepted if the values read from them, built again, give the same bytes.
The file is long because it has a reader and a writer for every payload of the format, and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from fastpath.wire.codec import WireError
from nodes.model import Constraint, Filter, Op, Predicate, Time, Type, Value, check_message, type_of
from nodes.wire import layers
from nodes.wire.packets import Ack, Control, DatagramSeal, Hello, Message, Packet, Pad, Role, Trailer
from nodes.wire.signature import SIGNATURE_BYTES
from tests.wire.payloads import (
    Advertise,
    CbcbAdvertisement,
    CbcbEra,
    CbcbReply,
    CbcbRequest,
    CdUpdate,
    ChangeMarking,
    ChangeMarkingReply,
    CostAnnounce,
    Interest,
    InterestChange,
    LinkState,
    Match,
    Offer,
    OfferChange,
    Payload,
    RecordRequest,
    Refused,
    SienaAdvertise,
    SienaSubscribe,
    SienaUnadvertise,
    SienaUnsubscribe,
    Subscribe,
    SubscribePattern,
    Unadvertise,
    Unsubscribe,
    UnsubscribePattern,
)

AUTH, FIRST, LAST = 1, 2, 4
MAC_BYTES = 16
PAYLOAD = 2
_NUMBERED: dict[type[Any], tuple[type[Any], str]] = {
    Subscribe: (layers.CBNSubscribe, "subscription"),
    Unsubscribe: (layers.CBNUnsubscribe, "subscription"),
    Advertise: (layers.CBNAdvertise, "advertisement"),
    Unadvertise: (layers.CBNUnadvertise, "advertisement"),
    UnsubscribePattern: (layers.CBNUnsubscribePattern, "pattern"),
    SienaSubscribe: (layers.CBNSienaSubscribe, "issuer"),
    SienaUnsubscribe: (layers.CBNSienaUnsubscribe, "issuer"),
    SienaAdvertise: (layers.CBNSienaAdvertise, "issuer"),
    SienaUnadvertise: (layers.CBNSienaUnadvertise, "issuer"),
}
"""Payloads that are a number, of this name, and mostly a predicate."""
_HELLO = ("node", "incarnation", "hold_time_ms", "seen_node", "seen_incarnation")
_SESSION = ("incarnation", "peer_incarnation", "ack", "window")
_SEAL = ("key_id", "session", "counter", "mac", "algorithm")
_MESSAGE = ("source", "sequence", "publish_time_ns", "header_class", "hop_limit", "hop_count")


def to_layer(packet: Packet) -> layers.CBN:
    """The Scapy layer of a plain packet."""
    match packet:
        case Pad():
            return layers.CBNPad(padding=bytes(packet.length - 4))
        case Message():
            return _message_layer(packet)
        case Hello():
            return layers.CBNHello(role=int(packet.role), **_take(packet, _HELLO), **_sealed(packet.trailer))
        case Control():
            flags = FIRST * packet.first | LAST * packet.last
            fields = _take(packet, ("kind", *_SESSION, "sequence"))
            return layers.CBNControl(
                **_sealed(packet.trailer, flags), **fields, fragment_data=packet.fragment
            )
        case Ack():
            return layers.CBNAck(**_take(packet, _SESSION), **_sealed(packet.trailer))
        case DatagramSeal():
            return layers.CBNSeal(**_take(packet, _SEAL))


def from_layer(layer: layers.CBN) -> Packet:
    """The plain packet of a Scapy layer; what follows it is not looked at.

    Raises:
        WireError: A field has a value the format does not allow.
    """
    match layer:
        case layers.CBNPad():
            return Pad(4 + len(layer.padding))
        case layers.CBNMessage():
            return _message(layer)
        case layers.CBNHello():
            return _hello(layer)
        case layers.CBNControl():
            return _control(layer)
        case layers.CBNAck():
            require(layer, nonzero=["incarnation", "peer_incarnation"])
            return Ack(**_take(layer, _SESSION), trailer=_trailer(layer))
        case layers.CBNSeal():
            return _seal(layer)
    raise WireError(f"{layer.summary()} is no CBN packet")


def encode(packet: Packet) -> bytes:
    """The bytes of one packet."""
    return bytes(to_layer(packet))


def decode(data: bytes) -> Packet:
    """Exactly one packet.

    Raises:
        WireError: The bytes are anything else.
    """
    return canonical(data, lambda: from_layer(layers.CBN(data)), encode)


def decode_datagram(data: bytes) -> list[Packet]:
    """All packets of a datagram, PAD included.

    Raises:
        WireError: The framing or a packet is malformed.
    """
    if not data:
        raise WireError("the datagram is empty")
    found: list[bytes] = []
    while data:
        size = layers.frame_size(data)
        if size is None:
            raise WireError(f"packet {len(found)} of the datagram cannot be framed")
        found.append(data[:size])
        data = data[size:]
    return [decode(packet) for packet in found]


def _take(source: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _sealed(trailer: Trailer | None, flags: int = 0) -> dict[str, Any]:
    if trailer is None:
        return {"flags": flags}
    part = layers.CBNTrailer(tag=trailer.tag, key_id=trailer.key_id, algorithm=trailer.algorithm)
    return {"flags": flags | AUTH, "trailer": part}


def _trailer(layer: layers.CBN) -> Trailer | None:
    if not layer.flags.AUTH:
        return None
    require(layer.trailer, nonzero=["tag_length"])
    return Trailer(layer.trailer.tag, layer.trailer.key_id, layer.trailer.algorithm)


def _message_layer(packet: Message) -> layers.CBNMessage:
    carried = {"payload_data": packet.payload} if packet.payload else {}
    return layers.CBNMessage(
        **_take(packet, _MESSAGE),
        attributes=attribute_layers(packet.attributes),
        route_data=packet.route,
        **carried,
        **_sealed(packet.trailer, PAYLOAD if packet.payload else 0),
    )


def _message(layer: layers.CBNMessage) -> Message:
    require(layer, nonzero=["source"], bits63=["sequence", "publish_time_ns"])
    return Message(
        **_take(layer, _MESSAGE),
        attributes=attributes_from(layer.attributes),
        route=layer.route_data,
        payload=layer.payload_data or b"",
        trailer=_trailer(layer),
    )


def _hello(layer: layers.CBNHello) -> Hello:
    require(layer, nonzero=["node", "incarnation", "hold_time_ms"])
    if (layer.seen_node == 0) != (layer.seen_incarnation == 0):
        raise WireError("seen_node and seen_incarnation must both be 0 or both not")
    return Hello(role=Role(layer.role), **_take(layer, _HELLO), trailer=_trailer(layer))


def _seal(layer: layers.CBNSeal) -> DatagramSeal:
    if len(layer.mac) != MAC_BYTES:
        raise WireError(f"the mac has {len(layer.mac)} bytes")
    return DatagramSeal(**_take(layer, _SEAL))


def _control(layer: layers.CBNControl) -> Control:
    require(layer, nonzero=["kind", "incarnation", "peer_incarnation", "sequence"])
    return Control(
        kind=layer.kind,
        sequence=layer.sequence,
        **_take(layer, _SESSION),
        first=bool(layer.flags.FIRST),
        last=bool(layer.flags.LAST),
        fragment=bytes(layer.fragment_data or b""),
        trailer=_trailer(layer),
    )


T = TypeVar("T")


def canonical(data: bytes, read: Callable[[], T], build: Callable[[T], bytes]) -> T:
    """What `read` makes of the data, if `build` makes the data of that.

    Raises:
        WireError: It does not, or there is nothing to be made of the data.
    """
    try:
        value = read()
        built = build(value)
    except WireError:
        raise
    # What Scapy raises on short bytes, and enums, the model and Scapy's fields on values that cannot be.
    except (struct.error, ValueError, TypeError, IndexError, AttributeError) as error:
        raise WireError(f"cannot be read: {error}") from error
    if built != data:
        raise WireError("is not the one way to write what it says")
    return value


def require(layer: layers.Layer, nonzero: Iterable[str] = (), bits63: Iterable[str] = ()) -> None:
    """Check fields that may not be zero or have their top bit set."""
    for field in nonzero:
        if getattr(layer, field) == 0:
            raise WireError(f"{field} of {layer.name} is 0, which is not allowed")
    for field in bits63:
        if getattr(layer, field) >> 63:
            raise WireError(f"{field} of {layer.name} has its top bit set")


def attribute_layers(attributes: Mapping[str, Value]) -> list[layers.CBNAttribute]:
    """The attributes as layers, in canonical order."""
    ordered = sorted(check_message(attributes).items(), key=lambda item: item[0].encode())
    return [
        layers.CBNAttribute(type=int(type_of(value)), attribute=name, value=_plain(value))
        for name, value in ordered
    ]


def attributes_from(parts: Iterable[layers.Layer]) -> dict[str, Value]:
    """The attributes of a message's layers."""
    return check_message({part.attribute: _value(part) for part in _only_parts(parts, layers.CBNAttribute)})


def predicate_to_layer(predicate: Predicate) -> layers.CBNPredicate:
    """The layer of a predicate, in canonical order."""
    return layers.CBNPredicate(filters=sorted(map(filter_to_layer, predicate.filters), key=bytes))


def predicate_from_layer(layer: layers.CBNPredicate) -> Predicate:
    """The predicate of its layer."""
    return Predicate(map(filter_from_layer, _only_parts(layer.filters, layers.CBNFilter)))


def filter_to_layer(filter_: Filter) -> layers.CBNFilter:
    """The layer of a filter, in canonical order."""
    return layers.CBNFilter(constraints=sorted(map(_constraint_layer, filter_.constraints), key=bytes))


def filter_from_layer(layer: layers.CBNFilter) -> Filter:
    """The filter of its layer."""
    return Filter(map(_constraint, _only_parts(layer.constraints, layers.CBNConstraint)))


def payload_to_layer(payload: Payload) -> layers.Part:
    """The layer of a control payload."""
    match payload:
        case LinkState():
            links = [layers.CBNNeighbour(node=node, cost=cost) for node, cost in sorted(payload.neighbours)]
            return layers.CBNLinkState(
                origin=payload.origin,
                sequence=payload.sequence,
                neighbours=links,
                signature=payload.signature,
            )
        case Interest() | Offer():
            made = layers.CBNInterest if isinstance(payload, Interest) else layers.CBNOffer
            predicate = predicate_to_layer(payload.predicate)
            head = {"origin": payload.origin, "sequence": payload.sequence}
            return made(**head, predicate=predicate, signature=payload.signature)
        case InterestChange() | OfferChange() as p:
            made = layers.CBNInterestChange if isinstance(p, InterestChange) else layers.CBNOfferChange
            removed, added = predicate_to_layer(p.removed), predicate_to_layer(p.added)
            changes = {"digest": p.digest, "removed": removed, "added": added, "signature": p.signature}
            return made(origin=p.origin, sequence=p.sequence, **changes)
        case RecordRequest():
            return layers.CBNRecordRequest(origin=payload.origin)
        case CbcbAdvertisement() | CbcbRequest() | CbcbReply() | CbcbEra():
            return _cbcb_layer(payload)
        case CostAnnounce() | ChangeMarking() | ChangeMarkingReply() | CdUpdate():
            return _matchmaker_layer(payload)
        case Refused() as p:
            return layers.CBNRefused(reason=p.reason, count=p.count, sequence=p.sequence)
        case SubscribePattern() as p:
            return layers.CBNSubscribePattern(pattern=p.pattern, text=p.text)
        case Match() as p:
            return layers.CBNMatch(pattern=p.pattern, messages=_stacked(p.messages))
    layer, number = _NUMBERED[type(payload)]
    fields = {number: getattr(payload, number)}
    if hasattr(payload, "predicate"):
        fields["predicate"] = predicate_to_layer(payload.predicate)
    return layer(**fields)


def payload_from_layer(layer: layers.Part) -> Payload:
    """The control payload of its layer.

    Raises:
        WireError: A field has a value the format does not allow.
    """
    match layer:
        case layers.CBNLinkState():
            return _link_state(layer)
        case layers.CBNInterest() | layers.CBNOffer():
            require(layer, nonzero=["origin"], bits63=["sequence"])
            of = Interest if isinstance(layer, layers.CBNInterest) else Offer
            predicate = predicate_from_layer(layer.predicate)
            return of(layer.origin, layer.sequence, predicate, _signature(layer))
        case layers.CBNInterestChange() | layers.CBNOfferChange():
            return _change(layer)
        case layers.CBNRecordRequest():
            require(layer, nonzero=["origin"])
            return RecordRequest(layer.origin)
        case layers.CBNCbcbEra():
            return _cbcb_era(layer)
        case layers.CBNCbcbRA() | layers.CBNCbcbSR() | layers.CBNCbcbUR():
            require(layer, nonzero=["origin"])
            return _cbcb_payload(layer)
        case layers.CBNRefused():
            require(layer, nonzero=["reason", "count"], bits63=["sequence"])
            return Refused(layer.reason, layer.count, layer.sequence)
        case layers.CBNSubscribePattern():
            return _pattern(layer)
        case layers.CBNMatch():
            return _match(layer)
    if type(layer) in _MATCHMAKER:
        return _MATCHMAKER[type(layer)](layer)
    for cls, (of, number) in _NUMBERED.items():
        if isinstance(layer, of):
            return _numbered(cls, layer, number)
    raise WireError(f"{layer.summary()} is no control payload")


def _stacked(messages: Sequence[Message]) -> layers.Layer:
    """Layers upon each other, as of a datagram."""
    return layers.CBN(b"".join(bytes(_message_layer(message)) for message in messages))


def _pattern(layer: layers.CBNSubscribePattern) -> SubscribePattern:
    text = bytes(layer.fields["text"]).decode()
    if not text:
        raise WireError("the text of a pattern is empty")
    return SubscribePattern(layer.pattern, text)


def _match(layer: layers.CBNMatch) -> Match:
    packets = decode_datagram(bytes(layer.messages))
    messages = tuple(packet for packet in packets if isinstance(packet, Message))
    if len(messages) < len(packets):
        raise WireError("a match holds messages alone")
    return Match(layer.pattern, messages)


def _numbered(cls: type[Any], layer: Any, number: str) -> Payload:
    fields = [getattr(layer, number)]
    if "predicate" in cls.__dataclass_fields__:
        fields.append(predicate_from_layer(layer.predicate))
    payload: Payload = cls(*fields)
    return payload


def encode_payload(payload: Payload) -> bytes:
    """The bytes of a control payload."""
    return bytes(payload_to_layer(payload))


def decode_payload(kind: int, data: bytes) -> Payload:
    """One control payload of a kind.

    Raises:
        WireError: The bytes are anything else.
    """
    cls = layers.PAYLOADS.get(kind)
    if cls is None:
        raise WireError(f"control payloads of kind {kind} are unknown")
    return canonical(data, lambda: payload_from_layer(cls(data)), encode_payload)


def encode_predicate(predicate: Predicate) -> bytes:
    """The bytes of a predicate."""
    return bytes(predicate_to_layer(predicate))


def decode_predicate(data: bytes) -> Predicate:
    """One predicate and nothing after it.

    Raises:
        WireError: The bytes are anything else.
    """
    return canonical(data, lambda: predicate_from_layer(layers.CBNPredicate(data)), encode_predicate)


def _only_parts(parts: Iterable[layers.Layer], cls: type[layers.Part]) -> list[Any]:
    # Where Scapy could not read an element it leaves the bytes as Raw.
    found = list(parts)
    if not all(isinstance(part, cls) for part in found):
        raise WireError(f"one of {len(found)} parts is no {cls.name}")
    return found


def _link_state(layer: layers.CBNLinkState) -> LinkState:
    require(layer, nonzero=["origin"], bits63=["sequence"])
    links = _only_parts(layer.neighbours, layers.CBNNeighbour)
    for link in links:
        require(link, nonzero=["node", "cost"])
    # Of two links to one node, one is kept: such bytes are not canonical.
    neighbours = tuple({link.node: (link.node, link.cost) for link in links}.values())
    return LinkState(layer.origin, layer.sequence, neighbours, _signature(layer))


def _signature(layer: Any) -> bytes:
    """All or nothing of it is there."""
    found = bytes(layer.signature)
    if found and len(found) != SIGNATURE_BYTES:
        raise WireError(f"a signature has {SIGNATURE_BYTES} bytes; this has {len(found)}")
    return found


def _change(layer: layers.CBNInterestChange | layers.CBNOfferChange) -> InterestChange | OfferChange:
    require(layer, nonzero=["origin"], bits63=["sequence"])
    changes = predicate_from_layer(layer.removed), predicate_from_layer(layer.added)
    of = InterestChange if isinstance(layer, layers.CBNInterestChange) else OfferChange
    return of(layer.origin, layer.sequence, layer.digest, *changes, _signature(layer))


def _cbcb_layer(payload: CbcbAdvertisement | CbcbRequest | CbcbReply | CbcbEra) -> layers.Part:
    match payload:
        case CbcbAdvertisement() as p:
            predicate, flags = predicate_to_layer(p.predicate), int(p.narrowed)
            head = {"origin": p.origin, "era": p.era, "revision": p.revision}
            return layers.CBNCbcbRA(**head, flags=flags, predicate=predicate, signature=p.signature)
        case CbcbRequest() as p:
            head = {"origin": p.origin, "era": p.era, "request": p.request}
            return layers.CBNCbcbSR(**head, flags=int(p.periodic), signature=p.signature)
        case CbcbReply() as p:
            predicate = predicate_to_layer(p.predicate)
            return layers.CBNCbcbUR(origin=p.origin, era=p.era, request=p.request, predicate=predicate)
        case CbcbEra():
            return layers.CBNCbcbEra(
                records=[
                    layers.CBNRenewal(router=router, renewal=renewal, nonce=nonce)
                    for router, renewal, nonce in sorted(payload.records)
                ],
                signature=payload.signature,
            )


def _cbcb_payload(layer: Any) -> CbcbAdvertisement | CbcbRequest | CbcbReply:
    match layer:
        case layers.CBNCbcbRA():
            narrowed, predicate = bool(layer.flags & 1), predicate_from_layer(layer.predicate)
            head = layer.origin, layer.era, layer.revision
            return CbcbAdvertisement(*head, narrowed, predicate, _signature(layer))
        case layers.CBNCbcbSR():
            head = layer.origin, layer.era, layer.request
            return CbcbRequest(*head, bool(layer.flags & 1), _signature(layer))
    return CbcbReply(layer.origin, layer.era, layer.request, predicate_from_layer(layer.predicate))


def _cbcb_era(layer: layers.CBNCbcbEra) -> CbcbEra:
    records = _only_parts(layer.records, layers.CBNRenewal)
    if not records:
        raise WireError("records are missing: there must be one at least")
    for record in records:
        require(record, nonzero=["router"], bits63=["renewal"])
    # Of two records of one router, one is kept: such bytes are not canonical.
    found = {r.router: (r.router, r.renewal, r.nonce) for r in records}
    return CbcbEra(tuple(found.values()), _signature(layer))


def _plain(value: Value) -> str | int | float:
    if isinstance(value, Time):
        return value.ns
    return int(value) if isinstance(value, bool) else value


def _value(part: Any) -> Value:
    kind, value = Type(part.type), part.value
    if kind is Type.TIME:
        return Time(value)
    found: Value = bool(value) if kind is Type.BOOLEAN else value
    return found


def _constraint_layer(constraint: Constraint) -> layers.CBNConstraint:
    layer = layers.CBNConstraint(
        type=int(constraint.type), operator=int(constraint.op), attribute=constraint.name
    )
    if constraint.value is not None:
        layer.value = _plain(constraint.value)
    return layer


def _constraint(part: Any) -> Constraint:
    op = Op(part.operator)
    return Constraint(part.attribute, Type(part.type), op, None if op is Op.ANY else _value(part))


ID_MAX = 0xFFFF_FFFF


def encode_destinations(routers: Iterable[int]) -> bytes:
    """The route of a message for these routers, whose ids ascend."""
    route, before = bytearray(), 0
    for router in routers:
        route += _varint(router - before - 1)
        before = router
    return bytes(route)


def decode_destinations(route: bytes) -> tuple[int, ...]:
    """The routers a route names, ascending.

    Raises:
        WireError: It is no list of destinations.
    """
    found, before, step, shift = [], 0, 0, 0
    for byte in route:
        step |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            before += step + 1
            found.append(before)
            step = shift = 0
    if shift or before > ID_MAX or encode_destinations(found) != route:
        raise WireError("this route is no list of destinations")
    return tuple(found)


def _varint(step: int) -> bytes:
    low, rest = step & 0x7F, step >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _matchmaker_layer(payload: CostAnnounce | ChangeMarking | ChangeMarkingReply | CdUpdate) -> layers.Part:
    match payload:
        case CostAnnounce() as p:
            return layers.CBNCostAnnounce(
                origin=p.origin,
                sequence=p.sequence,
                flags=p.publishes | p.subscribes << 1,
                publication_rate=p.publication_rate,
                subscription_rate=p.subscription_rate,
                causes=[layers.CBNCause(cause=cause) for cause in sorted(p.causes)],
                signature=p.signature,
            )
        case ChangeMarking() | ChangeMarkingReply() as p:
            made = layers.CBNChangeMarking if isinstance(p, ChangeMarking) else layers.CBNChangeMarkingReply
            listed = [
                layers.CBNDescriptor(router=router, descriptor=number, place=place)
                for router, number, place in sorted(p.descriptors)
            ]
            predicate = predicate_to_layer(p.predicate)
            return made(change=p.change, marking=p.marking, descriptors=listed, predicate=predicate)
        case CdUpdate() as p:
            return layers.CBNCdUpdate(
                flags=p.withdrawn | p.again << 1 | p.kept << 2,
                publisher=p.publisher,
                pcd=p.pcd,
                subscriber=p.subscriber,
                scd=p.scd,
                predicate=predicate_to_layer(p.predicate),
            )


def _cost(layer: Any) -> CostAnnounce:
    require(layer, nonzero=["origin"], bits63=["sequence"])
    causes = _only_parts(layer.causes, layers.CBNCause)
    for cause in causes:
        require(cause, nonzero=["cause"])
    flags = bool(layer.flags & 1), bool(layer.flags & 2)
    # Of two causes that are the same one is kept: such bytes are not canonical.
    named = tuple({each.cause: None for each in causes})
    rates = layer.publication_rate, layer.subscription_rate
    return CostAnnounce(layer.origin, layer.sequence, *flags, *rates, named, _signature(layer))


def _marking(layer: Any) -> ChangeMarking | ChangeMarkingReply:
    require(layer, nonzero=["change"])
    listed = _only_parts(layer.descriptors, layers.CBNDescriptor)
    for each in listed:
        require(each, nonzero=["router"])
    predicate = predicate_from_layer(layer.predicate)
    if {each.place for each in listed} | {0} != {*range(len(predicate.filters) + 1)}:
        raise WireError("not each filter is named, or one that is not there")
    if layer.marking > 1:
        raise WireError("a marking is neither 0 nor 1")
    of = ChangeMarking if isinstance(layer, layers.CBNChangeMarking) else ChangeMarkingReply
    ids = {(each.router, each.descriptor): each.place for each in listed}
    return of(layer.change, layer.marking, tuple((*id_, place) for id_, place in ids.items()), predicate)


def _cd_update(layer: Any) -> CdUpdate:
    withdrawn, again, kept = (bool(layer.flags & flag) for flag in (1, 2, 4))
    predicate = predicate_from_layer(layer.predicate)
    if len(predicate.filters) > (not withdrawn) or (withdrawn and again) or (kept and not withdrawn):
        raise WireError("an update has one filter at most, a withdrawal none, and is not both")
    ends = (layer.publisher, layer.pcd), (layer.subscriber, layer.scd)
    if any(number and not router for router, number in ends) or not (layer.publisher or layer.subscriber):
        raise WireError("an update names a router at least, and no number without one")
    return CdUpdate(*ends[0], *ends[1], predicate, withdrawn, again, kept)


_MATCHMAKER: Mapping[type, Callable[[Any], Payload]] = {
    layers.CBNCostAnnounce: _cost,
    layers.CBNChangeMarking: _marking,
    layers.CBNChangeMarkingReply: _marking,
    layers.CBNCdUpdate: _cd_update,
}
