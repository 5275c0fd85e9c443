// Writing a block: sections from folded masks and from postings.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "match/fold.hpp"

namespace cbn::fast {

// Writes one block, section by section, in the order Mask, Interface, Entry.
class BlockBuilder {
  public:
    BlockBuilder(bool text, const DictionaryView& operands, std::size_t expected) : operands_(operands) {
        head_.text = text ? 1 : 0;
        body_.reserve(expected);
    }

    void masks(const Folded& folded) {
        head_.words = static_cast<std::uint8_t>(folded.words);
        if (!folded.segments.empty()) write_segments(folded);
        if (folded.codes.empty()) return;
        begin_patterns(Item::Mask, folded.codes);
        write(folded.pattern_masks);
        write(folded.codes);
    }

    // The masks of another block, as they are.
    void masks(const BlockView& old, std::span<const std::uint8_t> bytes) {
        head_.words = old.head().words;
        for (std::uint32_t index = 0; index < old.sections(); ++index) {
            if (old.section(index).head().item == Item::Mask) copy(old, index, bytes);
        }
    }

    void copy(const BlockView& old, std::uint32_t index, std::span<const std::uint8_t> bytes) {
        const Section& section = old.section(index).head();
        const std::size_t end = index + 1 < old.sections() ? old.section(index + 1).head().at : bytes.size();
        begin(section.kind, section.item, section.groups, section.items);
        sections_.back().dense = section.dense;
        write(bytes.subspan(section.at, end - section.at));
    }

    // Ascending postings, at least one.
    void section(Kind kind, Item item, std::span<const Posting> postings) {
        if (kind == Kind::All) {
            begin(kind, item, 0, postings.size());
            return write_items(item, postings);
        }
        if (kind == Kind::Pattern) {
            codes_.resize(postings.size());
            for (std::size_t at = 0; at < codes_.size(); ++at) {
                codes_[at] = static_cast<std::uint32_t>(postings[at].value);
            }
            begin_patterns(item, codes_);
            write_items(item, postings);
            return write(codes_);
        }
        find_groups(postings);
        const bool dense = head_.text == 0 && fill_gaps(postings);
        begin(kind, item, groups_.size(), postings.size());
        sections_.back().dense = dense ? 1 : 0;
        if (dense) {
            write_one(postings[0].value);
        } else {
            write_each<std::uint64_t>(groups_.size(), [&](auto at) { return key_of(postings[groups_[at]].value); });
        }
        write_items(item, postings);
        if (head_.text != 0) {
            write_each<std::uint32_t>(groups_.size(), [&](auto at) { return postings[groups_[at]].value; });
        }
        write(groups_);
        write_one(static_cast<std::uint32_t>(postings.size()));
    }

    // Ascending postings of Below and of AtLeast, at least one.
    void order_section(Item item, std::span<const Posting> below, std::span<const Posting> at_least) {
        find_bounds(below, at_least);
        const bool dense = head_.text == 0 && fill_bounds();
        begin(Kind::Order, item, bounds_.size() / 2 - 1, below.size() + at_least.size());
        sections_.back().dense = dense ? 1 : 0;
        if (dense) {
            write_one(values_[0]);
        } else {
            write_each<std::uint64_t>(values_.size(), [&](auto at) { return key_of(values_[at]); });
        }
        write_items(item, below);
        write_items(item, at_least);
        if (head_.text != 0) {
            write_each<std::uint32_t>(values_.size(), [&](auto at) { return values_[at]; });
        }
        write(bounds_);
    }

    // Null if there is nothing in it.
    BlobRef finish() {
        if (sections_.empty()) return {};
        head_.sections = static_cast<std::uint8_t>(sections_.size());
        const auto shift = static_cast<std::uint32_t>(sizeof head_ + sections_.size() * sizeof(Section));
        for (Section& each : sections_) each.at += shift;
        return BlobRef::copy_of({bytes_of(std::span(&head_, 1)), bytes_of(std::span(sections_)), body_});
    }

  private:
    void begin(Kind kind, Item item, std::size_t groups, std::size_t items) {
        body_.resize((body_.size() + 7) / 8 * 8);
        sections_.push_back({kind, item, 0, static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(items),
                             static_cast<std::uint32_t>(body_.size())});
        if (item == Item::Mask) head_.contents |= kind == Kind::Pattern ? HAS_MASK_PATTERNS : HAS_SEGMENTS;
        if (item == Item::Interface) head_.contents |= HAS_INTERFACES;
        if (item == Item::Entry) head_.contents |= HAS_ENTRIES;
        if (item != Item::Mask && kind == Kind::Pattern) head_.contents |= HAS_PATTERNS;
    }

