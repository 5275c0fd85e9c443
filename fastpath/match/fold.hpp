// Where a term's items stand in a block, in what order, and single constraints folded into masks of interfaces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "match/block.hpp"

namespace cbn::fast {

// One item filed under one value: a number, a cut, or a code of operand and test.
struct Posting {
    std::uint64_t value = 0;
    std::uint64_t item = 0;
    bool operator==(const Posting&) const = default;
};

// Where a term's items are filed, and under what.
struct Place {
    Kind kind = Kind::All;
    std::uint64_t value = 0;
};

inline Place place_of(const Term& term, bool text, const DictionaryView& operands) noexcept {
    const auto operand = static_cast<std::uint32_t>(term.value);
    const auto code = [&](std::uint32_t test) -> std::uint64_t {
        return pattern_code(operands.text(operand), operand, test);
    };
    switch (term.test) {
        case Test::Eq:
            if (text) return {Kind::Pattern, code(EQ_CODE)};
            return {Kind::Eq, term.value};
        case Test::Ne: return {Kind::Ne, text ? make_cut(operand, false) : term.value};
        case Test::Below: return {Kind::Below, text ? make_cut(operand, false) : term.value};
        case Test::AtLeast: return {Kind::AtLeast, text ? make_cut(operand, false) : term.value};
        case Test::BelowNext: return {Kind::Below, make_cut(operand, true)};
        case Test::AtLeastNext: return {Kind::AtLeast, make_cut(operand, true)};
        case Test::Prefix: return {Kind::Pattern, code(PREFIX_CODE)};
        case Test::Suffix: return {Kind::Pattern, code(SUFFIX_CODE)};
        case Test::Substring: return {Kind::Pattern, code(SUBSTRING_CODE)};
        default: return {Kind::All, 0};
    }
}

// The order of values in a section: of cuts, that of strings; else that of numbers.
class ValueOrder {
  public:
    ValueOrder(bool text, Kind kind, const DictionaryView& operands) noexcept
        : cuts_(text && kind != Kind::Pattern && kind != Kind::All), operands_(operands) {}

    [[nodiscard]] bool less(std::uint64_t left, std::uint64_t right) const noexcept {
        if (!cuts_ || left >> 1 == right >> 1) return left < right;
        const auto text = [&](std::uint64_t cut) { return operands_.text(static_cast<std::uint32_t>(cut >> 1)); };
        return text(left) < text(right);
    }
    [[nodiscard]] bool operator()(const Posting& left, const Posting& right) const noexcept {
        if (left.value != right.value) return less(left.value, right.value);
        return left.item < right.item;
    }

  private:
    bool cuts_;
    const DictionaryView& operands_;
};

// The single constraints of a block whose interfaces are below FOLDED, folded.
struct Folded {
    std::uint32_t words = 0;
    std::vector<std::uint64_t> cuts;
    std::vector<std::uint64_t> segments;  // words for each cut and the part below all
    std::vector<std::uint32_t> codes;
    std::vector<std::uint64_t> pattern_masks;
};

// Gathers single constraints of one key and folds them.
class Folder {
  public:
    Folder(bool text, const DictionaryView& operands) noexcept : text_(text), operands_(operands) {}

    void add(const Term& term, std::uint32_t interface) {
        words_ = std::max(words_, interface / 64 + 1);
        const Place place = place_of(term, text_, operands_);
        switch (place.kind) {
            case Kind::Pattern: patterns_.push_back({place.value, interface}); break;
            case Kind::Order: break;  // holds Below and AtLeast
            case Kind::All: always_.push_back(interface); break;
            case Kind::Below:
                always_.push_back(interface);
                edges_.push_back({place.value, interface, false});
                break;
            case Kind::AtLeast: edges_.push_back({place.value, interface, true}); break;
            case Kind::Eq:
                edges_.push_back({place.value, interface, true});
                if (place.value + 1 != 0) edges_.push_back({place.value + 1, interface, false});
                break;
            case Kind::Ne:
                always_.push_back(interface);
                edges_.push_back({place.value, interface, false});
                if (place.value + 1 != 0) edges_.push_back({place.value + 1, interface, true});  // next number or cut
                break;
        }
    }

    Folded fold() {
        Folded out;
        out.words = words_;
        if (!always_.empty() || !edges_.empty()) sweep(out);
        fold_patterns(out);
        return out;
    }

  private:
    struct Edge {
        std::uint64_t value;
        std::uint32_t interface;
        bool opens;
    };

    // Goes through the edges in order, counting who holds what; equal neighbours become one segment.
    void sweep(Folded& out) {
        const ValueOrder order(text_, Kind::Order, operands_);
        std::sort(edges_.begin(), edges_.end(),
                  [&](const Edge& left, const Edge& right) { return order.less(left.value, right.value); });
        std::array<std::uint32_t, FOLDED> holding{};
        std::array<std::uint64_t, MASK_WORDS> mask{};
        for (const std::uint32_t interface : always_) turn(mask, holding, interface, true);
        const auto emit = [&] { out.segments.insert(out.segments.end(), mask.begin(), mask.begin() + words_); };
        emit();
        for (std::size_t at = 0; at < edges_.size();) {
            const std::uint64_t value = edges_[at].value;
            // Opening first keeps the counts from passing below zero.
            const std::size_t first = at;
            for (; at < edges_.size() && edges_[at].value == value; ++at) {
                if (edges_[at].opens) turn(mask, holding, edges_[at].interface, true);
            }
            for (std::size_t each = first; each < at; ++each) {
                if (!edges_[each].opens) turn(mask, holding, edges_[each].interface, false);
            }
            if (std::equal(mask.begin(), mask.begin() + words_, out.segments.end() - words_)) continue;
            out.cuts.push_back(value);
            emit();
        }
    }

    static void turn(std::array<std::uint64_t, MASK_WORDS>& mask, std::array<std::uint32_t, FOLDED>& holding,
                     std::uint32_t interface, bool on) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << interface % 64;
        if (on ? holding[interface]++ == 0 : --holding[interface] == 0) mask[interface / 64] ^= bit;
    }

    void fold_patterns(Folded& out) {
        std::sort(patterns_.begin(), patterns_.end(),
                  [](const Posting& left, const Posting& right) { return left.value < right.value; });
        for (const Posting& each : patterns_) {
            if (out.codes.empty() || out.codes.back() != each.value) {
                out.codes.push_back(static_cast<std::uint32_t>(each.value));
                out.pattern_masks.resize(out.pattern_masks.size() + words_);
            }
            out.pattern_masks[out.pattern_masks.size() - words_ + each.item / 64] |= std::uint64_t{1} << each.item % 64;
        }
    }

    bool text_;
    const DictionaryView& operands_;
    std::uint32_t words_ = 0;
    std::vector<std::uint32_t> always_;
    std::vector<Edge> edges_;
    std::vector<Posting> patterns_;
};

}  // namespace cbn::fast
