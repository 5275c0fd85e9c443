# distutils: language = c++
"""The C++ wire headers as Cython sees them: what to cimport, no code."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from "<string_view>" namespace "std" nogil:
    cdef cppclass string_view:
        string_view()
        string_view(const char *, size_t)
        const char *data()
        size_t size()


cdef extern from "wire/codec.hpp" namespace "cbn::wire" nogil:
    cdef cppclass Bytes:
        Bytes()
        Bytes(const uint8_t *, size_t)
        const uint8_t *data()
        size_t size()
        cbool empty()

    cdef enum class PacketType(uint8_t):
        Pad, Message, Hello, Control, Ack, Seal

    cdef enum class Type(uint8_t):
        String, Integer, Float, Boolean, Time

    cdef enum class Op(uint8_t):
        Any

    cdef enum class Fault(uint8_t):
        Ok

    const char *describe(Fault)

    cdef cppclass Status:
        Fault fault
        const char *field
        size_t offset
        cbool ok()

    cdef cppclass Frame:
        PacketType type
        uint32_t offset
        uint32_t length

    cdef cppclass ValueView:
        Type type
        string_view text
        int64_t integer()
        double number()
        cbool boolean()

    cdef cppclass AttributeView:
        string_view name
        ValueView value

    cdef cppclass ConstraintView:
        Op op
        string_view name
        ValueView value

    cdef cppclass NeighbourView:
        uint32_t node
        uint32_t cost

    cdef cppclass TrailerView:
        Bytes tag
        uint16_t key_id
        uint8_t algorithm

    cdef cppclass MessageView:
        uint8_t hop_limit
        uint8_t hop_count
        uint16_t attribute_count
        uint32_t source
        uint32_t header_class
        uint64_t sequence
        uint64_t publish_time_ns
        Bytes route
        Bytes payload
        TrailerView trailer

    cdef cppclass HelloView:
        uint8_t role
        uint16_t hold_time_ms
        uint32_t node
        uint32_t seen_node
        uint64_t incarnation
        uint64_t seen_incarnation
        TrailerView trailer

    cdef cppclass ControlView:
        uint8_t flags
        uint8_t kind
        uint16_t window
        uint64_t incarnation
        uint64_t peer_incarnation
        uint32_t sequence
        uint32_t ack
        Bytes fragment
        TrailerView trailer

    cdef cppclass SealView:
        uint8_t algorithm
        uint16_t key_id
        uint64_t session
        uint64_t counter
        Bytes mac

    Status split(Bytes, vector[Frame] &) except +
    Status read_single(Bytes, Frame &)
    Status validate_pad(Bytes)
    Status c_validate_message "cbn::wire::validate_message"(Bytes)
    Status parse_message(Bytes, MessageView &)
    Status parse_hello(Bytes, HelloView &)
    Status parse_control(Bytes, ControlView &)
    Status parse_ack(Bytes, ControlView &)
    Status parse_seal(Bytes, SealView &)

    cdef cppclass AttributeCursor:
        AttributeCursor()
        AttributeCursor(Bytes, uint32_t)
        AttributeCursor(const MessageView &)
        cbool next(AttributeView &)
        Status status()

    cdef cppclass ConstraintCursor:
        ConstraintCursor()
        ConstraintCursor(Bytes)
        cbool next(ConstraintView &)
        Status status()
        size_t size()

    Status validate_filter(Bytes)
    Status validate_predicate(Bytes)

    cdef cppclass FilterCursor:
        FilterCursor()
        FilterCursor(Bytes)
        FilterCursor(Bytes, size_t)
        cbool next(Bytes &)
        Status status()

    cdef cppclass LinkStateCursor:
        LinkStateCursor()
        LinkStateCursor(Bytes)
        cbool next(NeighbourView &)
        Status status()
        uint32_t origin
        uint64_t sequence

    cdef cppclass PredicateView:
        uint32_t id
        uint64_t sequence
        Bytes predicate
        size_t predicate_at

    Status parse_interest(Bytes, PredicateView &)
    Status parse_subscribe(Bytes, PredicateView &)
    Status parse_unsubscribe(Bytes, uint32_t &)
    Status parse_advertise(Bytes, PredicateView &)
    Status parse_unadvertise(Bytes, uint32_t &)

    cdef cppclass RefusedView:
        uint8_t reason
        uint32_t count
        uint64_t sequence

    Status parse_refused(Bytes, RefusedView &)

    cdef cppclass PatternView:
        uint32_t id
        string_view text

    Status parse_subscribe_pattern(Bytes, PatternView &)
    Status parse_unsubscribe_pattern(Bytes, uint32_t &)

    cdef cppclass MatchCursor:
        MatchCursor()
        MatchCursor(Bytes)
        cbool next(Bytes &)
        Status status()
        uint32_t pattern

    cdef cppclass ChangeView:
        uint32_t origin
        uint64_t sequence
        Bytes digest
        Bytes removed
        size_t removed_at
        Bytes added
        size_t added_at

    Status parse_interest_change(Bytes, ChangeView &)
    Status parse_record_request(Bytes, uint32_t &)
    Status find_record(uint8_t, Bytes, Bytes &)

    cdef cppclass DestinationCursor:
        DestinationCursor()
        DestinationCursor(Bytes)
        cbool next(uint32_t &)
        Status status()

    cbool operator_exists "cbn::wire::detail::operator_exists"(Op, Type)
    void put_u8(string &, uint8_t) except +
    void put_u16(string &, uint16_t) except +
    void put_u32(string &, uint32_t) except +
    void put_u64(string &, uint64_t) except +
    void put_name(string &, const string &) except +
    void put_string_value(string &, const string &) except +
    void put_float_value(string &, double) except +
    void write_session(uint8_t *, PacketType, const ControlView &)
    void begin_packet(string &, uint8_t, uint8_t) except +
    void put_trailer(string &, const string &, uint16_t, uint8_t) except +
    void patch_u16(string &, size_t, uint16_t)
    cbool seal(string &)
    const string *put_sorted(string &, vector[pair[string, string]] &) except +
    void make_set(vector[string] &) except +
    void put_destination(string &, uint32_t, uint32_t) except +
    void put_all(string &, const vector[string] &) except +

    const uint8_t FLAG_AUTH
    const uint8_t FLAG_PAYLOAD
    const uint8_t FLAG_FIRST
    const uint8_t FLAG_LAST
    const size_t CONTROL_SIZE
    const size_t MAX_PACKET
    const size_t SEAL_MAC_SIZE
