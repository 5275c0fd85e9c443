// A predicate whose filters come and go, with its reduction kept at hand: what routers need (S1, S2, E15).
//
// Roots are the filters that no other covers: what `reduce` would leave. Every other filter hangs below one that
// covers it, which may hang below another in turn. When a filter goes, what hangs below it is hung anew or becomes a
// root: a cover's end restores what it hid. Of filters that say the same, the one that `reduce` would keep is the
// root, so that roots do not depend on the order in which filters came. Not safe for use by several threads at once.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "cover/below.hpp"
#include "cover/reduce.hpp"

namespace cbn::cover {

class PredicateSet {
  public:
    // The encoded filter as the set knows it: without redundant constraints.
    [[nodiscard]] static Status normalized(Bytes filter, std::string& out) {
        Form form;
        const Status status = read_form(filter, form);
        if (status.ok()) out = thinned(filter, form);
        return status;
    }

    // `filter` is normalized. Whether the roots have changed.
    bool add(std::string filter) {
        const auto known = ids_.find(filter);
        if (known != ids_.end()) {
            ++entries_[known->second].copies;
            return false;
        }
        const std::uint32_t id = make(std::move(filter));
        Entry& entry = entries_[id];
        open(entry);
        if (entry.form->contradictory) {
            entry.form.reset();
            return false;
        }
        return settle(id);
    }

    // Whether the filter was there. One that was added twice is there until it is removed twice.
    bool remove(const std::string& filter) {
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

    [[nodiscard]] bool contains(const std::string& filter) const { return ids_.contains(filter); }
    // What a filter hangs below; nullptr if it is not there, or a root, or contradictory.
    [[nodiscard]] const std::string* cover_of(const std::string& filter) const {
        const auto known = ids_.find(filter);
        if (known == ids_.end() || entries_[known->second].parent == NONE) return nullptr;
        return &entries_[entries_[known->second].parent].bytes;
    }

    // The encoded predicate of the roots.
    [[nodiscard]] std::string roots() const {
        std::vector<std::string_view> filters;
        for (const Item& item : items_) {
            if (item.form != nullptr) filters.push_back(entries_[item.owner].bytes);
        }
        return joined(std::move(filters));
    }

    // Which filters have become roots, and which have ceased to be, since this was last asked. Ascending.
    void changes(std::vector<std::string>& added, std::vector<std::string>& removed) {
        for (auto& [filter, was_root] : changed_) {
            const auto known = ids_.find(filter);
            const bool is_root = known != ids_.end() && entries_[known->second].root;
            if (is_root && !was_root) added.push_back(filter);
            if (was_root && !is_root) removed.push_back(filter);
        }
        changed_.clear();
    }

    [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
    [[nodiscard]] std::size_t root_count() const noexcept { return living_; }

  private:
    struct Entry {
        std::string bytes{};
        std::unique_ptr<Form> form{};  // of roots, and of what is being placed
        std::uint32_t copies = 1, token = NONE;
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
        static_cast<void>(read_form({data, entry.bytes.size()}, *entry.form));  // it was normalized
    }

    [[nodiscard]] static bool comes_before(const Entry& left, const Entry& right) noexcept {
        return detail::before(*left.form, left.bytes, *right.form, right.bytes);
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
        const std::uint32_t token = above_.find(*entry.form, items_);
        if (token != NONE) {
            const std::uint32_t cover = items_[token].owner;
            const bool better = covers(*entry.form, *items_[token].form) && comes_before(entry, entries_[cover]);
            if (!better) {
                hang(id, cover);
                return false;
            }
        }
        for (const std::uint32_t covered : covered_roots(entry)) {
            drop_root(covered);
            hang(covered, id);
        }
        become_root(id);
        return true;
    }

    [[nodiscard]] std::vector<std::uint32_t> covered_roots(const Entry& entry) {
        std::vector<std::uint32_t> out;
        if (entry.form->attributes.empty()) {
            for (const Item& item : items_) {
                if (item.form != nullptr) out.push_back(item.owner);
            }
            return out;
        }
        below_.find(*entry.form, items_, [&](std::uint32_t token) { out.push_back(items_[token].owner); });
        return out;
    }

    void note(const Entry& entry) { changed_.try_emplace(entry.bytes, entry.root); }

    void become_root(std::uint32_t id) {
        note(entries_[id]);
        entries_[id].root = true;
        entries_[id].parent = NONE;
        file(id);
        ++living_;
        if (items_.size() > 2 * living_ + 1024 || ++since_built_ > built_ + 1024) rebuild();
    }

    void drop_root(std::uint32_t id) {
        Entry& entry = entries_[id];
        note(entry);
        entry.root = false;
        above_.remove(entry.token, items_);
        below_.remove(entry.token, items_);
        items_[entry.token].form = nullptr;
        --living_;
    }

    void file(std::uint32_t id) {
        const auto token = static_cast<std::uint32_t>(items_.size());
        entries_[id].token = token;
        items_.push_back({entries_[id].form.get(), id, 0});
        above_.add(token, items_);
        below_.add(token, items_);
    }

    // Anew from the roots that there are, with features ordered by how frequent they are now.
    void rebuild() {
        std::vector<std::uint32_t> living;
        for (const Item& item : items_) {
            if (item.form != nullptr) living.push_back(item.owner);
        }
        items_.clear();
        above_ = Index{};
        below_ = Below{};
        for (const std::uint32_t id : living) above_.expect(*entries_[id].form);
        for (const std::uint32_t id : living) file(id);
        built_ = living.size();
        since_built_ = 0;
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
        // Covers come first: what has become a root need not be compared with what comes later.
        std::sort(orphans.begin(), orphans.end(),
                  [&](auto a, auto b) { return comes_before(entries_[a], entries_[b]); });
        for (const std::uint32_t each : orphans) {
            const std::uint32_t token = above_.find(*entries_[each].form, items_);
            if (token == NONE) {
                become_root(each);
            } else {
                hang(each, items_[token].owner);
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
    Items items_;
    Index above_;
    Below below_;
    std::size_t living_ = 0, built_ = 0, since_built_ = 0;
};

}  // namespace cbn::cover
