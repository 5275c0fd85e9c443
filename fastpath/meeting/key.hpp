// What is told between routers of descriptors and matches: by whom it is known, and what it adds to a digest.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <random>
#include <string>

#include "interests/digest.hpp"

namespace cbn::meeting {

// A PCD (no subscriber), an SCD (no publisher), or a match of both. Ordered by its fields, as they stand here.
struct Key {
    std::uint32_t publisher = 0;
    std::uint64_t pcd = 0;
    std::uint32_t subscriber = 0;
    std::uint64_t scd = 0;

    [[nodiscard]] bool is_match() const noexcept { return publisher != 0 && subscriber != 0; }
    // Of a descriptor: the router whose it is.
    [[nodiscard]] std::uint32_t owner() const noexcept { return publisher != 0 ? publisher : subscriber; }
    [[nodiscard]] bool is_sort(bool published) const noexcept { return !is_match() && (publisher != 0) == published; }
    [[nodiscard]] Key published() const noexcept { return {publisher, pcd, 0, 0}; }
    [[nodiscard]] Key wanted() const noexcept { return {0, 0, subscriber, scd}; }

    friend auto operator<=>(const Key&, const Key&) = default;
};

// Others choose the numbers in keys, so they are spread by a number of this process that nobody knows.
struct KeyHash {
    [[nodiscard]] std::size_t operator()(const Key& key) const noexcept {
        static const std::uint64_t salt = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
        const std::uint64_t routers = std::uint64_t{key.publisher} << 32 | key.subscriber;
        return mixed(mixed(mixed(salt ^ routers) ^ key.pcd) ^ key.scd);
    }

  private:
    [[nodiscard]] static std::uint64_t mixed(std::uint64_t x) noexcept {
        x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93;
        x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93;
        return x ^ x >> 32;
    }
};

// A digest of a set of keys, the same in whatever order they came: `SetDigest` of nodes/routing/digests.py.
struct SetDigest {
    std::array<std::uint32_t, 8> sum{};

    void toggle(const Key& key) noexcept {
        const std::array<std::uint32_t, 8>& member = hashed(key);
        for (std::size_t at = 0; at < sum.size(); ++at) sum[at] ^= member[at];
    }

    [[nodiscard]] std::string bytes() const {
        std::string out(sizeof sum, '\0');
        for (std::size_t at = 0; at < sum.size(); ++at) {
            wire::store(reinterpret_cast<std::uint8_t*>(out.data()) + 4 * at, sum[at]);
        }
        return out;
    }

  private:
    // SHA-256 over a number, 0, and the four fields as 64 bits each. The routers of a process toggle the same keys
    // at both ends of many links, so what was hashed last is remembered.
    [[nodiscard]] static const std::array<std::uint32_t, 8>& hashed(const Key& key) noexcept {
        struct Known {
            Key key{};
            interests::detail::State state{};
        };
        static std::array<Known, 8192> known;
        Known& slot = known[KeyHash{}(key) % known.size()];
        if (slot.key != key) slot = {key, sha256(key)};
        return slot.state;
    }

    [[nodiscard]] static interests::detail::State sha256(const Key& key) noexcept {
        constexpr std::size_t SIZE = 36;
        std::array<std::uint8_t, 64> block{};
        std::size_t at = 4;
        for (const std::uint64_t field : {std::uint64_t{key.publisher}, key.pcd, std::uint64_t{key.subscriber}, key.scd}) {
            wire::store(block.data() + at, field);
            at += 8;
        }
        block[SIZE] = 0x80;
        wire::store(block.data() + 56, std::uint64_t{SIZE * 8});
        interests::detail::State state = interests::detail::SHA256_START;
        interests::detail::digest_block(state, block.data());
        return state;
    }
};

}  // namespace cbn::meeting
