// What the wire format consists of: constants, the verdict on bytes, and views that point into them.
//
// docs/wire-format.md is the authority. A view is valid as long as the bytes it was made from. Nothing in
// the wire/ headers throws, allocates (but for `split` into a vector), or knows Python.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cbn::wire {

using Bytes = std::span<const std::uint8_t>;

inline constexpr std::uint16_t PORT = 61803;
inline constexpr std::uint8_t VERSION = 1;
inline constexpr std::size_t MAX_PACKET = 65'535;
inline constexpr std::size_t MAX_NAME = 255;
inline constexpr std::size_t MAX_STRING = 65'535;

inline constexpr std::size_t COMMON_SIZE = 4;
inline constexpr std::size_t MESSAGE_SIZE = 36;
inline constexpr std::size_t HELLO_SIZE = 32;
inline constexpr std::size_t CONTROL_SIZE = 32;
inline constexpr std::size_t SEAL_SIZE = 40;
inline constexpr std::size_t SEAL_MAC_SIZE = 16;  // at its end

inline constexpr std::size_t LENGTH_AT = 2;  // of every packet

// Where the fields of a MESSAGE stand that routers read or rewrite in place.
inline constexpr std::size_t HOP_LIMIT_AT = 5;
inline constexpr std::size_t HOP_COUNT_AT = 6;
inline constexpr std::size_t SOURCE_AT = 8;
inline constexpr std::size_t HEADER_CLASS_AT = 12;
inline constexpr std::size_t ROUTE_LENGTH_AT = 32;

inline constexpr std::uint8_t FLAG_AUTH = 0x01;
inline constexpr std::uint8_t FLAG_PAYLOAD = 0x02;  // of a MESSAGE
inline constexpr std::uint8_t FLAG_FIRST = 0x02;    // of a CONTROL
inline constexpr std::uint8_t FLAG_LAST = 0x04;

enum class PacketType : std::uint8_t { Pad = 0, Message = 1, Hello = 2, Control = 3, Ack = 4, Seal = 5 };
enum class Type : std::uint8_t { String = 1, Integer = 2, Float = 3, Boolean = 4, Time = 5 };
enum class Op : std::uint8_t {
    Eq = 1,
    Ne = 2,
    Lt = 3,
    Gt = 4,
    Le = 5,
    Ge = 6,
    Prefix = 7,
    Suffix = 8,
    Substring = 9,
    Any = 10
};

// Why bytes were rejected. `Ok` is zero.
enum class Fault : std::uint8_t {
    Ok = 0,
    Empty,
    BadVersion,
    BadPacketType,
    TooShort,
    Truncated,
    LeftOver,
    Reserved,
    MustNotBeZero,
    MustBeZero,
    TopBit,
    BadRole,
    HalfSeen,
    BadValueType,
    BadOperator,
    OperatorForType,
    BadUtf8,
    NegativeZero,
    NotANumber,
    BadBoolean,
    NotAscending,
    WrongType,
    BadKind,
    IdTooLarge,
    NotShortest,
};

// A person's words for a fault, to follow the field's name.
constexpr const char* describe(Fault fault) noexcept {
    switch (fault) {
        case Fault::Ok: return "is well-formed";
        case Fault::Empty: return "is empty; a datagram holds at least one packet";
        case Fault::BadVersion: return "is not 1, the only version known here";
        case Fault::BadPacketType: return "is unknown; expected 0 to 5";
        case Fault::TooShort: return "is below the minimum";
        case Fault::Truncated: return "runs past the end";
        case Fault::LeftOver: return "is followed by bytes that belong to nothing";
        case Fault::Reserved: return "has reserved bits set; they must be 0";
        case Fault::MustNotBeZero: return "is 0, which is not allowed";
        case Fault::MustBeZero: return "is not 0";
        case Fault::TopBit: return "has its top bit set; expected at most 63 bits";
        case Fault::BadRole: return "is unknown; expected 1 (router) or 2 (client)";
        case Fault::HalfSeen: return "and seen_node must both be 0 or both not";
        case Fault::BadValueType: return "is unknown; expected 1 to 5";
        case Fault::BadOperator: return "is unknown; expected 1 to 10";
        case Fault::OperatorForType: return "does not exist for this type";
        case Fault::BadUtf8: return "is not valid UTF-8";
        case Fault::NegativeZero: return "is -0.0, which is written as 0.0";
        case Fault::NotANumber: return "is NaN, which has no order";
        case Fault::BadBoolean: return "is neither 0 nor 1";
        case Fault::NotAscending: return "is not above the one before it";
        case Fault::WrongType: return "is not the type expected here";
        case Fault::BadKind: return "is unknown";
        case Fault::IdTooLarge: return "is above 4294967295";
        case Fault::NotShortest: return "is not written in as few bytes as it takes";
    }
    return "is wrong";
}

// The verdict: which field is wrong, and where it starts in the bytes that were given.
struct Status {
    Fault fault = Fault::Ok;
    const char* field = "";
    std::size_t offset = 0;

    [[nodiscard]] constexpr bool ok() const noexcept { return fault == Fault::Ok; }
};

// One packet of a datagram, by place.
struct Frame {
    PacketType type = PacketType::Pad;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

// The value of an attribute or a constraint. `text` for strings, `bits` for all else.
struct ValueView {
    Type type = Type::String;
    std::uint64_t bits = 0;
    std::string_view text{};

    [[nodiscard]] std::int64_t integer() const noexcept { return static_cast<std::int64_t>(bits); }  // and time
    [[nodiscard]] double number() const noexcept { return std::bit_cast<double>(bits); }
    [[nodiscard]] bool boolean() const noexcept { return bits != 0; }
};

struct AttributeView {
    std::string_view name{};
    ValueView value{};
};

struct ConstraintView {
    Op op = Op::Any;
    std::string_view name{};
    ValueView value{};  // for Op::Any only its type means anything
};

struct TrailerView {
    Bytes tag{};
    std::uint16_t key_id = 0;
    std::uint8_t algorithm = 0;
};

// A MESSAGE. `attributes` is their section, to be walked by an AttributeCursor; `content` is all that no router
// changes on the way: the attributes, and the payload with its length.
struct MessageView {
    std::uint8_t flags = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t hop_count = 0;
    std::uint32_t source = 0;
    std::uint32_t header_class = 0;
    std::uint64_t sequence = 0;
    std::uint64_t publish_time_ns = 0;
    std::uint16_t attribute_count = 0;
    std::size_t attributes_at = 0;  // offset of the section in the packet
    Bytes route{};
    Bytes attributes{};
    Bytes payload{};
    Bytes content{};
    TrailerView trailer{};  // with an empty tag if there is none
};

struct HelloView {
    std::uint8_t flags = 0;
    std::uint8_t role = 0;
    std::uint16_t hold_time_ms = 0;
    std::uint32_t node = 0;
    std::uint32_t seen_node = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t seen_incarnation = 0;
    TrailerView trailer{};
};

// A CONTROL or an ACK.
struct ControlView {
    std::uint8_t flags = 0;
    std::uint8_t kind = 0;
    std::uint16_t window = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t peer_incarnation = 0;
    std::uint32_t sequence = 0;
    std::uint32_t ack = 0;
    Bytes fragment{};
    TrailerView trailer{};
};

// A SEAL: what a datagram of messages ends with. Nothing of it is proved yet.
struct SealView {
    std::uint8_t algorithm = 0;
    std::uint16_t key_id = 0;
    std::uint64_t session = 0;
    std::uint64_t counter = 0;
    Bytes mac{};
};

}  // namespace cbn::wire
