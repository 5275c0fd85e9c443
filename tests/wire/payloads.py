"""Every control payload as a readable value, and as bytes and back, by kind.

For tests alone: they describe payloads by these values, and compare what the
two codecs make of them. Routers and clients work on bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fastpath.wire import codec as compiled
from fastpath.wire.codec import WireError
from nodes.model import Predicate, UsageError
from nodes.routing.predicates import predicate_of
from nodes.wire import matchmaker_payloads, scheme_payloads
from nodes.wire.codec import decode, encode, encode_predicate, encoder, predicate_tuples, predicate_value
from nodes.wire.packets import Kind, Message
from nodes.wire.signature import SIGNATURE_BYTES, SIGNED


@dataclass(frozen=True, slots=True)
class LinkState:
    """The links of one router: pairs of neighbour id and cost."""

    origin: int
    sequence: int
    neighbours: tuple[tuple[int, int], ...]
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class Interest:
    """What the clients of one router want."""

    origin: int
    sequence: int
    predicate: Predicate
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the clients of one router advertise."""

    origin: int
    sequence: int
    predicate: Predicate
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A client adds or replaces one of its subscriptions."""

    subscription: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A client withdraws one of its subscriptions."""

    subscription: int


@dataclass(frozen=True, slots=True)
class InterestChange:
    """How what the clients of one router want has changed since the sequence before."""

    origin: int
    sequence: int
    digest: bytes
    """Of the predicate that the change leads to."""
    removed: Predicate
    added: Predicate
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class OfferChange:
    """How what the clients of one router advertise has changed since the sequence before."""

    origin: int
    sequence: int
    digest: bytes
    """Of the predicate that the change leads to."""
    removed: Predicate
    added: Predicate
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """A router asks its neighbour for all that it holds of an origin: LINK_STATE and INTEREST."""

    origin: int


@dataclass(frozen=True, slots=True)
class Advertise:
    """A client adds or replaces one of its advertisements."""

    advertisement: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """A client withdraws one of its advertisements."""

    advertisement: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A router has not taken messages of a client."""

    reason: int
    count: int
    sequence: int


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    """A client, or a router that delegates, adds or replaces a pattern."""

    pattern: int
    text: str


@dataclass(frozen=True, slots=True)
class UnsubscribePattern:
    """A pattern is withdrawn."""

    pattern: int


@dataclass(frozen=True, slots=True)
class Match:
    """What a pattern's sender is told: the messages of one match."""

    pattern: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class CbcbAdvertisement:
    """`cbcb`, RA: what a router wants besides what it said before in this era."""

    origin: int
    era: int
    revision: int
    narrowed: bool
    predicate: Predicate
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class CbcbRequest:
    """`cbcb`, SR: a router asks what is wanted below its neighbour."""

    origin: int
    era: int
    request: int
    periodic: bool
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class CbcbReply:
    """`cbcb`, UR: what is wanted by its sender and below, for the origin of a request."""

    origin: int
    era: int
    request: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class CbcbEra:
    """`cbcb`: routers whose links came or went, as (router, renewal, nonce)."""

    records: tuple[tuple[int, int, int], ...]
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class SienaSubscribe:
    """`siena`: filters that are wanted beyond its sender, on behalf of an issuer."""

    issuer: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class SienaUnsubscribe:
    """`siena`: filters that are not, any more."""

    issuer: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class SienaAdvertise:
    """`siena`: advertisements of publishers beyond its sender, on behalf of an issuer."""

    issuer: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class SienaUnadvertise:
    """`siena`: advertisements that are withdrawn."""

    issuer: int
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class CostAnnounce:
    """`amsp`: what a router publishes and wants in a unit of time."""

    origin: int
    sequence: int
    publishes: bool
    subscribes: bool
    publication_rate: int
    subscription_rate: int
    causes: tuple[int, ...]
    signature: bytes = b""
    """Of the origin, where records are signed."""


