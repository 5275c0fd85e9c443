// A number for what may not change on the way of a packet, so that copies of it can be compared by columns. Equal
// content has equal numbers; the numbers are nobody's protection against people who look for a collision.
#pragma once

#include <cstdint>
#include <cstring>

#include "wire/types.hpp"

namespace cbn::pcap {

namespace detail {

[[nodiscard]] inline std::uint64_t folded(std::uint64_t left, std::uint64_t right) noexcept {
    using Wide = unsigned __int128;
    const Wide product = Wide{left} * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] inline std::uint64_t word(const std::uint8_t* bytes) noexcept {
    std::uint64_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

inline constexpr std::uint64_t ODD_ONE = 0x9E3779B97F4A7C15, ODD_TWO = 0xC2B2AE3D27D4EB4F;

}  // namespace detail

// Of some bytes, continued from another number. What is left at the end is read together with bytes before it.
[[nodiscard]] inline std::int64_t digest(wire::Bytes bytes, std::uint64_t from) noexcept {
    using namespace detail;
    std::uint64_t state = from ^ (bytes.size() * ODD_ONE);
    std::uint8_t padded[16] = {};
    const std::uint8_t *at = bytes.data(), *end = at + bytes.size();
    if (bytes.size() < sizeof padded) {
        for (std::size_t n = 0; n < bytes.size(); ++n) padded[n] = at[n];
        at = padded;
        end = padded + sizeof padded;
    }
    for (; end - at > 16; at += 16) state = folded(word(at) ^ state, word(at + 8) ^ ODD_TWO);
    return static_cast<std::int64_t>(folded(word(end - 16) ^ state, word(end - 8) ^ ODD_TWO));
}

}  // namespace cbn::pcap
