// Making blocks: from folded masks, and from an old block and changes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "fast_fold.hpp"

namespace cbn::fast {

// An item to be added to, or taken out of, a section of a key's block.
struct Change {
    std::uint32_t key = 0;
    Kind kind = Kind::All;
    Item item = Item::Entry;
    bool removal = false;
    Posting posting{};
};

// Writes one block, section by section, in the order Mask, Interface, Entry.
class BlockBuilder {
  public:
    BlockBuilder(bool text, const DictionaryView& operands) noexcept : operands_(operands) {
        head_.text = text ? 1 : 0;
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
            codes_.clear();
            for (const Posting& each : postings) codes_.push_back(static_cast<std::uint32_t>(each.value));
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
            for (const std::uint32_t start : groups_) write_one(key_of(postings[start].value));
        }
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
    std::vector<std::uint32_t> groups_, codes_;
    std::vector<std::uint64_t> index_;
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
            const std::uint64_t value = text ? section.cuts()[group] : section.value(group);
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
