"""Control payloads as bytes and back, by kind.

Cutting them into CONTROL packets and joining them again is the reliable
channel's task (`nodes.routing`).
"""

from __future__ import annotations

from collections.abc import Callable

from fastpath import codec as compiled
from fastpath.codec import UsageError, WireError
from nodes.wire.packets import Interest, Kind, LinkState, Payload, Subscribe, Unsubscribe
from nodes.wire.predicates import predicate_tuples, predicate_value

_KINDS: dict[type[Payload], Kind] = {
    LinkState: Kind.LINK_STATE,
    Interest: Kind.INTEREST,
    Subscribe: Kind.SUBSCRIBE,
    Unsubscribe: Kind.UNSUBSCRIBE,
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


def decode_payload(kind: int, data: bytes) -> Payload:
    """The control payload of these bytes.

    Raises:
        WireError: The kind is unknown, or the bytes are malformed or not canonical.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise WireError(f"control payloads of kind {kind} are unknown here; expected 1 to {max(_DECODERS)}")
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


_DECODERS: dict[int, Callable[[bytes], Payload]] = {
    Kind.LINK_STATE: _link_state,
    Kind.INTEREST: _interest,
    Kind.SUBSCRIBE: _subscribe,
    Kind.UNSUBSCRIBE: _unsubscribe,
}
