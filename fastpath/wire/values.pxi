# Python's values to bytes, checked, and views of bytes to Python's values: a part of codec.pyx, which
# includes it and defines the errors.

cdef uint64_t U8 = 0xFF
cdef uint64_t U16 = 0xFFFF
cdef uint64_t U32 = 0xFFFFFFFF
cdef uint64_t U63 = 0x7FFFFFFFFFFFFFFF
cdef uint64_t U64 = 0xFFFFFFFFFFFFFFFF


# --- from Python, checked ---------------------------------------------------------------------------------

cdef inline Bytes view(bytes data) noexcept:
    return Bytes(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline bytes to_bytes(const string &data):
    return PyBytes_FromStringAndSize(data.data(), data.size())


cdef uint64_t unsigned(object value, str field, uint64_t low, uint64_t high) except? 0:
    cdef uint64_t number = 0
    cdef bint fits = True
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{field} must be an integer, not {value!r}")
    try:
        number = value
    except OverflowError:
        fits = False
    if not fits or number < low or number > high:
        raise UsageError(f"{field} is {value}; expected {low} to {high}")
    return number


cdef string raw(object value, str field, size_t most) except *:
    if not isinstance(value, bytes):
        raise UsageError(f"{field} must be bytes, not {type(value).__name__}")
    if <size_t>PyBytes_GET_SIZE(value) > most:
        raise UsageError(f"{field} has {len(value)} bytes; expected at most {most}")
    return string(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


cdef string text(object value, str field, size_t most) except *:
    if not isinstance(value, str):
        raise UsageError(f"{field} must be a string, not {value!r}")
    try:
        encoded = (<str>value).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{field} {value!r} cannot be written as UTF-8: {error.reason}") from None
    if <size_t>len(encoded) > most:
        raise UsageError(f"{field} has {len(encoded)} bytes of UTF-8; expected at most {most}")
    return encoded


cdef string name_of(object name) except *:
    cdef string encoded = text(name, "name", 255)
    if encoded.empty():
        raise UsageError("a name is empty; expected 1 to 255 bytes of UTF-8")
    return encoded


cdef int put_value(string &out, int type_, object value, object name) except -1:
    if type_ == <int>Type.String:
        put_string_value(out, text(value, f"value of {name}", 65535))
    elif type_ == <int>Type.Integer or type_ == <int>Type.Time:
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"value of {name} must be an integer, not {value!r}")
        if not -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
            raise UsageError(f"value of {name} is {value}, which does not fit 64 bits")
        put_u64(out, <uint64_t><int64_t>value)
    elif type_ == <int>Type.Float:
        if not isinstance(value, float):
            raise UsageError(f"value of {name} must be a float, not {value!r}")
        if value != value:
            raise UsageError(f"value of {name} is NaN, which has no order")
        put_float_value(out, value)
    else:
        if not isinstance(value, bool):
            raise UsageError(f"value of {name} must be a boolean, not {value!r}")
        put_u8(out, 1 if value else 0)
    return 0


cdef int collect_attribute(vector[pair[string, string]] &into, object attribute) except -1:
    type_, name, value = attribute
    cdef string encoded
    cdef pair[string, string] named
    cdef int code = <int>unsigned(type_, "attribute type", 1, 5)
    named.first = name_of(name)
    put_u8(encoded, code)
    put_name(encoded, named.first)
    put_value(encoded, code, value, name)
    named.second = encoded
    into.push_back(named)
    return 0


cdef size_t put_attributes(string &out, object attributes) except? 0:
    cdef vector[pair[string, string]] collected
    for attribute in attributes:
        collect_attribute(collected, attribute)
    if collected.size() > U16:
        raise UsageError(f"{collected.size()} attributes; expected at most 65535")
    cdef const string *twice = put_sorted(out, collected)
    if twice != NULL:
        raise UsageError(f"two attributes are named {to_bytes(twice[0]).decode()!r}")
    return collected.size()


cdef string one_constraint(object constraint) except *:
    type_, op, name, value = constraint
    cdef string out
    cdef int code = <int>unsigned(type_, "constraint type", 1, 5)
    cdef int operation = <int>unsigned(op, "operator", 1, 10)
    if not operator_exists(<Op>operation, <Type>code):
        raise UsageError(f"operator {operation} on {name!r} does not exist for type {code}")
    put_u8(out, code)
    put_u8(out, operation)
    put_name(out, name_of(name))
    if operation != <int>Op.Any:
        put_value(out, code, value, name)
    elif value is not None:
        raise UsageError(f"constraint `any` on {name!r} takes no value, but has {value!r}")
    return out


cdef string one_filter(object constraints) except *:
    cdef vector[string] members
    cdef string out
    for constraint in constraints:
        members.push_back(one_constraint(constraint))
    make_set(members)
    if members.size() > U16:
        raise UsageError(f"{members.size()} constraints in a filter; expected at most 65535")
    put_u16(out, members.size())
    put_all(out, members)
    return out


cdef int auth_flag(object trailer) noexcept:
    return 0 if trailer is None else FLAG_AUTH


cdef bytes finish(string &out, object trailer):
    if trailer is not None:
        tag, key_id, algorithm = trailer
        if tag == b"":
            raise UsageError("the tag of a trailer is empty; expected 1 to 255 bytes")
        put_trailer(out, raw(tag, "tag", 255), unsigned(key_id, "key_id", 0, U16),
                    unsigned(algorithm, "algorithm", 0, U8))
    if not seal(out):
        raise UsageError(f"the packet has {out.size()} bytes; expected at most {MAX_PACKET}")
    return to_bytes(out)


# --- to Python --------------------------------------------------------------------------------------------

cdef int check(const Status &status) except -1:
    if not status.ok():
        raise WireError(f"{status.field.decode()} at byte {status.offset} {describe(status.fault).decode()}")
    return 0


cdef inline bytes copy(Bytes data):
    return PyBytes_FromStringAndSize(<const char *>data.data(), data.size())


cdef inline str to_str(string_view data):
    return PyUnicode_DecodeUTF8(data.data(), data.size(), NULL)


cdef object to_value(const ValueView &value):
    if value.type == Type.String:
        return to_str(value.text)
    if value.type == Type.Float:
        return value.number()
    if value.type == Type.Boolean:
        return True if value.boolean() else False
    return value.integer()


cdef list read_attributes(AttributeCursor &cursor):
    cdef AttributeView view
    cdef list out = []
    while cursor.next(view):
        out.append((<int>view.value.type, to_str(view.name), to_value(view.value)))
    check(cursor.status())
    return out


cdef list read_filter(Bytes data):
    cdef ConstraintView view
    cdef ConstraintCursor cursor = ConstraintCursor(data)
    cdef list out = []
    while cursor.next(view):
        value = None if view.op == Op.Any else to_value(view.value)
        out.append((<int>view.value.type, <int>view.op, to_str(view.name), value))
    check(cursor.status())
    return out


cdef tuple to_trailer(const TrailerView &trailer):
    if trailer.tag.empty():
        return None
    return (copy(trailer.tag), trailer.key_id, trailer.algorithm)


cdef tuple read_message(Bytes data):
    cdef MessageView m
    check(parse_message(data, m))
    cdef AttributeCursor cursor = AttributeCursor(m)
    return (m.source, m.sequence, m.publish_time_ns, read_attributes(cursor), m.header_class,
            m.hop_limit, m.hop_count, copy(m.route), copy(m.payload), to_trailer(m.trailer))


cdef tuple read_hello(Bytes data):
    cdef HelloView h
    check(parse_hello(data, h))
    return (h.role, h.node, h.incarnation, h.hold_time_ms, h.seen_node, h.seen_incarnation,
            to_trailer(h.trailer))


cdef tuple read_control(Bytes data):
    cdef ControlView c
    check(parse_control(data, c))
    return (c.kind, c.incarnation, c.peer_incarnation, c.sequence, c.ack, c.window,
            (c.flags & FLAG_FIRST) != 0, (c.flags & FLAG_LAST) != 0, copy(c.fragment), to_trailer(c.trailer))


cdef tuple read_ack(Bytes data):
    cdef ControlView c
    check(parse_ack(data, c))
    return (c.incarnation, c.peer_incarnation, c.ack, c.window, to_trailer(c.trailer))


cdef tuple read_seal(Bytes data):
    cdef SealView s
    check(parse_seal(data, s))
    return (s.key_id, s.session, s.counter, copy(s.mac), s.algorithm)
