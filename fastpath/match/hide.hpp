// Whether an interface is reached anyway: does every value that satisfies a term satisfy a single constraint
// of that interface on the same attribute, as folded into the block's masks?
//
// A filter with such a term need not be asked (M7, D2): the answer may be no where yes is true, never the
// reverse. Single constraints count together: x < 5 and x > 3 reach for every x.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "match/block.hpp"
#include "match/scan.hpp"

namespace cbn::fast {

class Hider {
  public:
    Hider(const DictionaryView& operands, const PatternsView& patterns) noexcept
        : operands_(operands), patterns_(patterns) {}

    [[nodiscard]] bool hides(const Blob* blob, const Term& term, bool text, std::uint32_t interface) {
        if (blob == nullptr || interface >= FOLDED || interface / 64 >= BlockView(blob).head().words) return false;
        const BlockView block(blob);
        interface_ = interface;
        if (block.has(HAS_SEGMENTS)) {
            const SectionView segments = block.segments();
            if (text ? text_within(segments, term) : number_within(segments, term)) return true;
        }
        return text && block.has(HAS_MASK_PATTERNS) && pattern_within(block.mask_patterns(), term);
    }

  private:
    [[nodiscard]] bool bit(const SectionView& section, std::uint32_t index) const noexcept {
        return (section.mask(index)[interface_ / 64] >> interface_ % 64 & 1) != 0;
    }

    // Segments `from` to `to`, both included.
    [[nodiscard]] bool all(const SectionView& section, std::uint32_t from, std::uint32_t to) const noexcept {
        for (std::uint32_t index = from; index <= to; ++index) {
            if (!bit(section, index)) return false;
        }
        return true;
    }

    [[nodiscard]] bool number_within(const SectionView& segments, const Term& term) const noexcept {
        const std::uint32_t last = segments.head().groups, at = segments.rank(term.value);
        const std::uint32_t below = term.value == 0 ? 0 : segments.rank(term.value - 1);
        switch (term.test) {
            case Test::Eq: return bit(segments, at);
            case Test::Below: return all(segments, 0, below);
            case Test::AtLeast: return all(segments, at, last);
            default: return all(segments, 0, last);
        }
    }

    [[nodiscard]] bool text_within(const SectionView& segments, const Term& term) const {
        const std::uint32_t last = segments.head().groups;
        if (term.test == Test::Any || term.test == Test::Ne) return all(segments, 0, last);
        const std::string_view operand = operands_.text(static_cast<std::uint32_t>(term.value));
        const std::uint32_t at = segments.rank(operand, head_of(operand), operands_);
        switch (term.test) {
            case Test::Eq: return bit(segments, at);
            case Test::Below: return all(segments, 0, cuts_before(segments, operand));
            case Test::BelowNext: return all(segments, 0, at);
            case Test::AtLeast: return all(segments, at, last);
            case Test::AtLeastNext: {
                const bool own = at < last && segments.cuts()[at] >> 1 == term.value;  // the cut after the operand
                return all(segments, at + (own ? 1 : 0), last);
            }
            case Test::Prefix: return all(segments, at, end_of_prefix(segments, operand, last));
            default: return all(segments, 0, last);
        }
    }

    // How many cuts lie below all strings from x on.
    [[nodiscard]] std::uint32_t cuts_before(const SectionView& segments, std::string_view x) const noexcept {
        std::uint32_t low = 0, high = segments.head().groups;
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (operands_.text(segments.cuts()[middle] >> 1) < x) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    // The segment of the last strings with this prefix: those before the prefix with its last byte raised.
    [[nodiscard]] std::uint32_t end_of_prefix(const SectionView& segments, std::string_view prefix,
                                              std::uint32_t last) const {
        std::string end(prefix);
        while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
        if (end.empty()) return last;
        ++end.back();
        return cuts_before(segments, end);
    }

    [[nodiscard]] bool pattern_within(const SectionView& section, const Term& term) {
        Ends ends;
        switch (term.test) {
            case Test::Eq: break;
            case Test::Prefix: ends.end = false; break;
            case Test::Suffix: ends.start = false; break;
            case Test::Substring: ends = {false, false}; break;
            default: return false;
        }
        found_.clear();
        Scan(operands_, patterns_, found_).run(operands_.text(static_cast<std::uint32_t>(term.value)), ends);
        bool hidden = false;
        section.each_pattern(found_, [&](std::uint32_t at, std::uint32_t) { hidden = hidden || bit(section, at); });
        return hidden;
    }

    const DictionaryView& operands_;
    const PatternsView& patterns_;
    std::uint32_t interface_ = 0;
    std::vector<std::uint32_t> found_;
};

}  // namespace cbn::fast
