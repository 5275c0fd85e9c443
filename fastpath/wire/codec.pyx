# distutils: language = c++
"""The compiled codec: bytes to plain tuples and back. See codec.pyi for the signatures.

Reading is done by wire/wire.hpp, writing by wire/codec.hpp; here and in values.pxi
Python's values are checked and made. `nodes.wire.codec` gives them names.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from fastpath.wire cimport *


class WireError(ValueError):
    """These bytes are not what the wire format says."""


class UsageError(ValueError):
    """A value that the wire format cannot carry was to be encoded."""


include "values.pxi"


# --- packets ----------------------------------------------------------------------------------------------

def split_datagram(bytes data not None):
    """Framing alone: (type, offset, length) of each packet, or WireError."""
    cdef vector[Frame] frames
    check(split(view(data), frames))
    return [(<int>frame.type, frame.offset, frame.length) for frame in frames]


def lone_type(bytes datagram not None):
    """The type of the one packet that a datagram is; -1: it is not one packet, well framed."""
    cdef Frame frame
    return <int>frame.type if read_single(view(datagram), frame).ok() else -1


def read_session(bytes packet not None, incarnation, peer_incarnation):
    """What a CONTROL without a trailer says that names this session, or an ACK.

    (kind, sequence, ack, window, first, last, fragment); of an ACK, kind and sequence are 0.
    None: it is anything else, of which `decode_packet` says more.
    """
    cdef ControlView c
    cdef Bytes data = view(packet)
    cdef Frame frame
    if not read_single(data, frame).ok():
        return None
    if frame.type == PacketType.Control:
        if not parse_control(data, c).ok():
            return None
    elif frame.type != PacketType.Ack or not parse_ack(data, c).ok():
        return None
    if not c.trailer.tag.empty():
        return None
    if c.incarnation != <uint64_t>incarnation or c.peer_incarnation != <uint64_t>peer_incarnation:
        return None
    if frame.type == PacketType.Ack:
        return (0, 0, c.ack, c.window, False, False, b"")
    return (c.kind, c.sequence, c.ack, c.window, (c.flags & FLAG_FIRST) != 0, (c.flags & FLAG_LAST) != 0,
            copy(c.fragment))


def decode_packet(bytes packet not None):
    """One whole packet: its type and the arguments that would encode it again, in order."""
    cdef Bytes data = view(packet)
    cdef Frame frame
    check(read_single(data, frame))
    if frame.type == PacketType.Message:
        return (1, read_message(data))
    if frame.type == PacketType.Hello:
        return (2, read_hello(data))
    if frame.type == PacketType.Control:
        return (3, read_control(data))
    if frame.type == PacketType.Ack:
        return (4, read_ack(data))
    if frame.type == PacketType.Seal:
        return (5, read_seal(data))
    check(validate_pad(data))
    return (0, (len(packet),))


def validate_message(bytes packet not None):
    """Raise WireError unless `packet` is one canonical MESSAGE."""
    check(c_validate_message(view(packet)))


def encode_pad(length):
    cdef string out
    begin_packet(out, <int>PacketType.Pad, 0)
    out.resize(unsigned(length, "length", 4, MAX_PACKET), 0)
    return finish(out, None)


def encode_message(source, sequence, publish_time_ns, attributes, header_class=0, hop_limit=64, hop_count=0,
                   route=b"", payload=b"", trailer=None):
    cdef string out
    cdef string way = raw(route, "route", 65535)
    cdef string carried = raw(payload, "payload", 65535)
    begin_packet(out, <int>PacketType.Message, auth_flag(trailer) | (0 if carried.empty() else FLAG_PAYLOAD))
    put_u8(out, unsigned(hop_limit, "hop_limit", 0, U8))
    put_u8(out, unsigned(hop_count, "hop_count", 0, U8))
    put_u8(out, 0)
    put_u32(out, unsigned(source, "source", 1, U32))
    put_u32(out, unsigned(header_class, "header_class", 0, U32))
    put_u64(out, unsigned(sequence, "sequence", 0, U63))
    put_u64(out, unsigned(publish_time_ns, "publish_time_ns", 0, U63))
    put_u16(out, way.size())
    put_u16(out, 0)
    out.append(way)
    patch_u16(out, 34, put_attributes(out, attributes))
    if not carried.empty():
        out.append(carried)
        put_u16(out, carried.size())
    return finish(out, trailer)


def encode_destinations(routers):
    """The route of a message for these routers, whose ids ascend."""
    cdef string out
    cdef uint32_t before = 0
    for router in routers:
        put_destination(out, before, unsigned(router, f"a destination after {before}", before + 1, U32))
        before = router
    return <bytes>out


def decode_destinations(bytes route not None):
    """The routers a route names, ascending; WireError if it is not a list of destinations."""
    cdef DestinationCursor cursor = DestinationCursor(view(route))
    cdef uint32_t router = 0
    found = []
    while cursor.next(router):
        found.append(router)
    check(cursor.status())
    return tuple(found)


def encode_hello(role, node, incarnation, hold_time_ms, seen_node=0, seen_incarnation=0, trailer=None):
    cdef string out
    begin_packet(out, <int>PacketType.Hello, auth_flag(trailer))
    put_u8(out, unsigned(role, "role", 1, 2))
    put_u16(out, unsigned(hold_time_ms, "hold_time_ms", 1, U16))
    put_u32(out, unsigned(node, "node", 1, U32))
    put_u32(out, unsigned(seen_node, "seen_node", 0, U32))
    put_u64(out, unsigned(incarnation, "incarnation", 1, U64))
    put_u64(out, unsigned(seen_incarnation, "seen_incarnation", 0, U64))
    if (seen_node == 0) != (seen_incarnation == 0):
        raise UsageError("seen_node and seen_incarnation must both be 0 or both not")
    return finish(out, trailer)


cdef bytes session_packet(PacketType type_, ControlView &said, object fragment, object trailer):
    """A CONTROL or an ACK. What `said` has besides flags and kind has been checked."""
    cdef string out
    cdef size_t size
    cdef bytes packet
    if not isinstance(fragment, bytes):
        raise UsageError(f"fragment must be bytes, not {type(fragment).__name__}")
    said.fragment = view(fragment)
    if said.fragment.size() > U16:
        raise UsageError(f"fragment has {len(fragment)} bytes; expected at most 65535")
    size = CONTROL_SIZE + said.fragment.size()
    if trailer is None and size <= MAX_PACKET:
        packet = PyBytes_FromStringAndSize(NULL, size)
        write_session(<uint8_t *>PyBytes_AS_STRING(packet), type_, said)
        return packet
    out.resize(size)
    write_session(<uint8_t *>out.data(), type_, said)
    return finish(out, trailer)


def encode_control(kind, incarnation, peer_incarnation, sequence, ack, window, first, last, fragment,
                   trailer=None):
    cdef ControlView said
    said.flags = auth_flag(trailer) | (FLAG_FIRST if first else 0) | (FLAG_LAST if last else 0)
    said.kind = unsigned(kind, "kind", 1, U8)
    said.window = unsigned(window, "window", 0, U16)
    said.incarnation = unsigned(incarnation, "incarnation", 1, U64)
    said.peer_incarnation = unsigned(peer_incarnation, "peer_incarnation", 1, U64)
    said.sequence = unsigned(sequence, "sequence", 1, U32)
    said.ack = unsigned(ack, "ack", 0, U32)
    return session_packet(PacketType.Control, said, fragment, trailer)


def encode_ack(incarnation, peer_incarnation, ack, window, trailer=None):
    cdef ControlView said
    said.flags = auth_flag(trailer)
    said.kind, said.sequence = 0, 0
    said.window = unsigned(window, "window", 0, U16)
    said.incarnation = unsigned(incarnation, "incarnation", 1, U64)
    said.peer_incarnation = unsigned(peer_incarnation, "peer_incarnation", 1, U64)
    said.ack = unsigned(ack, "ack", 0, U32)
    return session_packet(PacketType.Ack, said, b"", trailer)


def encode_seal(key_id, session, counter, mac, algorithm=2):
    cdef string out
    cdef string proof = raw(mac, "mac", SEAL_MAC_SIZE)
    if proof.size() != SEAL_MAC_SIZE:
        raise UsageError(f"mac has {proof.size()} bytes; expected {SEAL_MAC_SIZE}")
    begin_packet(out, <int>PacketType.Seal, 0)
    put_u8(out, unsigned(algorithm, "algorithm", 0, U8))
    put_u16(out, unsigned(key_id, "key_id", 0, U16))
    put_u64(out, unsigned(session, "session", 0, U64))
    put_u64(out, unsigned(counter, "counter", 0, U64))
    out.append(proof)
    return finish(out, None)


def decode_seal(bytes packet not None):
    return read_seal(view(packet))


include "batches.pxi"


# --- parts ---------------------------------------------------------------------------------------------

def encode_attributes(attributes):
    cdef string out
    put_attributes(out, attributes)
    return to_bytes(out)


def decode_attributes(bytes data not None, count):
    cdef AttributeCursor cursor = AttributeCursor(view(data), <uint32_t>unsigned(count, "count", 0, U16))
    return read_attributes(cursor)


def encode_filter(constraints):
    return to_bytes(one_filter(constraints))


def decode_filter(bytes data not None):
    check(validate_filter(view(data)))
    return read_filter(view(data))


cdef int put_predicate(string &out, object filters) except -1:
    cdef vector[string] members
    for one in filters:
        members.push_back(one_filter(one))
    make_set(members)
    put_u32(out, members.size())
    put_all(out, members)
    return 0


def encode_predicate(filters):
    cdef string out
    put_predicate(out, filters)
    return to_bytes(out)


cdef list read_predicate(Bytes data, size_t base):
    cdef FilterCursor cursor = FilterCursor(data, base)
    cdef Bytes one
    cdef list out = []
    while cursor.next(one):
        out.append(read_filter(one))
    check(cursor.status())
    return out


def decode_predicate(bytes data not None):
    return read_predicate(view(data), 0)


def split_predicate(bytes data not None):
    """The encoded filters of an encoded predicate, checked."""
    cdef FilterCursor cursor = FilterCursor(view(data))
    cdef Bytes one
    cdef list out = []
    while cursor.next(one):
        out.append(copy(one))
    check(cursor.status())
    return out


# --- control payloads --------------------------------------------------------------------------------------

cdef int put_neighbours(string &out, list pairs) except -1:
    cdef object last = 0
    for node, cost in pairs:
        if node == last and last != 0:
            raise UsageError(f"neighbour {node} occurs twice")
        put_u32(out, unsigned(node, "neighbour", 1, U32))
        put_u32(out, unsigned(cost, f"cost to {node}", 1, U32))
        last = node
    return 0


def encode_link_state(origin, sequence, neighbours):
    cdef string out
    put_u32(out, unsigned(origin, "origin", 1, U32))
    put_u64(out, unsigned(sequence, "sequence", 0, U63))
    put_u16(out, unsigned(len(neighbours), "number of neighbours", 0, U16))
    put_neighbours(out, sorted(neighbours))
    return to_bytes(out)


def decode_link_state(bytes data not None):
    cdef LinkStateCursor cursor = LinkStateCursor(view(data))
    cdef NeighbourView neighbour
    cdef list neighbours = []
    while cursor.next(neighbour):
        neighbours.append((neighbour.node, neighbour.cost))
    check(cursor.status())
    return (cursor.origin, cursor.sequence, neighbours)


def encode_interest(origin, sequence, filters):
    cdef string out
    put_u32(out, unsigned(origin, "origin", 1, U32))
    put_u64(out, unsigned(sequence, "sequence", 0, U63))
    put_predicate(out, filters)
    return to_bytes(out)


def decode_interest(bytes data not None):
    cdef PredicateView interest
    check(parse_interest(view(data), interest))
    return (interest.id, interest.sequence, read_predicate(interest.predicate, interest.predicate_at))


# What clients hold has a number of theirs: told with a predicate, withdrawn by the number alone.
ctypedef Status (*ParseHeld)(Bytes, PredicateView &)
ctypedef Status (*ParseNumber)(Bytes, uint32_t &)


cdef bytes held_bytes(number, str name, filters):
    cdef string out
    put_u32(out, unsigned(number, name, 0, U32))
    put_predicate(out, filters)
    return to_bytes(out)


cdef tuple read_held(bytes data, ParseHeld parse):
    cdef PredicateView held
    check(parse(view(data), held))
    return (held.id, read_predicate(held.predicate, held.predicate_at))


cdef bytes number_bytes(number, str name, uint64_t least):
    cdef string out
    put_u32(out, unsigned(number, name, least, U32))
    return to_bytes(out)


cdef object read_number(bytes data, ParseNumber parse):
    cdef uint32_t number = 0
    check(parse(view(data), number))
    return number


def encode_subscribe(subscription, filters):
    return held_bytes(subscription, "subscription", filters)


def decode_subscribe(bytes data not None):
    return read_held(data, parse_subscribe)


def encode_unsubscribe(subscription):
    return number_bytes(subscription, "subscription", 0)


def decode_unsubscribe(bytes data not None):
    return read_number(data, parse_unsubscribe)


def encode_advertise(advertisement, filters):
    return held_bytes(advertisement, "advertisement", filters)


def decode_advertise(bytes data not None):
    return read_held(data, parse_advertise)


def encode_unadvertise(advertisement):
    return number_bytes(advertisement, "advertisement", 0)


def decode_unadvertise(bytes data not None):
    return read_number(data, parse_unadvertise)


def encode_refused(reason, count, sequence):
    cdef string out
    put_u8(out, unsigned(reason, "reason", 1, U8))
    put_u32(out, unsigned(count, "count", 1, U32))
    put_u64(out, unsigned(sequence, "sequence", 0, U63))
    return to_bytes(out)


def decode_refused(bytes data not None):
    cdef RefusedView refused
    check(parse_refused(view(data), refused))
    return (refused.reason, refused.count, refused.sequence)


def encode_subscribe_pattern(pattern, text_):
    cdef string out
    put_u32(out, unsigned(pattern, "pattern", 0, U32))
    cdef string encoded = text(text_, "text", U32)
    if encoded.empty():
        raise UsageError("the text of a pattern is empty")
    out.append(encoded)
    return to_bytes(out)


def decode_subscribe_pattern(bytes data not None):
    cdef PatternView pattern
    check(parse_subscribe_pattern(view(data), pattern))
    return (pattern.id, to_str(pattern.text))


def encode_unsubscribe_pattern(pattern):
    return number_bytes(pattern, "pattern", 0)


def decode_unsubscribe_pattern(bytes data not None):
    return read_number(data, parse_unsubscribe_pattern)


def encode_match(pattern, messages):
    cdef string out
    put_u32(out, unsigned(pattern, "pattern", 0, U32))
    for message in messages:
        if not isinstance(message, bytes) or not c_validate_message(view(message)).ok():
            raise UsageError(f"{message!r} is no encoded MESSAGE")
        out.append(PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))
    if out.size() == 4:
        raise UsageError("a match has no messages; expected one at least")
    return to_bytes(out)


def decode_match(bytes data not None):
    """The messages are checked, and left as they are."""
    cdef MatchCursor cursor = MatchCursor(view(data))
    cdef Bytes message
    cdef list messages = []
    while cursor.next(message):
        messages.append(copy(message))
    check(cursor.status())
    return (cursor.pattern, messages)


def encode_interest_change(origin, sequence, digest, removed, added):
    cdef string out
    put_u32(out, unsigned(origin, "origin", 1, U32))
    put_u64(out, unsigned(sequence, "sequence", 0, U63))
    if not isinstance(digest, bytes) or len(digest) != 16:
        raise UsageError(f"digest is {digest!r}; expected 16 bytes")
    out.append(raw(digest, "digest", 16))
    put_predicate(out, removed)
    put_predicate(out, added)
    return to_bytes(out)


def decode_interest_change(bytes data not None):
    cdef ChangeView change
    check(parse_interest_change(view(data), change))
    removed = read_predicate(change.removed, change.removed_at)
    added = read_predicate(change.added, change.added_at)
    return (change.origin, change.sequence, copy(change.digest), removed, added)


def split_signature(kind, bytes data not None):
    """The record without the signature, and the signature; both are checked for their form alone."""
    cdef Bytes record
    check(find_record(unsigned(kind, "kind", 0, U8), view(data), record))
    return (copy(record), data[record.size():])


def encode_record_request(origin):
    return number_bytes(origin, "origin", 1)


def decode_record_request(bytes data not None):
    return read_number(data, parse_record_request)
