// Codes: a test that depends on the bytes of an operand, and the operand, as one number of 32 bits.
//
// A text satisfies a set of codes; a block asks which of them it has. Operands of up to SHORT bytes are in the
// code themselves: what a text holds of them is known without a look into any table. Of longer ones it is their
// number in the dictionary. Codes are scattered over all numbers, one to one, so that their own order serves
// as a hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cbn::fast {

enum : std::uint32_t { EQ_CODE = 0, PREFIX_CODE = 1, SUFFIX_CODE = 2, SUBSTRING_CODE = 3 };

inline constexpr std::size_t SHORT = 3;

constexpr std::uint32_t scatter(std::uint32_t code) noexcept { return (code ^ code >> 15) * 0x9E3779B1U; }

// The first `size` bytes of a text as a number.
template <std::size_t size>
std::uint32_t short_bytes(const char* text) noexcept {
    const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<std::uint8_t>(text[at])} << 8 * at; };
    std::uint32_t bytes = 0;
    if constexpr (size > 0) bytes |= byte(0);
    if constexpr (size > 1) bytes |= byte(1);
    if constexpr (size > 2) bytes |= byte(2);
    return bytes;
}

constexpr std::uint32_t short_code(std::uint32_t bytes, std::size_t size, std::uint32_t test) noexcept {
    return scatter(1U << 31 | static_cast<std::uint32_t>(size) << 26 | bytes << 2 | test);
}

// There is no room for 2^29 operands in memory.
constexpr std::uint32_t long_code(std::uint32_t operand, std::uint32_t test) noexcept {
    return scatter(operand << 2 | test);
}

inline std::uint32_t pattern_code(std::string_view text, std::uint32_t operand, std::uint32_t test) noexcept {
    switch (text.size()) {
        case 0: return short_code(0, 0, test);
        case 1: return short_code(short_bytes<1>(text.data()), 1, test);
        case 2: return short_code(short_bytes<2>(text.data()), 2, test);
        case 3: return short_code(short_bytes<3>(text.data()), 3, test);
        default: return long_code(operand, test);
    }
}

// Where a code is among ascending codes, if it is there. A word of the index is for an even part of all numbers:
// its low half a filter of sixteen bits a code, its high half where the codes of this part begin.
class CodeIndex {
  public:
    CodeIndex(const std::uint64_t* words, std::uint32_t count, const std::uint32_t* codes, std::uint32_t items) noexcept
        : words_(words), count_(count), codes_(codes), items_(items) {}

    // Calls visit(from, to) for the items of each code sought. Whether a code passes the filter is hard to foresee:
    // all are written down, and those that pass stay.
    template <class Visit>
    void each(std::span<const std::uint32_t> sought, Visit&& visit) const {
        constexpr std::size_t most = 32;
        std::uint32_t passed[most];
        for (; !sought.empty(); sought = sought.subspan(std::min(most, sought.size()))) {
            std::size_t count = 0;
            for (const std::uint32_t code : sought.first(std::min(most, sought.size()))) {
                passed[count] = code;
                count += passes(code);
            }
            for (std::size_t at = 0; at < count; ++at) find(passed[at], visit);
        }
    }

    // Appends the index of ascending codes; their distinct ones decide its size.
    static void make(std::span<const std::uint32_t> codes, std::vector<std::uint64_t>& words) {
        std::size_t distinct = 0;
        for (std::size_t at = 0; at < codes.size(); ++at) distinct += at == 0 || codes[at] != codes[at - 1];
        words.assign((distinct + PER_WORD - 1) / PER_WORD, 0);
        std::size_t at = 0;
        for (std::size_t word = 0; word < words.size(); ++word) {
            words[word] = std::uint64_t{at} << 32;
            for (; at < codes.size(); ++at) {
                const std::uint64_t place = std::uint64_t{codes[at]} * words.size();
                if (place >> 32 != word) break;
                words[word] |= std::uint64_t{1} << (place >> 27 & 31);
            }
        }
    }

  private:
    static constexpr std::size_t PER_WORD = 2;

    [[nodiscard]] std::size_t passes(std::uint32_t code) const noexcept {
        const std::uint64_t place = std::uint64_t{code} * count_;
        return words_[place >> 32] >> (place >> 27 & 31) & 1;
    }

    template <class Visit>
    void find(std::uint32_t code, Visit&& visit) const {
        const std::uint32_t from = first(code, static_cast<std::uint32_t>(std::uint64_t{code} * count_ >> 32));
        if (from == items_ || codes_[from] != code) return;
        std::uint32_t to = from + 1;
        while (to < items_ && codes_[to] == code) ++to;
        visit(from, to);
    }

    // The first item of this part that is not below the code.
    [[nodiscard]] std::uint32_t first(std::uint32_t code, std::uint32_t word) const noexcept {
        auto low = static_cast<std::uint32_t>(words_[word] >> 32);
        std::uint32_t high = word + 1 < count_ ? static_cast<std::uint32_t>(words_[word + 1] >> 32) : items_;
        while (high - low > 8) {
            const std::uint32_t middle = low + (high - low) / 2;
            codes_[middle] < code ? low = middle + 1 : high = middle;
        }
        while (low < high && codes_[low] < code) ++low;
        return low;
    }

    const std::uint64_t* words_;
    std::uint32_t count_;
    const std::uint32_t* codes_;
    std::uint32_t items_;
};

}  // namespace cbn::fast
