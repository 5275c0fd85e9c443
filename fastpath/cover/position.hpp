// Values as positions on a line, so that every type is compared alike, and what one constraint lets through.
//
// The mirror of nodes/model/ranges.py. A number's position is an integer whose neighbours are 1 apart (a time its
// nanoseconds, a float the rank of its bits, which has no gaps and one zero); a string's is its UTF-8 bytes, the
// next one has a NUL appended. The end of what begins with "a" is "b", the next string that begins otherwise, so
// that a prefix is a range like others and the ends of ranges are strings themselves.
#pragma once

#include <compare>
#include <forward_list>
#include <string>
#include <string_view>

#include "wire/wire.hpp"

namespace cbn::cover {

using wire::Bytes;
using wire::ConstraintView;
using wire::Op;
using wire::Status;
using wire::Type;

// Texts that were made, not found in the encoded bytes. Their addresses stay when this is moved.
using Own = std::forward_list<std::string>;

inline std::string_view keep(Own& own, std::string text) { return own.emplace_front(std::move(text)); }

// Above all strings: UTF-8 has no such byte.
inline constexpr std::string_view BEYOND = "\xff";

// The first eight bytes of a text as a number that orders as the text does, ties aside.
[[nodiscard]] inline std::uint64_t head_of(std::string_view text) noexcept {
    std::uint8_t bytes[8] = {};
    if (!text.empty()) std::memcpy(bytes, text.data(), text.size() < 8 ? text.size() : 8);
    return wire::load<std::uint64_t>(bytes);
}

// For numbers `head` is all there is; for strings it decides most comparisons.
struct Position {
    std::uint64_t head = 0;
    std::string_view text{};

    [[nodiscard]] static Position of(std::string_view text) noexcept { return {head_of(text), text}; }
    [[nodiscard]] bool operator==(const Position& other) const noexcept {
        return head == other.head && text == other.text;
    }
    [[nodiscard]] std::strong_ordering operator<=>(const Position& other) const noexcept {
        if (head != other.head) return head <=> other.head;
        return text.compare(other.text) <=> 0;
    }
};

// From `lo` to `hi`: of numbers the last that is in, of strings the first that is not.
struct Span {
    Position lo{}, hi{};

