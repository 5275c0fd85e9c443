"""Control payloads as bytes and back, by kind.

Cutting them into CONTROL packets and joining them again is the reliable
channel's task (`nodes.routing`).
"""

from __future__ import annotations

from collections.abc import Callable

from fastpath import codec as compiled
from fastpath.codec import UsageError, WireError
from nodes.model import Predicate
from nodes.wire import cbcb_payloads as cbcb
from nodes.wire import siena_payloads as siena
from nodes.wire.packets import (
    CbcbAdvertisement,
    CbcbEra,
    CbcbReply,
    CbcbRequest,
    Interest,
    InterestChange,
    Kind,
    LinkState,
    Payload,
    RecordRequest,
    SienaSubscribe,
    SienaUnsubscribe,
    Subscribe,
    Unsubscribe,
)
from nodes.wire.predicates import predicate_tuples, predicate_value

_KINDS: dict[type[Payload], Kind] = {
    LinkState: Kind.LINK_STATE,
    Interest: Kind.INTEREST,
    Subscribe: Kind.SUBSCRIBE,
    Unsubscribe: Kind.UNSUBSCRIBE,
    InterestChange: Kind.INTEREST_CHANGE,
    RecordRequest: Kind.RECORD_REQUEST,
    CbcbAdvertisement: Kind.CBCB_RA,
    CbcbRequest: Kind.CBCB_SR,
    CbcbReply: Kind.CBCB_UR,
    CbcbEra: Kind.CBCB_ERA,
    SienaSubscribe: Kind.SIENA_SUBSCRIBE,
    SienaUnsubscribe: Kind.SIENA_UNSUBSCRIBE,
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
    match payload:
        case LinkState():
            return compiled.encode_link_state(payload.origin, payload.sequence, payload.neighbours)
        case Interest():
            filters = predicate_tuples(payload.predicate)
            return compiled.encode_interest(payload.origin, payload.sequence, filters)
        case Subscribe():
            return compiled.encode_subscribe(payload.subscription, predicate_tuples(payload.predicate))
        case Unsubscribe():
            return compiled.encode_unsubscribe(payload.subscription)
        case InterestChange() as p:
            changes = predicate_tuples(p.removed), predicate_tuples(p.added)
            return compiled.encode_interest_change(p.origin, p.sequence, p.digest, *changes)
        case RecordRequest():
            return compiled.encode_record_request(payload.origin)
        case CbcbAdvertisement() as p:
            predicate = compiled.encode_predicate(predicate_tuples(p.predicate))
            return cbcb.Advertisement(p.origin, p.era, p.revision, p.narrowed, predicate).encode()
        case CbcbRequest() as p:
            return cbcb.Request(p.origin, p.era, p.request, p.periodic).encode()
        case CbcbReply() as p:
            predicate = compiled.encode_predicate(predicate_tuples(p.predicate))
            return cbcb.Reply(p.origin, p.era, p.request, predicate).encode()
        case CbcbEra():
            return cbcb.join_records(payload.records)
        case SienaSubscribe() | SienaUnsubscribe():
            return siena.join(payload.issuer, compiled.encode_predicate(predicate_tuples(payload.predicate)))


def decode_payload(kind: int, data: bytes) -> Payload:
    """The control payload of these bytes.

    Raises:
        WireError: The kind is unknown, or the bytes are malformed or not canonical.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        known = ", ".join(str(int(kind)) for kind in _DECODERS)
        raise WireError(f"control payloads of kind {kind} are unknown here; expected one of {known}")
    return decoder(data)


def _link_state(data: bytes) -> LinkState:
    origin, sequence, neighbours = compiled.decode_link_state(data)
    return LinkState(origin, sequence, tuple(neighbours))


def _interest(data: bytes) -> Interest:
    origin, sequence, filters = compiled.decode_interest(data)
    return Interest(origin, sequence, predicate_value(filters))


def _subscribe(data: bytes) -> Subscribe:
    subscription, filters = compiled.decode_subscribe(data)
    return Subscribe(subscription, predicate_value(filters))


def _unsubscribe(data: bytes) -> Unsubscribe:
    return Unsubscribe(compiled.decode_unsubscribe(data))


def _interest_change(data: bytes) -> InterestChange:
    origin, sequence, digest, removed, added = compiled.decode_interest_change(data)
    return InterestChange(origin, sequence, digest, predicate_value(removed), predicate_value(added))


def _record_request(data: bytes) -> RecordRequest:
    return RecordRequest(compiled.decode_record_request(data))


def _advertisement(data: bytes) -> CbcbAdvertisement:
    a = cbcb.Advertisement.decode(data)
    predicate = predicate_value(compiled.decode_predicate(a.predicate))
    return CbcbAdvertisement(a.origin, a.era, a.revision, a.narrowed, predicate)


def _request(data: bytes) -> CbcbRequest:
    r = cbcb.Request.decode(data)
    return CbcbRequest(r.origin, r.era, r.number, r.periodic)


def _reply(data: bytes) -> CbcbReply:
    r = cbcb.Reply.decode(data)
    return CbcbReply(r.origin, r.era, r.number, predicate_value(compiled.decode_predicate(r.predicate)))


def _era(data: bytes) -> CbcbEra:
    return CbcbEra(tuple(cbcb.split_records(data)))


def _issued(data: bytes) -> tuple[int, Predicate]:
    issuer, _ = siena.split(data)
    # A SUBSCRIBE is laid out alike, and the codec names the byte at which its predicate is wrong.
    return issuer, predicate_value(compiled.decode_subscribe(data)[1])


_DECODERS: dict[int, Callable[[bytes], Payload]] = {
    Kind.LINK_STATE: _link_state,
    Kind.INTEREST: _interest,
    Kind.SUBSCRIBE: _subscribe,
    Kind.UNSUBSCRIBE: _unsubscribe,
    Kind.INTEREST_CHANGE: _interest_change,
    Kind.RECORD_REQUEST: _record_request,
    Kind.CBCB_RA: _advertisement,
    Kind.CBCB_SR: _request,
    Kind.CBCB_UR: _reply,
    Kind.CBCB_ERA: _era,
    Kind.SIENA_SUBSCRIBE: lambda data: SienaSubscribe(*_issued(data)),
    Kind.SIENA_UNSUBSCRIBE: lambda data: SienaUnsubscribe(*_issued(data)),
}
