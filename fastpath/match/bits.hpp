// A set of interfaces of any number, as words of 64 bits. Nothing here knows what an interface is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cbn {

class Bits {
  public:
    Bits() = default;

    // From a mask's little-endian bytes (Python's int.to_bytes); zeros at the end are not kept.
    explicit Bits(std::span<const std::uint8_t> little_endian) {
        for (std::size_t at = 0; at < little_endian.size(); ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                if ((little_endian[at] >> bit) & 1U) set(static_cast<std::uint32_t>(at * 8 + bit));
            }
        }
    }

    [[nodiscard]] bool test(std::uint32_t index) const noexcept {
        const std::size_t word = index / 64;
        return word < words_.size() && ((words_[word] >> (index % 64)) & 1U) != 0;
    }

    // The members 64 * at to 64 * at + 63, lowest bit first.
    [[nodiscard]] std::uint64_t word(std::size_t at) const noexcept { return at < words_.size() ? words_[at] : 0; }

    void set(std::uint32_t index) {
        if (index / 64 >= words_.size()) words_.resize(index / 64 + 1);
        words_[index / 64] |= std::uint64_t{1} << (index % 64);
    }

    void clear(std::uint32_t index) noexcept {
        if (index / 64 < words_.size()) words_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    }

    // Becomes the intersection; no allocation once it has been as large before.
    void assign_common(const Bits& left, const Bits& right) {
        words_.resize(left.words_.size() < right.words_.size() ? left.words_.size() : right.words_.size());
        for (std::size_t at = 0; at < words_.size(); ++at) words_[at] = left.words_[at] & right.words_[at];
    }

    [[nodiscard]] std::size_t count() const noexcept {
        std::size_t total = 0;
        for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
        return total;
    }

    // One more than the highest member; 0 for the empty set.
    [[nodiscard]] std::size_t extent() const noexcept {
        for (std::size_t at = words_.size(); at > 0; --at) {
            if (words_[at - 1] != 0) return at * 64 - static_cast<std::size_t>(std::countl_zero(words_[at - 1]));
        }
        return 0;
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return words_.capacity() * sizeof(std::uint64_t); }

  private:
    std::vector<std::uint64_t> words_;
};

}  // namespace cbn
