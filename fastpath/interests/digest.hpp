// What names a filter and a set of filters: 16 bytes of SHA-256 (FIPS 180-4), and their sum.
//
// The digest of a predicate is the sum of its filters' digests modulo 2^128. The order in which filters come
// and go does not matter, and a change costs what changed. It finds out mistakes; it is no signature.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "wire/wire.hpp"

namespace cbn::interests {

// 128 bits, big-endian on the wire.
struct Digest {
    std::uint64_t high = 0, low = 0;

    Digest& operator+=(const Digest& other) noexcept {
        low += other.low;
        high += other.high + (low < other.low ? 1 : 0);
        return *this;
    }
    Digest& operator-=(const Digest& other) noexcept {
        high -= other.high + (low < other.low ? 1 : 0);
        low -= other.low;
        return *this;
    }
    friend bool operator==(const Digest&, const Digest&) = default;

    [[nodiscard]] std::array<std::uint8_t, 16> bytes() const noexcept {
        std::array<std::uint8_t, 16> out;
        wire::store(out.data(), high);
        wire::store(out.data() + 8, low);
        return out;
    }
};

namespace detail {

inline constexpr std::array<std::uint32_t, 64> ROUNDS = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;
inline constexpr State SHA256_START = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

inline void digest_block(State& state, const std::uint8_t* block) noexcept {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = wire::load<std::uint32_t>(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                  ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i];
        const std::uint32_t two =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    const State worked = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += worked[i];
}

}  // namespace detail

// The first 16 bytes of SHA-256.
[[nodiscard]] inline Digest digest_of(wire::Bytes data) noexcept {
    detail::State state = detail::SHA256_START;
    const std::uint64_t bits = std::uint64_t{data.size()} * 8;
    for (; data.size() >= 64; data = data.subspan(64)) detail::digest_block(state, data.data());
    std::array<std::uint8_t, 128> tail{};
    std::copy(data.begin(), data.end(), tail.begin());
    tail[data.size()] = 0x80;
    const std::size_t end = data.size() < 56 ? 64 : 128;
    wire::store(tail.data() + end - 8, bits);
    for (std::size_t at = 0; at < end; at += 64) detail::digest_block(state, tail.data() + at);
    return {std::uint64_t{state[0]} << 32 | state[1], std::uint64_t{state[2]} << 32 | state[3]};
}

}  // namespace cbn::interests
