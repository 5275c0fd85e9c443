// Bounds-checked big-endian reading, UTF-8 validation, and the parts packets and predicates share:
// values, names, trailers.
#pragma once

#include <concepts>
#include <cstring>

#include "wire/types.hpp"

namespace cbn::wire {

// Unchecked: the caller knows that sizeof(T) bytes are there.
template <std::unsigned_integral T>
[[nodiscard]] inline T load(const std::uint8_t* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    if constexpr (sizeof(T) == 1 || std::endian::native == std::endian::big) {
        return value;
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(value);
    } else {
        return __builtin_bswap64(value);
    }
}

template <std::unsigned_integral T>
inline void store(std::uint8_t* at, T value) noexcept {
    const T swapped = load<T>(reinterpret_cast<const std::uint8_t*>(&value));
    std::memcpy(at, &swapped, sizeof swapped);
}

[[nodiscard]] inline std::string_view as_text(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Lexicographic by unsigned bytes, a prefix first: the order of the canonical encoding.
[[nodiscard]] inline bool ascending(Bytes left, Bytes right) noexcept { return as_text(left) < as_text(right); }

namespace detail {

// The length of the multi-byte character at `at`, 0 if it is not valid (RFC 3629: shortest form, no surrogates).
[[nodiscard]] inline std::size_t utf8_sequence(const std::uint8_t* at, std::size_t left) noexcept {
    const std::uint8_t lead = at[0];
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (left < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((at[i] & 0xC0) != 0x80) return 0;
    }
    const bool overlong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xF0 && at[1] < 0x90);
    const bool surrogate = lead == 0xED && at[1] > 0x9F;
    const bool beyond = lead == 0xF4 && at[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : size;
}

}  // namespace detail

[[nodiscard]] inline bool valid_utf8(Bytes text) noexcept {
    const std::uint8_t* at = text.data();
    std::size_t left = text.size();
    while (left > 0) {
        if (left >= 8 && (load<std::uint64_t>(at) & 0x8080808080808080ULL) == 0) {
            at += 8;
            left -= 8;
            continue;
        }
        const std::size_t size = *at < 0x80 ? 1 : detail::utf8_sequence(at, left);
        if (size == 0) return false;
        at += size;
        left -= size;
    }
    return true;
}

// Reads on; the first fault sticks, and all that is read after it is zero or empty.
class Reader {
  public:
    explicit Reader(Bytes data, std::size_t base = 0) noexcept : data_(data), base_(base) {}

    [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] std::size_t left() const noexcept { return data_.size() - at_; }
    [[nodiscard]] Bytes since(std::size_t start) const noexcept { return data_.subspan(start, at_ - start); }

    void fail(Fault fault, const char* field, std::size_t at) noexcept {
        if (ok()) status_ = Status{fault, field, base_ + at};
    }
    void require(bool condition, Fault fault, const char* field, std::size_t at) noexcept {
        if (!condition) fail(fault, field, at);
    }

    template <std::unsigned_integral T>
    T number(const char* field) noexcept {
        if (!has(sizeof(T), field)) return 0;
        const T value = load<T>(data_.data() + at_);
        at_ += sizeof(T);
        return value;
    }
    template <std::unsigned_integral T>
    T nonzero(const char* field) noexcept {
        const std::size_t start = at_;
        const T value = number<T>(field);
        require(value != 0, Fault::MustNotBeZero, field, start);
        return value;
    }
    std::uint64_t number63(const char* field) noexcept {
        const std::size_t start = at_;
        const auto value = number<std::uint64_t>(field);
        require(value >> 63 == 0, Fault::TopBit, field, start);
        return value;
    }
    Bytes bytes(std::size_t size, const char* field) noexcept {
        if (!has(size, field)) return {};
        const Bytes taken = data_.subspan(at_, size);
        at_ += size;
        return taken;
    }
    std::string_view text(std::size_t size, const char* field) noexcept {
        const std::size_t start = at_;
        const Bytes taken = bytes(size, field);
        require(valid_utf8(taken), Fault::BadUtf8, field, start);
        return as_text(taken);
    }
    // What `length` of a name or `count` of things promises is checked as it is read: nothing is allocated for it.
    std::string_view name(const char* field) noexcept {
        const auto size = nonzero<std::uint8_t>("name_length");
        return text(size, field);
    }
    void finish(const char* field) noexcept { require(left() == 0, Fault::LeftOver, field, at_); }

  private:
    [[nodiscard]] bool has(std::size_t size, const char* field) noexcept {
        if (!ok()) return false;
        require(size <= left(), Fault::Truncated, field, at_);
        return ok();
    }

    Bytes data_;
    std::size_t base_;
    std::size_t at_ = 0;
    Status status_{};
};

namespace detail {

inline Type read_type(Reader& in) noexcept {
    const std::size_t start = in.at();
    const auto raw = in.number<std::uint8_t>("type");
    in.require(raw >= 1 && raw <= 5, Fault::BadValueType, "type", start);
    return static_cast<Type>(raw);
}

inline void check_float(Reader& in, std::uint64_t bits, std::size_t start) noexcept {
    constexpr std::uint64_t infinity = 0x7FF0000000000000ULL, sign = 1ULL << 63;
    in.require((bits & ~sign) <= infinity, Fault::NotANumber, "float value", start);
    in.require(bits != sign, Fault::NegativeZero, "float value", start);
}

inline ValueView read_value(Reader& in, Type type) noexcept {
    const std::size_t start = in.at();
    ValueView value{type};
    switch (type) {
        case Type::String:
            value.text = in.text(in.number<std::uint16_t>("string length"), "string value");
            break;
        case Type::Integer: value.bits = in.number<std::uint64_t>("integer value"); break;
        case Type::Time: value.bits = in.number<std::uint64_t>("time value"); break;
        case Type::Float:
            value.bits = in.number<std::uint64_t>("float value");
            check_float(in, value.bits, start);
            break;
        case Type::Boolean:
            value.bits = in.number<std::uint8_t>("boolean value");
            in.require(value.bits <= 1, Fault::BadBoolean, "boolean value", start);
            break;
    }
    return value;
}

}  // namespace detail
}  // namespace cbn::wire
