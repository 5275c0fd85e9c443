"""The compiled codec: bytes to plain tuples and back. `nodes.wire.codec` gives them names."""

from collections.abc import Iterable, Sequence

Scalar = str | int | float | bool
Attribute = tuple[int, str, Scalar]
"""(type, name, value); a time's value is its nanoseconds."""
ConstraintTuple = tuple[int, int, str, Scalar | None]
"""(type, operator, name, value); None for `any`."""
TrailerTuple = tuple[bytes, int, int]
"""(tag, key_id, algorithm)."""

class WireError(ValueError):
    """These bytes are not what the wire format says."""

class UsageError(ValueError):
    """A value that the wire format cannot carry was to be encoded."""

def split_datagram(data: bytes) -> list[tuple[int, int, int]]:
    """Framing alone: (type, offset, length) of each packet, or WireError."""

def encode_pad(length: int) -> bytes: ...
def encode_message(
    source: int,
    sequence: int,
    publish_time_ns: int,
    attributes: Iterable[Attribute],
    header_class: int = 0,
    hop_limit: int = 64,
    hop_count: int = 0,
    route: bytes = b"",
    trailer: TrailerTuple | None = None,
) -> bytes: ...
def encode_destinations(routers: Iterable[int]) -> bytes:
    """The route of a message for these routers, whose ids ascend."""

def decode_destinations(route: bytes) -> tuple[int, ...]:
    """The routers a route names, ascending; WireError if it is not a list of destinations."""

def encode_hello(
    role: int,
    node: int,
    incarnation: int,
    hold_time_ms: int,
    seen_node: int = 0,
    seen_incarnation: int = 0,
    trailer: TrailerTuple | None = None,
) -> bytes: ...
def encode_control(
    kind: int,
    incarnation: int,
    peer_incarnation: int,
    sequence: int,
    ack: int,
    window: int,
    first: bool,
    last: bool,
    fragment: bytes,
    trailer: TrailerTuple | None = None,
) -> bytes: ...
def encode_ack(
    incarnation: int, peer_incarnation: int, ack: int, window: int, trailer: TrailerTuple | None = None
) -> bytes: ...
def decode_packet(packet: bytes) -> tuple[int, tuple[object, ...]]:
    """One whole packet: its type and the arguments that would encode it again, in order."""

def validate_message(packet: bytes) -> None:
    """Raise WireError unless `packet` is one canonical MESSAGE."""

def encode_attributes(attributes: Iterable[Attribute]) -> bytes: ...
def decode_attributes(data: bytes, count: int) -> list[Attribute]: ...
def encode_filter(constraints: Iterable[ConstraintTuple]) -> bytes: ...
def decode_filter(data: bytes) -> list[ConstraintTuple]: ...
def encode_predicate(filters: Iterable[Iterable[ConstraintTuple]]) -> bytes: ...
def decode_predicate(data: bytes) -> list[list[ConstraintTuple]]: ...
def split_predicate(data: bytes) -> list[bytes]:
    """The encoded filters of an encoded predicate, checked."""

def encode_link_state(origin: int, sequence: int, neighbours: Sequence[tuple[int, int]]) -> bytes: ...
def decode_link_state(data: bytes) -> tuple[int, int, list[tuple[int, int]]]: ...
def encode_interest(origin: int, sequence: int, filters: Iterable[Iterable[ConstraintTuple]]) -> bytes: ...
def decode_interest(data: bytes) -> tuple[int, int, list[list[ConstraintTuple]]]: ...
def encode_subscribe(subscription: int, filters: Iterable[Iterable[ConstraintTuple]]) -> bytes: ...
def decode_subscribe(data: bytes) -> tuple[int, list[list[ConstraintTuple]]]: ...
def encode_unsubscribe(subscription: int) -> bytes: ...
def decode_unsubscribe(data: bytes) -> int: ...
def encode_interest_change(
    origin: int,
    sequence: int,
    digest: bytes,
    removed: Iterable[Iterable[ConstraintTuple]],
    added: Iterable[Iterable[ConstraintTuple]],
) -> bytes: ...
def decode_interest_change(
    data: bytes,
) -> tuple[int, int, bytes, list[list[ConstraintTuple]], list[list[ConstraintTuple]]]: ...
def encode_record_request(origin: int) -> bytes: ...
def decode_record_request(data: bytes) -> int: ...