@dataclass(frozen=True, slots=True)
class ChangeMarking:
    """`amsp`: the upstream end of a link marks it. Descriptors are (router, number, place of the filter)."""

    change: int
    marking: int
    descriptors: tuple[tuple[int, int, int], ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class ChangeMarkingReply:
    """`amsp`: the downstream end has followed."""

    change: int
    marking: int
    descriptors: tuple[tuple[int, int, int], ...]
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class CdUpdate:
    """`amsp`: a descriptor of a publisher, of a subscriber, or a match."""

    publisher: int
    pcd: int
    subscriber: int
    scd: int
    predicate: Predicate
    withdrawn: bool = False
    again: bool = False
    kept: bool = False


Payload = (
    LinkState
    | Interest
    | Subscribe
    | Unsubscribe
    | InterestChange
    | RecordRequest
    | Offer
    | OfferChange
    | Advertise
    | Unadvertise
    | Refused
    | SubscribePattern
    | UnsubscribePattern
    | Match
    | CbcbAdvertisement
    | CbcbRequest
    | CbcbReply
    | CbcbEra
    | SienaSubscribe
    | SienaUnsubscribe
    | SienaAdvertise
    | SienaUnadvertise
    | CostAnnounce
    | ChangeMarking
    | ChangeMarkingReply
    | CdUpdate
)

_KINDS: dict[type[Payload], Kind] = {
    LinkState: Kind.LINK_STATE,
    Interest: Kind.INTEREST,
    Subscribe: Kind.SUBSCRIBE,
    Unsubscribe: Kind.UNSUBSCRIBE,
    InterestChange: Kind.INTEREST_CHANGE,
    RecordRequest: Kind.RECORD_REQUEST,
    Offer: Kind.OFFER,
    OfferChange: Kind.OFFER_CHANGE,
    Advertise: Kind.ADVERTISE,
    Unadvertise: Kind.UNADVERTISE,
    Refused: Kind.REFUSED,
    SubscribePattern: Kind.SUBSCRIBE_PATTERN,
    UnsubscribePattern: Kind.UNSUBSCRIBE_PATTERN,
    Match: Kind.MATCH,
    CbcbAdvertisement: Kind.CBCB_RA,
    CbcbRequest: Kind.CBCB_SR,
    CbcbReply: Kind.CBCB_UR,
    CbcbEra: Kind.CBCB_ERA,
    SienaSubscribe: Kind.SIENA_SUBSCRIBE,
    SienaUnsubscribe: Kind.SIENA_UNSUBSCRIBE,
    SienaAdvertise: Kind.SIENA_ADVERTISE,
    SienaUnadvertise: Kind.SIENA_UNADVERTISE,
    CostAnnounce: Kind.COST_ANNOUNCE,
    ChangeMarking: Kind.CHANGE_MARKING,
    ChangeMarkingReply: Kind.CHANGE_MARKING_REPLY,
    CdUpdate: Kind.CD_UPDATE,
}


def kind_of(payload: Payload) -> Kind:
    """The kind that goes into the CONTROL packets of this payload.

    Raises:
        UsageError: It is no control payload.
    """
    kind = _KINDS.get(type(payload))
    if kind is None:
        raise UsageError(f"{payload!r} is no control payload")
    return kind


def encode_payload(payload: Payload) -> bytes:
    """The bytes of a control payload, without its kind."""
    return _encode_unsigned(payload) + getattr(payload, "signature", b"")


@encoder
def _encode_unsigned(payload: Payload) -> bytes:
    match payload:
        case LinkState():
            return compiled.encode_link_state(payload.origin, payload.sequence, payload.neighbours)
        case Interest() | Offer():
            filters = predicate_tuples(payload.predicate)
            return compiled.encode_interest(payload.origin, payload.sequence, filters)
        case Subscribe() | Unsubscribe() | Advertise() | Unadvertise():
            return _encode_held(payload)
        case InterestChange() | OfferChange() as p:
            changes = predicate_tuples(p.removed), predicate_tuples(p.added)
            return compiled.encode_interest_change(p.origin, p.sequence, p.digest, *changes)
        case RecordRequest():
            return compiled.encode_record_request(payload.origin)
        case Refused() as p:
            return compiled.encode_refused(p.reason, p.count, p.sequence)
        case SubscribePattern() | UnsubscribePattern() | Match():
            return _encode_of_pattern(payload)
        case CbcbAdvertisement() | CbcbRequest() | CbcbReply() | CbcbEra():
            return _encode_cbcb(payload)
        case SienaSubscribe() | SienaUnsubscribe() | SienaAdvertise() | SienaUnadvertise():
            return scheme_payloads.join_issuer(payload.issuer, encode_predicate(payload.predicate))
        case CostAnnounce() | ChangeMarking() | ChangeMarkingReply() | CdUpdate():
            return _encode_matchmaker(payload)


def _encode_held(payload: Subscribe | Unsubscribe | Advertise | Unadvertise) -> bytes:
    """What clients say of what they hold."""
    match payload:
        case Subscribe():
            return compiled.encode_subscribe(payload.subscription, predicate_tuples(payload.predicate))
        case Unsubscribe():
            return compiled.encode_unsubscribe(payload.subscription)
        case Advertise():
            return compiled.encode_advertise(payload.advertisement, predicate_tuples(payload.predicate))
        case Unadvertise():
            return compiled.encode_unadvertise(payload.advertisement)


def _encode_of_pattern(payload: SubscribePattern | UnsubscribePattern | Match) -> bytes:
    match payload:
        case SubscribePattern():
            return compiled.encode_subscribe_pattern(payload.pattern, payload.text)
        case UnsubscribePattern():
            return compiled.encode_unsubscribe_pattern(payload.pattern)
        case Match():
            return compiled.encode_match(payload.pattern, [encode(message) for message in payload.messages])


def _encode_cbcb(payload: CbcbAdvertisement | CbcbRequest | CbcbReply | CbcbEra) -> bytes:
    match payload:
        case CbcbAdvertisement() as p:
            predicate = encode_predicate(p.predicate)
            return scheme_payloads.Advertisement(p.origin, p.era, p.revision, p.narrowed, predicate).encode()
        case CbcbRequest() as p:
            return scheme_payloads.Request(p.origin, p.era, p.request, p.periodic).encode()
        case CbcbReply() as p:
            predicate = encode_predicate(p.predicate)
            return scheme_payloads.Reply(p.origin, p.era, p.request, predicate).encode()
        case CbcbEra():
            return b"".join(struct.pack(">IQQ", *record) for record in sorted(payload.records))


def _encode_matchmaker(payload: CostAnnounce | ChangeMarking | ChangeMarkingReply | CdUpdate) -> bytes:
    match payload:
        case CostAnnounce() as p:
            rates = p.publication_rate, p.subscription_rate
            causes = tuple(sorted(p.causes))
            return matchmaker_payloads.CostAnnounce(
                p.origin, p.sequence, p.publishes, p.subscribes, *rates, causes
            ).encode()
        case ChangeMarking() | ChangeMarkingReply() as p:
            filters = [None, *compiled.split_predicate(encode_predicate(p.predicate))]
            listed = (
                matchmaker_payloads.Descriptor(router, number, filters[place])
                for router, number, place in sorted(p.descriptors)
            )
            return matchmaker_payloads.MarkingChange(p.change, p.marking, tuple(listed)).encode()
        case CdUpdate() as p:
            filters = compiled.split_predicate(encode_predicate(p.predicate))
            ids = p.publisher, p.pcd, p.subscriber, p.scd
            return matchmaker_payloads.DescriptorUpdate(
                *ids, filters[0] if filters else None, p.withdrawn, p.again, p.kept
            ).encode()


def decode_payload(kind: int, data: bytes) -> Payload:
    """The control payload of these bytes.

    Raises:
        WireError: The kind is unknown, or the bytes are malformed or not canonical.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        known = ", ".join(str(int(kind)) for kind in _DECODERS)
        raise WireError(f"control payloads of kind {kind} are unknown here; expected one of {known}")
    if kind not in SIGNED:
        return decoder(data)
    record, signature = _split_signature(kind, data, decoder)
    decoded: Any = decoder(record)
    signed: Payload = replace(decoded, signature=signature)
    return signed


def _split_signature(kind: int, data: bytes, decoder: Callable[[bytes], Payload]) -> tuple[bytes, bytes]:
    """The codec does not know the payloads of schemes."""
    if kind < Kind.CBCB_RA:
        return compiled.split_signature(kind, data)
    try:
        decoder(data)
    except WireError as error:
        front = data[:-SIGNATURE_BYTES]
        try:
            decoder(front)
        except WireError:
            raise error from None
        return front, data[-SIGNATURE_BYTES:]
    return data, b""


def _link_state(data: bytes) -> LinkState:
    origin, sequence, neighbours = compiled.decode_link_state(data)
    return LinkState(origin, sequence, tuple(neighbours))


def _interest(data: bytes) -> tuple[int, int, Predicate]:
    origin, sequence, filters = compiled.decode_interest(data)
    return origin, sequence, predicate_value(filters)


def _held(told: tuple[int, list[Any]]) -> tuple[int, Predicate]:
    """What clients hold: their number for it, and a predicate."""
    return told[0], predicate_value(told[1])


def _interest_change(data: bytes) -> tuple[int, int, bytes, Predicate, Predicate]:
    origin, sequence, digest, removed, added = compiled.decode_interest_change(data)
    return origin, sequence, digest, predicate_value(removed), predicate_value(added)


def _match(data: bytes) -> Match:
    pattern, packets = compiled.decode_match(data)
    messages = [decode(packet) for packet in packets]
    return Match(pattern, tuple(each for each in messages if isinstance(each, Message)))


def _advertisement(data: bytes) -> CbcbAdvertisement:
    a = scheme_payloads.Advertisement.decode(data)
    predicate = predicate_value(compiled.decode_predicate(a.predicate))
    return CbcbAdvertisement(a.origin, a.era, a.revision, a.narrowed, predicate)


def _request(data: bytes) -> CbcbRequest:
    r = scheme_payloads.Request.decode(data)
    return CbcbRequest(r.origin, r.era, r.number, r.periodic)


def _reply(data: bytes) -> CbcbReply:
    r = scheme_payloads.Reply.decode(data)
    return CbcbReply(r.origin, r.era, r.number, predicate_value(compiled.decode_predicate(r.predicate)))


def _era(data: bytes) -> CbcbEra:
    return CbcbEra(tuple(struct.unpack(">IQQ", record) for record in scheme_payloads.split_records(data)))


def _issued(data: bytes) -> tuple[int, Predicate]:
    issuer, _ = scheme_payloads.split_issuer(data)
    # A SUBSCRIBE is laid out alike, and the codec names the byte at which its predicate is wrong.
    return issuer, predicate_value(compiled.decode_subscribe(data)[1])


def _cost(data: bytes) -> CostAnnounce:
    c = matchmaker_payloads.CostAnnounce.decode(data)
    rates = c.publication_rate, c.subscription_rate
    return CostAnnounce(c.origin, c.sequence, c.publishes, c.subscribes, *rates, c.causes)


def _marking(data: bytes) -> tuple[int, int, tuple[tuple[int, int, int], ...], Predicate]:
    m = matchmaker_payloads.MarkingChange.decode(data)
    encoded = predicate_of(each.filter for each in m.descriptors if each.filter is not None)
    places = {filter_: at for at, filter_ in enumerate(compiled.split_predicate(encoded), 1)}
    listed = ((d.router, d.number, places[d.filter] if d.filter is not None else 0) for d in m.descriptors)
    return m.number, m.marking, tuple(listed), predicate_value(compiled.decode_predicate(encoded))


def _update(data: bytes) -> CdUpdate:
    u = matchmaker_payloads.DescriptorUpdate.decode(data)
    predicate = predicate_value(
        compiled.decode_predicate(predicate_of([] if u.filter is None else [u.filter]))
    )
    return CdUpdate(u.publisher, u.pcd, u.subscriber, u.scd, predicate, u.withdrawn, u.again, u.kept)


_DECODERS: dict[int, Callable[[bytes], Payload]] = {
    Kind.LINK_STATE: _link_state,
    Kind.INTEREST: lambda data: Interest(*_interest(data)),
    Kind.OFFER: lambda data: Offer(*_interest(data)),
    Kind.SUBSCRIBE: lambda data: Subscribe(*_held(compiled.decode_subscribe(data))),
    Kind.UNSUBSCRIBE: lambda data: Unsubscribe(compiled.decode_unsubscribe(data)),
    Kind.INTEREST_CHANGE: lambda data: InterestChange(*_interest_change(data)),
    Kind.OFFER_CHANGE: lambda data: OfferChange(*_interest_change(data)),
    Kind.RECORD_REQUEST: lambda data: RecordRequest(compiled.decode_record_request(data)),
    Kind.ADVERTISE: lambda data: Advertise(*_held(compiled.decode_advertise(data))),
    Kind.UNADVERTISE: lambda data: Unadvertise(compiled.decode_unadvertise(data)),
    Kind.REFUSED: lambda data: Refused(*compiled.decode_refused(data)),
    Kind.SUBSCRIBE_PATTERN: lambda data: SubscribePattern(*compiled.decode_subscribe_pattern(data)),
    Kind.UNSUBSCRIBE_PATTERN: lambda data: UnsubscribePattern(compiled.decode_unsubscribe_pattern(data)),
    Kind.MATCH: _match,
    Kind.CBCB_RA: _advertisement,
    Kind.CBCB_SR: _request,
    Kind.CBCB_UR: _reply,
    Kind.CBCB_ERA: _era,
    Kind.SIENA_SUBSCRIBE: lambda data: SienaSubscribe(*_issued(data)),
    Kind.SIENA_UNSUBSCRIBE: lambda data: SienaUnsubscribe(*_issued(data)),
    Kind.SIENA_ADVERTISE: lambda data: SienaAdvertise(*_issued(data)),
    Kind.SIENA_UNADVERTISE: lambda data: SienaUnadvertise(*_issued(data)),
    Kind.COST_ANNOUNCE: _cost,
    Kind.CHANGE_MARKING: lambda data: ChangeMarking(*_marking(data)),
    Kind.CHANGE_MARKING_REPLY: lambda data: ChangeMarkingReply(*_marking(data)),
    Kind.CD_UPDATE: _update,
}
