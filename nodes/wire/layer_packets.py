"""Between Scapy's layers and plain packets: `to_layer`, `from_layer`, and bytes by way of them.

Payloads and predicates are in `layer_values`.
"""

from __future__ import annotations

from typing import Any

from fastpath.codec import WireError
from nodes.wire import layers
from nodes.wire.layer_values import attribute_layers, attributes_from, canonical, require
from nodes.wire.packets import Ack, Control, Hello, Message, Packet, Pad, Role, Trailer

AUTH, FIRST, LAST = 1, 2, 4
_HELLO = ("node", "incarnation", "hold_time_ms", "seen_node", "seen_incarnation")
_SESSION = ("incarnation", "peer_incarnation", "ack", "window")
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
    return layers.CBNMessage(
        **_take(packet, _MESSAGE),
        attributes=attribute_layers(packet.attributes),
        route_data=packet.route,
        **_sealed(packet.trailer),
    )


def _message(layer: layers.CBNMessage) -> Message:
    require(layer, nonzero=["source"], bits63=["sequence", "publish_time_ns"])
    return Message(
        **_take(layer, _MESSAGE),
        attributes=attributes_from(layer.attributes),
        route=layer.route_data,
        trailer=_trailer(layer),
    )


def _hello(layer: layers.CBNHello) -> Hello:
    require(layer, nonzero=["node", "incarnation", "hold_time_ms"])
    if (layer.seen_node == 0) != (layer.seen_incarnation == 0):
        raise WireError("seen_node and seen_incarnation must both be 0 or both not")
    return Hello(role=Role(layer.role), **_take(layer, _HELLO), trailer=_trailer(layer))


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
