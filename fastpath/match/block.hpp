// A block: all that filters say about one (name, type), compiled into one run of bytes.
//
// It is a row of sections. A section files items under values, so that those whose test a message's value
// satisfies lie together. Items are
//   masks of interfaces    single constraints of interfaces below FOLDED, folded: one load decides them all
//   interfaces             single constraints of the others
//   entries                filters of several constraints: whom to ask next
// Building a block is in match/build.hpp and match/rebuild.hpp, asking many of them in match/match.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "match/codes.hpp"
#include "match/dictionary.hpp"
#include "match/memory.hpp"
#include "match/terms.hpp"

namespace cbn::fast {

inline constexpr std::uint32_t FOLDED = 256;  // interfaces below this are folded into masks
inline constexpr std::size_t MASK_WORDS = FOLDED / 64;

// An entry: the slot of a filter, the key its second constraint needs (its low bits: a hint), its interface
// (or FAR if it does not fit: then the record knows).
inline constexpr std::uint64_t FAR = 0xFFFF;

constexpr std::uint64_t make_entry(std::uint32_t slot, std::uint32_t second_key, std::uint32_t interface) noexcept {
    const std::uint64_t near = interface < FAR ? interface : FAR;
    return slot | (std::uint64_t{second_key} & 0xFFFF) << 32 | near << 48;
}

// How items are filed. `Below` and `AtLeast` stand together in one section, `Order`: below items first, so that the
// last of them and the first of the others, which a value satisfies, are one run.
enum class Kind : std::uint8_t { All, Eq, Below, AtLeast, Ne, Pattern, Order };
enum class Item : std::uint8_t { Mask, Interface, Entry };

// Of masks, `Order` stands for segments: mask p is for values with exactly p cuts at or below them.
struct Section {
    Kind kind = Kind::All;
    Item item = Item::Mask;
    std::uint16_t dense = 0;   // of numbers: 1 if the values are consecutive and only the first is written
    std::uint32_t groups = 0;  // distinct values (of Pattern: words of the index)
    std::uint32_t items = 0;
    std::uint32_t at = 0;  // offset in the block
};

struct BlockHead {
    std::uint8_t sections = 0;
    std::uint8_t words = 0;     // of a mask
    std::uint8_t text = 0;      // 1 for strings
    std::uint8_t contents = 0;  // HAS_* bits
    std::uint32_t reserved = 0;
};

enum : std::uint8_t { HAS_SEGMENTS = 1, HAS_MASK_PATTERNS = 2, HAS_INTERFACES = 4, HAS_ENTRIES = 8, HAS_PATTERNS = 16 };

// A cut among strings: just before the operand, or just after it (before the next string there is).
constexpr std::uint32_t make_cut(std::uint32_t operand, bool after) noexcept { return operand << 1 | (after ? 1 : 0); }

inline bool cut_at_or_below(std::uint32_t cut, std::string_view x, const DictionaryView& operands) noexcept {
    const std::string_view operand = operands.text(cut >> 1);
    return (cut & 1) != 0 ? operand < x : operand <= x;
}

// How many of the ascending values are at or below x. No branch depends on the data.
inline std::uint32_t count_up_to(const std::uint64_t* values, std::uint32_t count, std::uint64_t x) noexcept {
    const std::uint64_t* base = values;
    if (count == 0) return 0;
    while (count > 1) {
        const std::uint32_t half = count / 2;
        base += std::size_t{half} & (std::size_t{0} - static_cast<std::size_t>(base[half - 1] <= x));  // no branch
        count -= half;
    }
    return static_cast<std::uint32_t>(base - values) + static_cast<std::uint32_t>(*base <= x);
}

class SectionView {
  public:
    SectionView(const std::uint8_t* block, const Section& section, std::uint32_t words) noexcept
        : at_(block + section.at), section_(section), words_(words) {
        items_ = at_ + 8 * std::size_t{keys()};
        after_ = reinterpret_cast<const std::uint32_t*>(items_ + item_bytes() * section.items);
    }

    [[nodiscard]] const Section& head() const noexcept { return section_; }
    [[nodiscard]] bool pattern() const noexcept { return section_.kind == Kind::Pattern; }
    [[nodiscard]] bool grouped() const noexcept { return section_.kind != Kind::All && !pattern(); }