    [[nodiscard]] bool operator==(const Span&) const noexcept = default;
    [[nodiscard]] bool vacant(Type type) const noexcept { return type == Type::String ? lo >= hi : lo > hi; }
    [[nodiscard]] bool holds(Type type, const Position& at) const noexcept {
        return lo <= at && (type == Type::String ? at < hi : at <= hi);
    }
    [[nodiscard]] bool single(Type type) const noexcept {
        if (type != Type::String) return lo == hi;
        return hi.text.size() == lo.text.size() + 1 && hi.text.back() == '\0' && hi.text.starts_with(lo.text);
    }
};

[[nodiscard]] inline std::uint64_t rank_of(const wire::ValueView& value) noexcept {
    constexpr std::uint64_t sign = 1ULL << 63;
    if (value.type == Type::Boolean) return value.bits;
    if (value.type != Type::Float) return value.bits ^ sign;
    // There is no negative zero: the least positive number follows the greatest negative one.
    return (value.bits & sign) != 0 ? ~value.bits : value.bits + (sign - 1);
}

[[nodiscard]] inline Position position_of(const wire::ValueView& value) noexcept {
    return value.type == Type::String ? Position::of(value.text) : Position{rank_of(value), {}};
}

[[nodiscard]] inline Span everything(Type type) noexcept {
    constexpr std::uint64_t infinity = 0x7FF0'0000'0000'0000;
    switch (type) {
        case Type::String: return {Position::of(""), Position::of(BEYOND)};
        case Type::Float: return {{~(infinity | 1ULL << 63)}, {infinity + (~0ULL >> 1)}};
        case Type::Boolean: return {{0}, {1}};
        default: return {{0}, {~0ULL}};
    }
}

namespace detail {

[[nodiscard]] inline bool continues(char byte) noexcept { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

// Where the character that ends before `end` begins.
[[nodiscard]] inline std::size_t before(std::string_view text, std::size_t end) noexcept {
    do --end;
    while (end > 0 && continues(text[end]));
    return end;
}

[[nodiscard]] inline std::uint32_t decoded(std::string_view character) noexcept {
    const auto lead = static_cast<std::uint8_t>(character[0]);
    if (character.size() == 1) return lead;
    std::uint32_t code = lead & (0x7FU >> character.size());
    for (const char byte : character.substr(1)) code = code << 6 | (static_cast<std::uint8_t>(byte) & 0x3FU);
    return code;
}

inline void encode(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out.push_back(static_cast<char>(code));
        return;
    }
    constexpr std::uint32_t leads[] = {0, 0xC0, 0xE0, 0xF0};
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out.push_back(static_cast<char>(leads[more] | code >> (6 * more)));
    for (int at = more - 1; at >= 0; --at) out.push_back(static_cast<char>(0x80U | (code >> (6 * at) & 0x3FU)));
}

}  // namespace detail

// The least string above all that begin with `prefix`.
[[nodiscard]] inline std::string successor(std::string_view prefix) {
    constexpr std::uint32_t last = 0x10FFFF, before_surrogates = 0xD7FF, after_surrogates = 0xE000;
    while (!prefix.empty()) {
        const std::size_t start = detail::before(prefix, prefix.size());
        const std::uint32_t code = detail::decoded(prefix.substr(start));
        prefix = prefix.substr(0, start);
        if (code == last) continue;
        std::string out(prefix);
        detail::encode(out, code == before_surrogates ? after_surrogates : code + 1);
        return out;
    }
    return std::string(BEYOND);
}

// The string that follows, with nothing between.
[[nodiscard]] inline Position next(Own& own, const Position& at) {
    std::string text(at.text);
    text.push_back('\0');
    return Position::of(keep(own, std::move(text)));
}

namespace detail {

[[nodiscard]] inline Span span_of_number(const ConstraintView& constraint) noexcept {
    Span span = everything(constraint.value.type);
    const Span vacant{span.hi, span.lo};
    const Position at = position_of(constraint.value);
    switch (constraint.op) {
        case Op::Eq: return {at, at};
        case Op::Ge: span.lo = at; break;
        case Op::Le: span.hi = at; break;
        case Op::Gt: return at == span.hi ? vacant : Span{{at.head + 1}, span.hi};
        case Op::Lt: return at == span.lo ? vacant : Span{span.lo, {at.head - 1}};
        default: break;
    }
    return span;
}

[[nodiscard]] inline Span span_of_text(const ConstraintView& constraint, Own& own) {
    Span span = everything(Type::String);
    const Position at = Position::of(constraint.value.text);
    switch (constraint.op) {
        case Op::Eq: return {at, next(own, at)};
        case Op::Ge: span.lo = at; break;
        case Op::Gt: span.lo = next(own, at); break;
        case Op::Lt: span.hi = at; break;
        case Op::Le: span.hi = next(own, at); break;
        case Op::Prefix: return {at, Position::of(keep(own, successor(at.text)))};
        default: break;
    }
    return span;
}

}  // namespace detail

// What one constraint lets through, holes (`!=`) and patterns within the text left aside.
[[nodiscard]] inline Span span_of(const ConstraintView& constraint, Own& own) {
    return constraint.value.type == Type::String ? detail::span_of_text(constraint, own)
                                                 : detail::span_of_number(constraint);
}

// What all strings of a span begin with.
[[nodiscard]] inline std::string_view common_start(const Span& span) {
    const std::string_view lo = span.lo.text, hi = span.hi.text;
    std::size_t common = 0;
    while (common < lo.size() && common < hi.size() && lo[common] == hi[common]) ++common;
    while (common > 0 && common < lo.size() && detail::continues(lo[common])) --common;
    const auto after = [&](std::size_t at) {
        do ++at;
        while (at < lo.size() && detail::continues(lo[at]));
        return at;
    };
    // One character further the two may part, if `hi` is just what follows on that character.
    std::size_t end = common < lo.size() ? after(common) : common;
    if (end == common || successor(lo.substr(0, end)) != hi) return lo.substr(0, common);
    while (end < lo.size() && successor(lo.substr(0, after(end))) == hi) end = after(end);
    return lo.substr(0, end);
}

}  // namespace cbn::cover
