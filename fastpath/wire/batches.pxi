# Many messages at once, for clients: a part of codec.pyx, which includes it. A mapping of attributes becomes
# bytes, and bytes a dict, without the tuples in between that `encode_message` and `decode_packet` have.

cdef int type_code(object value, object time_type) except -1:
    kind = type(value)
    if kind is str:
        return <int>Type.String
    if kind is int:
        return <int>Type.Integer
    if kind is float:
        return <int>Type.Float
    if kind is bool:
        return <int>Type.Boolean
    if kind is time_type:
        return <int>Type.Time
    known = f"str, int, float, bool or {time_type.__name__}"
    raise UsageError(f"{value!r} is a {kind.__name__}; a value is a {known}")


cdef int put_attribute(string &out, const string &encoded, object name, object value,
                       object time_type) except -1:
    cdef int code = type_code(value, time_type)
    put_u8(out, code)
    put_name(out, encoded)
    return put_value(out, code, value.ns if code == <int>Type.Time else value, name)


cdef int put_mapping(string &out, dict attributes, object time_type) except -1:
    """Appends the attributes; names that ascend already, as nearly always, are written in their order."""
    cdef size_t start = out.size()
    cdef string encoded, before
    if len(attributes) > <Py_ssize_t>U16:
        raise UsageError(f"{len(attributes)} attributes; expected at most 65535")
    for name, value in attributes.items():
        encoded = name_of(name)
        if encoded <= before:
            break
        put_attribute(out, encoded, name, value, time_type)
        before.swap(encoded)
    else:
        return 0
    out.resize(start)
    for name in sorted(attributes, key=name_of):
        put_attribute(out, name_of(name), name, attributes[name], time_type)
    return 0


def encode_messages(source, sequence, publish_time_ns, messages, time_type, hop_limit, datagram_bytes):
    """The datagrams of messages, (attributes, payload) each, which are numbered from `sequence` on."""
    cdef string packet, datagram, carried
    cdef uint64_t number = unsigned(sequence, "sequence", 0, U63)
    cdef uint64_t at_ns = unsigned(publish_time_ns, "publish_time_ns", 0, U63)
    cdef uint32_t by = <uint32_t>unsigned(source, "source", 1, U32)
    cdef uint8_t hops = <uint8_t>unsigned(hop_limit, "hop_limit", 0, U8)
    cdef size_t most = unsigned(datagram_bytes, "datagram_bytes", 1, U16)
    cdef list datagrams = []
    for attributes, payload in messages:
        packet.clear()
        carried = raw(payload, "payload", 65535)
        begin_packet(packet, <int>PacketType.Message, 0 if carried.empty() else FLAG_PAYLOAD)
        put_u8(packet, hops)
        put_u16(packet, 0)
        put_u32(packet, by)
        put_u32(packet, 0)
        put_u64(packet, number)
        put_u64(packet, at_ns)
        put_u16(packet, 0)
        put_u16(packet, len(attributes))
        put_mapping(packet, attributes if type(attributes) is dict else dict(attributes), time_type)
        if not carried.empty():
            packet.append(carried)
            put_u16(packet, carried.size())
        if packet.size() > most:
            which = f"message {number - <uint64_t>sequence + 1} of the batch"
            raise UsageError(f"{which} has {packet.size()} bytes; expected at most {most}")
        seal(packet)
        if datagram.size() + packet.size() > most:
            datagrams.append(to_bytes(datagram))
            datagram.clear()
        datagram.append(packet)
        number += 1
    if not datagram.empty():
        datagrams.append(to_bytes(datagram))
    return datagrams


cdef dict read_mapping(const MessageView &message, object time_type):
    cdef AttributeCursor cursor = AttributeCursor(message)
    cdef AttributeView view
    cdef dict out = {}
    while cursor.next(view):
        value = to_value(view.value)
        out[to_str(view.name)] = time_type(value) if view.value.type == Type.Time else value
    check(cursor.status())
    return out


def decode_messages(bytes datagram not None, time_type):
    """The MESSAGEs of a datagram, the other packets but PAD and SEAL, and how many MESSAGEs were malformed.

    A MESSAGE is (packet, source, sequence, attributes, hop_count, publish_time_ns, payload).
    WireError if the datagram cannot be framed.
    """
    cdef vector[Frame] frames
    cdef Frame frame
    cdef MessageView m
    cdef Bytes data = view(datagram)
    cdef Bytes one
    cdef list messages = [], others = []
    cdef int malformed = 0
    check(split(data, frames))
    for frame in frames:
        if frame.type == PacketType.Pad or frame.type == PacketType.Seal:
            continue
        one = Bytes(data.data() + frame.offset, frame.length)
        if frame.type != PacketType.Message:
            others.append(copy(one))
            continue
        try:
            check(parse_message(one, m))
            messages.append((copy(one), m.source, m.sequence, read_mapping(m, time_type), m.hop_count,
                             m.publish_time_ns, copy(m.payload)))
        except WireError:
            malformed += 1
    return messages, others, malformed
