// A set of filters, or of advertisements, that come and go, with its reduction kept at hand (S1, S2, E15).
//
// Roots are the members that no other covers: of filters what `reduce` would leave. Every other member hangs
// below one that covers it, which may hang below another in turn. When one goes, what hangs below it is hung anew or
// becomes a root: a cover's end restores what it hid. Of members that say the same, the one that comes first is the
// root, so that roots do not depend on the order in which they came. Not safe for use by several threads at once.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "cover/adverts.hpp"
#include "cover/roots.hpp"

namespace cbn::cover {

// Whichever kind its members are.
class AnySet {
  public:
    virtual ~AnySet() = default;

    // The encoded filter as the set knows it: without redundant constraints.
    [[nodiscard]] virtual Status normalized(Bytes filter, std::string& out) const = 0;
    // `filter` is normalized. Whether the roots have changed.
    virtual bool add(std::string filter) = 0;
    // Whether the filter was there. One that was added twice is there until it is removed twice.
    virtual bool remove(const std::string& filter) = 0;
    [[nodiscard]] virtual bool contains(const std::string& filter) const = 0;
    // What a filter hangs below; nullptr if it is not there, or a root, or matches nothing.
    [[nodiscard]] virtual const std::string* cover_of(const std::string& filter) const = 0;
    // The encoded predicate of the roots.
    [[nodiscard]] virtual std::string roots() const = 0;
    // Which filters have become roots, and which have ceased to be, since this was last asked. Ascending.
    virtual void changes(std::vector<std::string>& added, std::vector<std::string>& removed) = 0;
    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    [[nodiscard]] virtual std::size_t root_count() const noexcept = 0;
};

// `Kind` is what a member is: `OfFilters` or `OfAdvertisements`.
template <typename Kind>
class CoveringSet final : public AnySet {
    using Form = typename Kind::Form;

  public:
    [[nodiscard]] Status normalized(Bytes filter, std::string& out) const override {
        Form form;
        const Status status = Kind::read(filter, form);
        if (status.ok()) out = Kind::thinned(filter, form);
        return status;
    }

    bool add(std::string filter) override {
        const auto known = ids_.find(filter);
        if (known != ids_.end()) {
            ++entries_[known->second].copies;
            return false;
        }
        const std::uint32_t id = make(std::move(filter));
        Entry& entry = entries_[id];
        open(entry);
        if (Kind::matches_nothing(*entry.form)) {
            entry.form.reset();
            return false;
        }
        return settle(id);
    }

    bool remove(const std::string& filter) override {
        const auto known = ids_.find(filter);
        if (known == ids_.end()) return false;
        const std::uint32_t id = known->second;
        if (--entries_[id].copies > 0) return true;
        if (entries_[id].root) {
            remove_root(id);
        } else {
            remove_hidden(id);
        }
        ids_.erase(known);
        entries_[id] = Entry{};
        free_.push_back(id);
        return true;
    }

    [[nodiscard]] bool contains(const std::string& filter) const override { return ids_.contains(filter); }

    [[nodiscard]] const std::string* cover_of(const std::string& filter) const override {
        const auto known = ids_.find(filter);
        if (known == ids_.end() || entries_[known->second].parent == NONE) return nullptr;
        return &entries_[entries_[known->second].parent].bytes;
    }

    [[nodiscard]] std::string roots() const override {
        std::vector<std::string_view> filters;
        index_.each([&](std::uint32_t id) { filters.push_back(entries_[id].bytes); });
        return joined(std::move(filters));
    }

    void changes(std::vector<std::string>& added, std::vector<std::string>& removed) override {
        for (auto& [filter, was_root] : changed_) {
            const auto known = ids_.find(filter);
            const bool is_root = known != ids_.end() && entries_[known->second].root;
            if (is_root && !was_root) added.push_back(filter);
            if (was_root && !is_root) removed.push_back(filter);
        }
        changed_.clear();
    }

    [[nodiscard]] std::size_t size() const noexcept override { return ids_.size(); }
    [[nodiscard]] std::size_t root_count() const noexcept override { return index_.size(); }

  private:
    struct Entry {
        std::string bytes{};
        std::unique_ptr<Form> form{};  // of roots, and of what is being placed
        std::uint32_t copies = 1;
        std::uint32_t parent = NONE, child = NONE, next = NONE, previous = NONE;
        bool root = false;
    };