    void write_segments(const Folded& folded) {
        begin(Kind::Order, Item::Mask, folded.cuts.size(), folded.cuts.size() + 1);
        for (const std::uint64_t cut : folded.cuts) write_one(key_of(cut));
        write(folded.segments);
        if (head_.text == 0) return;
        for (const std::uint64_t cut : folded.cuts) write_one(static_cast<std::uint32_t>(cut));
    }

    // What is searched: a number itself, of a cut the head of its operand.
    [[nodiscard]] std::uint64_t key_of(std::uint64_t value) const noexcept {
        return head_.text == 0 ? value : head_of(operands_.text(static_cast<std::uint32_t>(value >> 1)));
    }

    void begin_patterns(Item item, std::span<const std::uint32_t> codes) {
        CodeIndex::make(codes, index_);
        begin(Kind::Pattern, item, index_.size(), codes.size());
        write(index_);
    }

    void find_groups(std::span<const Posting> postings) {
        groups_.clear();
        for (std::uint32_t at = 0; at < postings.size(); ++at) {
            if (at == 0 || postings[at].value != postings[at - 1].value) groups_.push_back(at);
        }
    }

    // If the values lie so close that a group for each number there is takes no more room than writing them down,
    // the groups become consecutive: then a value's place is its distance from the first.
    bool fill_gaps(std::span<const Posting> postings) {
        const std::uint64_t first = postings.front().value, span = postings.back().value - first;
        if (span >= 3 * groups_.size()) return false;
        groups_.clear();
        std::uint32_t at = 0;
        for (std::uint64_t distance = 0; distance <= span; ++distance) {
            while (postings[at].value - first < distance) ++at;
            groups_.push_back(at);
        }
        return true;
    }

    // The distinct values of both, and by rank which items lie between below and at least.
    void find_bounds(std::span<const Posting> below, std::span<const Posting> at_least) {
        const ValueOrder order(head_.text != 0, Kind::Order, operands_);
        const auto all = static_cast<std::uint32_t>(below.size());
        values_.clear();
        bounds_.clear();
        std::uint32_t from = 0, to = 0;
        while (from < below.size() || to < at_least.size()) {
            bounds_.insert(bounds_.end(), {from, all + to});
            const bool left = to == at_least.size() ||
                              (from < below.size() && order.less(below[from].value, at_least[to].value));
            values_.push_back(left ? below[from].value : at_least[to].value);
            while (from < below.size() && below[from].value == values_.back()) ++from;
            while (to < at_least.size() && at_least[to].value == values_.back()) ++to;
        }
        bounds_.insert(bounds_.end(), {from, all + to});
    }

    // As fill_gaps.
    bool fill_bounds() {
        const std::uint64_t first = values_.front(), span = values_.back() - first;
        if (span >= 2 * values_.size()) return false;
        std::vector<std::uint32_t> filled(bounds_.begin(), bounds_.begin() + 2);
        std::size_t rank = 0;
        for (std::uint64_t distance = 0; distance <= span; ++distance) {
            rank += values_[rank] - first == distance ? 1 : 0;
            filled.insert(filled.end(), {bounds_[2 * rank], bounds_[2 * rank + 1]});
        }
        bounds_ = std::move(filled);
        return true;
    }

    void write_items(Item item, std::span<const Posting> postings) {
        const auto item_of = [&](std::size_t at) { return postings[at].item; };
        item == Item::Entry ? write_each<std::uint64_t>(postings.size(), item_of)
                            : write_each<std::uint32_t>(postings.size(), item_of);
    }

    template <class T, class Value>
    void write_each(std::size_t count, Value&& value) {
        const std::size_t start = body_.size();
        body_.resize(start + count * sizeof(T));
        std::uint8_t* const out = body_.data() + start;
        for (std::size_t at = 0; at < count; ++at) {
            const T each = static_cast<T>(value(at));
            std::memcpy(out + at * sizeof each, &each, sizeof each);
        }
    }
    template <class T>
    void write_one(T value) {
        write(std::span(&value, 1));
    }
    template <class Range>
    void write(const Range& values) {
        const std::span<const std::uint8_t> bytes = bytes_of(std::span(values));
        body_.insert(body_.end(), bytes.begin(), bytes.end());
    }
    template <class Span>
    static std::span<const std::uint8_t> bytes_of(const Span& values) noexcept {
        const auto bytes = std::as_bytes(values);
        return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    }

    const DictionaryView& operands_;
    BlockHead head_{};
    std::vector<Section> sections_;
    std::vector<std::uint8_t> body_;
    std::vector<std::uint32_t> groups_, codes_;
    std::vector<std::uint64_t> index_, values_;
    std::vector<std::uint32_t> bounds_;
};

}  // namespace cbn::fast
