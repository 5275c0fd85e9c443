// Making blocks: from an old one and changes, and folding single constraints into masks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fast_block.hpp"

namespace cbn::fast {

// One item filed under one value: a number, a cut, or a code of operand and test.
struct Posting {
    std::uint64_t value = 0;
    std::uint64_t item = 0;
    bool operator==(const Posting&) const = default;
};

// An item to be added to, or taken out of, a section of a key's block.
struct Change {
    std::uint32_t key = 0;
    Kind kind = Kind::All;
    Item item = Item::Entry;
    bool removal = false;
    Posting posting{};
};

// Where a term's items are filed, and under what.
struct Place {
    Kind kind = Kind::All;
    std::uint64_t value = 0;
};

inline Place place_of(const Term& term, bool text) noexcept {
    const auto operand = static_cast<std::uint32_t>(term.value);
    switch (term.test) {
        case Test::Eq:
            if (text) return {Kind::Pattern, operand << 2 | EQ_CODE};
            return {Kind::Eq, term.value};
        case Test::Ne: return {Kind::Ne, text ? make_cut(operand, false) : term.value};
        case Test::Below: return {Kind::Below, text ? make_cut(operand, false) : term.value};
        case Test::AtLeast: return {Kind::AtLeast, text ? make_cut(operand, false) : term.value};
        case Test::BelowNext: return {Kind::Below, make_cut(operand, true)};
        case Test::AtLeastNext: return {Kind::AtLeast, make_cut(operand, true)};
        case Test::Prefix: return {Kind::Pattern, operand << 2 | PREFIX_CODE};
        case Test::Suffix: return {Kind::Pattern, operand << 2 | SUFFIX_CODE};
        case Test::Substring: return {Kind::Pattern, operand << 2 | SUBSTRING_CODE};
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
        return operands_.text(static_cast<std::uint32_t>(left >> 1)) < operands_.text(static_cast<std::uint32_t>(right >> 1));
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
        const Place place = place_of(term, text_);
        switch (place.kind) {
            case Kind::Pattern: patterns_.push_back({place.value, interface}); break;
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
        const ValueOrder order(text_, Kind::Below, operands_);
        std::sort(edges_.begin(), edges_.end(), [&](const Edge& left, const Edge& right) { return order.less(left.value, right.value); });
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
        std::sort(patterns_.begin(), patterns_.end(), [](const Posting& left, const Posting& right) { return left.value < right.value; });
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

// Writes one block, section by section, in the order Mask, Interface, Entry.
class BlockBuilder {
  public:
    BlockBuilder(bool text, const DictionaryView& operands) noexcept : operands_(operands) { head_.text = text ? 1 : 0; }

    void masks(const Folded& folded) {
        head_.words = static_cast<std::uint8_t>(folded.words);
        if (!folded.segments.empty()) write_segments(folded);
        if (folded.codes.empty()) return;
        begin(Kind::Pattern, Item::Mask, folded.codes.size(), folded.codes.size());
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
        write(bytes.subspan(section.at, end - section.at));
    }

    // Ascending postings, at least one.
    void section(Kind kind, Item item, std::span<const Posting> postings) {
        if (kind == Kind::All || kind == Kind::Pattern) {
            begin(kind, item, postings.size(), postings.size());
            write_items(item, postings);
            if (kind == Kind::Pattern) {
                for (const Posting& each : postings) write_one(static_cast<std::uint32_t>(each.value));
            }
            return;
        }
        find_groups(postings);
        begin(kind, item, groups_.size(), postings.size());
        for (const std::uint32_t start : groups_) write_one(key_of(postings[start].value));
        write_items(item, postings);
        if (head_.text != 0) {
            for (const std::uint32_t start : groups_) write_one(static_cast<std::uint32_t>(postings[start].value));
        }
        write(groups_);
        write_one(static_cast<std::uint32_t>(postings.size()));
    }

    // Null if there is nothing in it.
    BlobRef finish() {
        if (sections_.empty()) return {};
        head_.sections = static_cast<std::uint8_t>(sections_.size());
        const auto shift = static_cast<std::uint32_t>(sizeof head_ + sections_.size() * sizeof(Section));
        std::vector<std::uint8_t> all(shift + body_.size());
        for (Section& each : sections_) each.at += shift;
        std::memcpy(all.data(), &head_, sizeof head_);
        std::memcpy(all.data() + sizeof head_, sections_.data(), sections_.size() * sizeof(Section));
        std::memcpy(all.data() + shift, body_.data(), body_.size());
        return BlobRef::copy_of(all);
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
        begin(Kind::Below, Item::Mask, folded.cuts.size(), folded.cuts.size() + 1);
        for (const std::uint64_t cut : folded.cuts) write_one(key_of(cut));
        write(folded.segments);
        if (head_.text == 0) return;
        for (const std::uint64_t cut : folded.cuts) write_one(static_cast<std::uint32_t>(cut));
    }

    // What is searched: a number itself, of a cut the head of its operand.
    [[nodiscard]] std::uint64_t key_of(std::uint64_t value) const noexcept {
        return head_.text == 0 ? value : head_of(operands_.text(static_cast<std::uint32_t>(value >> 1)));
    }

    void find_groups(std::span<const Posting> postings) {
        groups_.clear();
        for (std::uint32_t at = 0; at < postings.size(); ++at) {
            if (at == 0 || postings[at].value != postings[at - 1].value) groups_.push_back(at);
        }
    }

    void write_items(Item item, std::span<const Posting> postings) {
        for (const Posting& each : postings) {
            if (item == Item::Entry) {
                write_one(each.item);
            } else {
                write_one(static_cast<std::uint32_t>(each.item));
            }
        }
    }

    template <class T>
    void write_one(T value) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
        body_.insert(body_.end(), bytes, bytes + sizeof value);
    }
    template <class Range>
    void write(const Range& values) {
        const auto bytes = std::as_bytes(std::span(values));
        const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
        body_.insert(body_.end(), first, first + bytes.size());
    }

    const DictionaryView& operands_;
    BlockHead head_{};
    std::vector<Section> sections_;
    std::vector<std::uint8_t> body_;
    std::vector<std::uint32_t> groups_;
};

// Turns an old block into a new one. Keeps its buffers from one block to the next.
class Rebuilder {
  public:
    explicit Rebuilder(const DictionaryView& operands) noexcept : operands_(operands) {}

    // `folded` null: the masks stay. The changes are of this key; they are put in order here.
    BlobRef rebuild(const Blob* old, bool text, const Folded* folded, std::span<Change> changes) {
        BlockBuilder out(text, operands_);
        if (folded != nullptr) {
            out.masks(*folded);
        } else if (old != nullptr) {
            out.masks(BlockView(old), {old->data(), old->size()});
        }
        sort(changes, text);
        for (const Item item : {Item::Interface, Item::Entry}) {
            for (std::uint8_t kind = 0; kind <= static_cast<std::uint8_t>(Kind::Pattern); ++kind) {
                one_section(out, old, text, static_cast<Kind>(kind), item, changes);
            }
        }
        return out.finish();
    }

  private:
    void sort(std::span<Change> changes, bool text) const {
        std::sort(changes.begin(), changes.end(), [&](const Change& left, const Change& right) {
            if (left.item != right.item) return left.item < right.item;
            if (left.kind != right.kind) return left.kind < right.kind;
            return ValueOrder(text, left.kind, operands_)(left.posting, right.posting);
        });
    }

    void one_section(BlockBuilder& out, const Blob* old, bool text, Kind kind, Item item, std::span<Change>& changes) {
        std::size_t count = 0;
        while (count < changes.size() && changes[count].item == item && changes[count].kind == kind) ++count;
        const std::span<const Change> own = changes.first(count);
        changes = changes.subspan(count);
        const std::uint32_t index = find(old, kind, item);
        if (own.empty()) {
            if (index != NONE) out.copy(BlockView(old), index, {old->data(), old->size()});
            return;
        }
        before_.clear();
        if (index != NONE) read(BlockView(old).section(index), text);
        merge(own, ValueOrder(text, kind, operands_));
        if (!after_.empty()) out.section(kind, item, after_);
    }

    static std::uint32_t find(const Blob* old, Kind kind, Item item) noexcept {
        for (std::uint32_t index = 0; old != nullptr && index < BlockView(old).sections(); ++index) {
            const Section& section = BlockView(old).section(index).head();
            if (section.kind == kind && section.item == item) return index;
        }
        return NONE;
    }

    void read(const SectionView& section, bool text) {
        const Section& head = section.head();
        const auto item = [&](std::uint32_t at) -> std::uint64_t {
            if (head.item == Item::Entry) return section.entries(at, at + 1)[0];
            return section.interfaces(at, at + 1)[0];
        };
        if (!section.grouped()) {
            for (std::uint32_t at = 0; at < head.items; ++at) {
                before_.push_back({section.pattern() ? section.codes()[at] : 0, item(at)});
            }
            return;
        }
        const std::uint32_t* starts = section.starts(text);
        for (std::uint32_t group = 0; group < head.groups; ++group) {
            const std::uint64_t value = text ? section.cuts()[group] : section.values()[group];
            for (std::uint32_t at = starts[group]; at < starts[group + 1]; ++at) before_.push_back({value, item(at)});
        }
    }

    // Of each (value, item): as many as there were, and added, less those removed.
    void merge(std::span<const Change> changes, const ValueOrder& order) {
        after_.clear();
        std::size_t old = 0;
        for (std::size_t at = 0; at < changes.size();) {
            const Posting& posting = changes[at].posting;
            for (; old < before_.size() && order(before_[old], posting); ++old) after_.push_back(before_[old]);
            std::int64_t count = 0;
            for (; old < before_.size() && before_[old] == posting; ++old) ++count;
            for (; at < changes.size() && changes[at].posting == posting; ++at) count += changes[at].removal ? -1 : 1;
            for (; count > 0; --count) after_.push_back(posting);
        }
        after_.insert(after_.end(), before_.begin() + static_cast<std::ptrdiff_t>(old), before_.end());
    }

    const DictionaryView& operands_;
    std::vector<Posting> before_, after_;
};

}  // namespace cbn::fast