    // [u64 values][items][u32 cuts, for strings][u32 starts]; of Order, in place of starts, pairs [u32 from, to] by
    // rank; of patterns [u64 index][items][u32 codes].
    [[nodiscard]] const std::uint64_t* values() const noexcept { return reinterpret_cast<const std::uint64_t*>(at_); }
    [[nodiscard]] const std::uint32_t* codes() const noexcept { return after_; }
    [[nodiscard]] const std::uint32_t* cuts() const noexcept { return after_; }
    [[nodiscard]] const std::uint32_t* starts(bool text) const noexcept {
        return after_ + (text ? section_.groups : 0);
    }

    [[nodiscard]] const std::uint64_t* mask(std::uint32_t index) const noexcept {
        return reinterpret_cast<const std::uint64_t*>(items_) + std::size_t{index} * words_;
    }
    [[nodiscard]] std::span<const std::uint32_t> interfaces(std::uint32_t from, std::uint32_t to) const noexcept {
        return {reinterpret_cast<const std::uint32_t*>(items_) + from, to - from};
    }
    [[nodiscard]] std::span<const std::uint64_t> entries(std::uint32_t from, std::uint32_t to) const noexcept {
        return {reinterpret_cast<const std::uint64_t*>(items_) + from, to - from};
    }

    // Of numbers.
    [[nodiscard]] std::uint64_t value(std::uint32_t group) const noexcept {
        return section_.dense != 0 ? values()[0] + group : values()[group];
    }

    // How many values are at or below x.
    [[nodiscard]] std::uint32_t rank(std::uint64_t x) const noexcept {
        if (section_.dense != 0) {
            const std::uint64_t first = values()[0];
            if (x < first) return 0;
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(x - first, section_.groups - 1)) + 1;
        }
        return count_up_to(values(), section_.groups, x);
    }
    [[nodiscard]] std::uint32_t rank(std::string_view x, std::uint64_t head,
                                     const DictionaryView& operands) const noexcept {
        const std::uint64_t* heads = values();
        std::uint32_t low = head == 0 ? 0 : count_up_to(heads, section_.groups, head - 1);
        std::uint32_t count = low;
        if (count < section_.groups && heads[count] == head) count = count_up_to(heads, section_.groups, head);
        while (low < count) {
            const std::uint32_t middle = low + (count - low) / 2;
            if (cut_at_or_below(cuts()[middle], x, operands)) {
                low = middle + 1;
            } else {
                count = middle;
            }
        }
        return low;
    }

    // Calls visit(from, to) for the items of each code that was found.
    template <class Visit>
    void each_pattern(std::span<const std::uint32_t> found, Visit&& visit) const {
        CodeIndex(values(), section_.groups, codes(), section_.items).each(found, visit);
    }

  private:
    // Words before the items.
    [[nodiscard]] std::uint32_t keys() const noexcept {
        if (section_.kind == Kind::All) return 0;
        return section_.dense != 0 ? 1 : section_.groups;
    }
    [[nodiscard]] std::size_t item_bytes() const noexcept {
        if (section_.item == Item::Mask) return 8 * words_;
        return section_.item == Item::Entry ? 8 : 4;
    }

    const std::uint8_t* at_;
    const Section& section_;
    std::uint32_t words_;
    const std::uint8_t* items_;
    const std::uint32_t* after_;  // what stands behind the items
};

class BlockView {
  public:
    explicit BlockView(const Blob* blob) noexcept : data_(blob->data()) {}

    [[nodiscard]] const BlockHead& head() const noexcept { return *reinterpret_cast<const BlockHead*>(data_); }
    [[nodiscard]] bool has(std::uint8_t what) const noexcept { return (head().contents & what) != 0; }
    [[nodiscard]] std::uint32_t sections() const noexcept { return head().sections; }
    [[nodiscard]] SectionView section(std::uint32_t index) const noexcept {
        return {data_, reinterpret_cast<const Section*>(data_ + sizeof(BlockHead))[index], head().words};
    }

    // How many sections are masks. They come first: segments, if there are any, then patterns.
    [[nodiscard]] std::uint32_t masks() const noexcept {
        return static_cast<std::uint32_t>(has(HAS_SEGMENTS)) + static_cast<std::uint32_t>(has(HAS_MASK_PATTERNS));
    }
    [[nodiscard]] SectionView segments() const noexcept { return section(0); }
    [[nodiscard]] SectionView mask_patterns() const noexcept { return section(has(HAS_SEGMENTS) ? 1 : 0); }

  private:
    const std::uint8_t* data_;
};

}  // namespace cbn::fast
