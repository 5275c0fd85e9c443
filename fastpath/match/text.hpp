// Bytes as numbers: the first eight of a text in its own order, and a hash of all of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "wire/reader.hpp"

namespace cbn::fast {

// The first bytes of a text, zeros after its end. If head(x) < head(y) then x < y; equal heads say nothing
// about texts of eight bytes or more, nor about a text and one that goes on with NULs.
inline std::uint64_t head_of(const char* text, std::size_t size) noexcept {
    if (size >= 8) return wire::load<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(text));
    std::uint8_t padded[8] = {};
    if (size > 0) std::memcpy(padded, text, size);
    return wire::load<std::uint64_t>(padded);
}

// The same where eight bytes may be read whatever the size.
inline std::uint64_t head_within(const char* text, std::size_t size) noexcept {
    static constexpr std::uint64_t keep[9] = {0,
                                              0xFF00000000000000,
                                              0xFFFF000000000000,
                                              0xFFFFFF0000000000,
                                              0xFFFFFFFF00000000,
                                              0xFFFFFFFFFF000000,
                                              0xFFFFFFFFFFFF0000,
                                              0xFFFFFFFFFFFFFF00,
                                              0xFFFFFFFFFFFFFFFF};
    return wire::load<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(text)) & keep[size < 8 ? size : 8];
}

inline std::uint64_t head_of(std::string_view text) noexcept { return head_of(text.data(), text.size()); }

// memmem is linear in both lengths whatever they hold; string_view::find is not.
inline bool contains(std::string_view text, std::string_view piece) noexcept {
    return piece.empty() || ::memmem(text.data(), text.size(), piece.data(), piece.size()) != nullptr;
}

inline std::uint64_t mix(std::uint64_t left, std::uint64_t right) noexcept {
    const unsigned __int128 product = static_cast<unsigned __int128>(left) * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// `kind` keeps equal bytes of different kinds apart. Up to eight bytes, the head is the text.
inline std::uint64_t hash_of(const char* text, std::size_t size, std::uint64_t head, std::uint32_t kind) noexcept {
    constexpr std::uint64_t first = 0x9E3779B97F4A7C15U, second = 0xD1B54A32D192ED03U;
    std::uint64_t hash = mix(head ^ first, second ^ (size | std::uint64_t{kind} << 32));
    if (size <= 8) return hash;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text);
    for (std::size_t at = 8; at + 8 < size; at += 8) hash = mix(wire::load<std::uint64_t>(bytes + at) ^ hash, first);
    return mix(wire::load<std::uint64_t>(bytes + size - 8) ^ hash, second);
}

}  // namespace cbn::fast