    std::uint32_t make(std::string filter) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(entries_.size()));
            entries_.emplace_back();
        }
        const std::uint32_t id = free_.back();
        free_.pop_back();
        entries_[id].bytes = std::move(filter);
        ids_.emplace(entries_[id].bytes, id);
        return id;
    }

    static void open(Entry& entry) {
        entry.form = std::make_unique<Form>();
        const auto* data = reinterpret_cast<const std::uint8_t*>(entry.bytes.data());
        static_cast<void>(Kind::read({data, entry.bytes.size()}, *entry.form));  // it was normalized
    }

    [[nodiscard]] static bool comes_before(const Entry& left, const Entry& right) noexcept {
        return Kind::before(*left.form, left.bytes, *right.form, right.bytes);
    }

    void hang(std::uint32_t id, std::uint32_t parent) {
        Entry &entry = entries_[id], &above = entries_[parent];
        entry.form.reset();
        entry.parent = parent;
        entry.previous = NONE;
        entry.next = above.child;
        if (above.child != NONE) entries_[above.child].previous = id;
        above.child = id;
    }

    // Below the root that covers it, or a root itself. Whether it became one.
    bool settle(std::uint32_t id) {
        Entry& entry = entries_[id];
        const std::uint32_t cover = index_.cover_of(*entry.form);
        if (cover != NONE) {
            const bool same = Kind::covers(*entry.form, *entries_[cover].form);
            if (!same || !comes_before(entry, entries_[cover])) {
                hang(id, cover);
                return false;
            }
        }
        std::vector<std::uint32_t> covered;
        index_.covered_by(*entry.form, [&](std::uint32_t each) { covered.push_back(each); });
        for (const std::uint32_t each : covered) {
            drop_root(each);
            hang(each, id);
        }
        become_root(id);
        return true;
    }

    void note(const Entry& entry) { changed_.try_emplace(entry.bytes, entry.root); }

    void become_root(std::uint32_t id) {
        note(entries_[id]);
        entries_[id].root = true;
        entries_[id].parent = NONE;
        index_.add(id, *entries_[id].form);
    }

    void drop_root(std::uint32_t id) {
        note(entries_[id]);
        entries_[id].root = false;
        index_.remove(id);
    }

    void remove_hidden(std::uint32_t id) {
        const Entry& entry = entries_[id];
        if (entry.parent == NONE) return;  // contradictory
        unlink(entry);
        for (const std::uint32_t child : children(entry)) hang(child, entry.parent);
    }

    void unlink(const Entry& entry) {
        if (entry.previous != NONE) entries_[entry.previous].next = entry.next;
        if (entry.previous == NONE) entries_[entry.parent].child = entry.next;
        if (entry.next != NONE) entries_[entry.next].previous = entry.previous;
    }

    void remove_root(std::uint32_t id) {
        std::vector<std::uint32_t> orphans = children(entries_[id]);
        drop_root(id);
        for (const std::uint32_t each : orphans) open(entries_[each]);
        std::sort(orphans.begin(), orphans.end(),
                  [&](auto a, auto b) { return comes_before(entries_[a], entries_[b]); });
        for (const std::uint32_t each : orphans) {
            if constexpr (!Kind::ORDERED) {
                static_cast<void>(settle(each));
                continue;
            }
            // Covers come first: what has become a root need not be compared with what comes later.
            const std::uint32_t cover = index_.cover_of(*entries_[each].form);
            if (cover == NONE) {
                become_root(each);
            } else {
                hang(each, cover);
            }
        }
    }

    [[nodiscard]] std::vector<std::uint32_t> children(const Entry& entry) const {
        std::vector<std::uint32_t> out;
        for (std::uint32_t at = entry.child; at != NONE; at = entries_[at].next) out.push_back(at);
        return out;
    }

    std::deque<Entry> entries_;
    std::vector<std::uint32_t> free_;
    std::unordered_map<std::string_view, std::uint32_t> ids_;
    std::map<std::string, bool> changed_;  // filters whose standing has changed, and whether they were roots
    typename Kind::Index index_;  // of the roots
};

using PredicateSet = CoveringSet<OfFilters>;
using AdvertisementSet = CoveringSet<OfAdvertisements>;

}  // namespace cbn::cover
