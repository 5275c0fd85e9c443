// From an old block and changes to a new block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "match/build.hpp"

namespace cbn::fast {

// An item to be added to, or taken out of, a section of a key's block.
struct Change {
    std::uint32_t key = 0;
    Kind kind = Kind::All;
    Item item = Item::Entry;
    bool removal = false;
    Posting posting{};
};

// Turns an old block into a new one. Keeps its buffers from one block to the next.
class Rebuilder {
  public:
    explicit Rebuilder(const DictionaryView& operands) noexcept : operands_(operands) {}

    // `folded` null: the masks stay. The changes are of this key; they are put in order here.
    BlobRef rebuild(const Blob* old, bool text, const Folded* folded, std::span<Change> changes) {
        BlockBuilder out(text, operands_, old != nullptr ? old->size() + 64 * changes.size() : 0);
        if (folded != nullptr) {
            out.masks(*folded);
        } else if (old != nullptr) {
            out.masks(BlockView(old), {old->data(), old->size()});
        }
        sort(changes, text);
        for (const Item item : {Item::Interface, Item::Entry}) {
            for (const Kind kind : {Kind::All, Kind::Eq}) one_section(out, old, text, kind, item, changes);
            order_section(out, old, text, item, changes);
            for (const Kind kind : {Kind::Ne, Kind::Pattern}) one_section(out, old, text, kind, item, changes);
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

    static std::span<const Change> take(std::span<Change>& changes, Kind kind, Item item) noexcept {
        std::size_t count = 0;
        while (count < changes.size() && changes[count].item == item && changes[count].kind == kind) ++count;
        const std::span<const Change> own = changes.first(count);
        changes = changes.subspan(count);
        return own;
    }

    void one_section(BlockBuilder& out, const Blob* old, bool text, Kind kind, Item item, std::span<Change>& changes) {
        const std::span<const Change> own = take(changes, kind, item);
        const std::uint32_t index = find(old, kind, item);
        if (own.empty()) {
            if (index != NONE) out.copy(BlockView(old), index, {old->data(), old->size()});
            return;
        }
        before_.clear();
        if (index != NONE) read(BlockView(old).section(index), text);
        merge(own, before_, after_, ValueOrder(text, kind, operands_));
        if (!after_.empty()) out.section(kind, item, after_);
    }

    void order_section(BlockBuilder& out, const Blob* old, bool text, Item item, std::span<Change>& changes) {
        const std::span<const Change> below = take(changes, Kind::Below, item);
        const std::span<const Change> at_least = take(changes, Kind::AtLeast, item);
        const std::uint32_t index = find(old, Kind::Order, item);
        if (below.empty() && at_least.empty()) {
            if (index != NONE) out.copy(BlockView(old), index, {old->data(), old->size()});
            return;
        }
        before_.clear();
        before_at_least_.clear();
        if (index != NONE) read_order(BlockView(old).section(index), text);
        const ValueOrder order(text, Kind::Order, operands_);
        merge(below, before_, after_, order);
        merge(at_least, before_at_least_, after_at_least_, order);
        if (!after_.empty() || !after_at_least_.empty()) out.order_section(item, after_, after_at_least_);
    }

    static std::uint32_t find(const Blob* old, Kind kind, Item item) noexcept {
        for (std::uint32_t index = 0; old != nullptr && index < BlockView(old).sections(); ++index) {
            const Section& section = BlockView(old).section(index).head();
            if (section.kind == kind && section.item == item) return index;
        }
        return NONE;
    }

    static std::uint64_t item_at(const SectionView& section, std::uint32_t at) noexcept {
        if (section.head().item == Item::Entry) return section.entries(at, at + 1)[0];
        return section.interfaces(at, at + 1)[0];
    }

    void read(const SectionView& section, bool text) {
        const Section& head = section.head();
        before_.resize(head.items);
        for (std::uint32_t at = 0; at < head.items; ++at) before_[at].item = item_at(section, at);
        if (section.pattern()) {
            for (std::uint32_t at = 0; at < head.items; ++at) before_[at].value = section.codes()[at];
        }
        if (!section.grouped()) return;
        const std::uint32_t* starts = section.starts(text);
        for (std::uint32_t group = 0; group < head.groups; ++group) {
            const std::uint64_t value = text ? section.cuts()[group] : section.value(group);
            for (std::uint32_t at = starts[group]; at < starts[group + 1]; ++at) before_[at].value = value;
        }
    }

    void read_order(const SectionView& section, bool text) {
        const std::uint32_t* bounds = section.starts(text);
        before_.reserve(bounds[1]);
        before_at_least_.reserve(section.head().items - bounds[1]);
        for (std::uint32_t group = 0; group < section.head().groups; ++group, bounds += 2) {
            const std::uint64_t value = text ? section.cuts()[group] : section.value(group);
            for (std::uint32_t at = bounds[0]; at < bounds[2]; ++at) before_.push_back({value, item_at(section, at)});
            for (std::uint32_t at = bounds[1]; at < bounds[3]; ++at) {
                before_at_least_.push_back({value, item_at(section, at)});
            }
        }
    }

    // Of each (value, item): as many as there were, and added, less those removed.
    static void merge(std::span<const Change> changes, std::span<const Posting> before, std::vector<Posting>& after,
                      const ValueOrder& order) {
        after.clear();
        after.reserve(before.size() + changes.size());
        std::size_t old = 0;
        for (std::size_t at = 0; at < changes.size();) {
            const Posting& posting = changes[at].posting;
            const std::size_t next = find_from(before, old, posting, order);
            after.insert(after.end(), before.data() + old, before.data() + next);
            old = next;
            std::int64_t count = 0;
            for (; old < before.size() && before[old] == posting; ++old) ++count;
            for (; at < changes.size() && changes[at].posting == posting; ++at) count += changes[at].removal ? -1 : 1;
            for (; count > 0; --count) after.push_back(posting);
        }
        after.insert(after.end(), before.begin() + static_cast<std::ptrdiff_t>(old), before.end());
    }

    // The first from `at` on that is not before the posting: near by, if changes are many, or far away.
    static std::size_t find_from(std::span<const Posting> all, std::size_t at, const Posting& posting,
                                 const ValueOrder& order) {
        std::size_t end = at;
        for (std::size_t step = 1; end < all.size() && order(all[end], posting); step *= 2) {
            at = end + 1;
            end = std::min(all.size(), at + step);
        }
        const auto found = std::lower_bound(all.begin() + static_cast<std::ptrdiff_t>(at),
                                            all.begin() + static_cast<std::ptrdiff_t>(end), posting, order);
        return static_cast<std::size_t>(found - all.begin());
    }

    const DictionaryView& operands_;
    std::vector<Posting> before_, after_, before_at_least_, after_at_least_;
};

}  // namespace cbn::fast
