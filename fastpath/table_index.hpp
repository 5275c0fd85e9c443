// The immutable, compiled form of a forwarding table, matched by any number of threads at once.
//
// Every filter is filed under one of its constraints: an equality if it has one, so that a message comes
// upon it by its very value, else whichever (name, type) has fewest filters yet. A message visits the
// filters filed under its own attributes and checks each in full, passes over interfaces already decided,
// and stops when none is open (FWD 4.3). What changes between versions lives in table.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bits.hpp"
#include "table_match.hpp"
#include "wire.hpp"

namespace cbn {

struct TableStats {
    std::size_t filters = 0;
    std::size_t constraints = 0;
    std::size_t interfaces = 0;
    std::size_t names = 0;
    std::size_t bytes = 0;
};

class TableIndex {
  public:
    TableIndex() = default;
    TableIndex(const TableIndex&) = delete;  // names and values point into arena_
    TableIndex& operator=(const TableIndex&) = delete;

    // Tells how much `add` is going to be given; `add` never moves what it has stored.
    void reserve(std::size_t filters, std::size_t bytes) {
        arena_.reserve(bytes);
        filters_.reserve(filters);
    }

    // Files a filter that has been validated. A second one equal to it changes nothing (FWD 4: sharing).
    void add(std::uint32_t interface, std::string_view encoded) {
        ++offered_;
        if (!known_.insert(identity(interface, encoded)).second) return;
        populated_.set(interface);
        const std::string_view kept = keep(encoded);
        const Filter filter{interface, static_cast<std::uint32_t>(constraints_.size()), compile(kept)};
        if (filter.count == 0) {
            universal_.set(interface);
            return;
        }
        const auto number = static_cast<std::uint32_t>(filters_.size());
        filters_.push_back(filter);
        posting_of(filter).push_back(number);
    }

    // Ends the building: what only `add` needs is given back.
    void seal() {
        known_ = {};
        constraints_.shrink_to_fit();
    }

    // F1: the interfaces in `allowed`, but for `except`, one of whose filters holds for the message.
    void match(wire::Bytes attributes, std::uint16_t count, const Bits& allowed, std::uint32_t except,
               Scratch& scratch) const {
        scratch.begin(names_.size());
        scratch.open.assign_common(populated_, allowed);
        scratch.open.clear(except);
        scratch.undecided = scratch.open.count();
        take_universal(scratch);
        if (scratch.undecided > 0) {
            look_up_names(attributes, count, scratch);
            visit_postings(scratch);
        }
        std::sort(scratch.matched.begin(), scratch.matched.end());
    }

    [[nodiscard]] const Bits& populated() const noexcept { return populated_; }

    [[nodiscard]] TableStats stats() const {
        return {offered_, constraints_.size(), populated_.count(), names_.size(), bytes()};
    }

  private:
    using Posting = std::vector<std::uint32_t>;

    struct Filter {
        std::uint32_t interface = 0;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };

    struct Key {
        std::uint32_t name = 0;
        wire::ValueView value{};
        bool operator==(const Key& other) const noexcept {
            return name == other.name && value.type == other.value.type && value.bits == other.value.bits &&
                   value.text == other.value.text;
        }
    };

    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept {
            std::uint64_t mixed = (std::uint64_t{key.name} << 3) | static_cast<std::uint64_t>(key.value.type);
            mixed = (mixed ^ key.value.bits) * 0x9E3779B97F4A7C15U;
            mixed ^= std::hash<std::string_view>{}(key.value.text);
            return static_cast<std::size_t>(mixed ^ (mixed >> 29));
        }
    };

    static constexpr std::size_t TYPES = 6;  // the highest type number and one
    using ByType = std::array<Posting, TYPES>;

    static std::string identity(std::uint32_t interface, std::string_view encoded) {
        std::string text(reinterpret_cast<const char*>(&interface), sizeof interface);
        return text.append(encoded);
    }

    std::string_view keep(std::string_view encoded) {
        const std::size_t at = arena_.size();
        arena_.append(encoded);  // within what `reserve` set aside, so nothing moves
        return std::string_view(arena_).substr(at);
    }

    std::uint32_t compile(std::string_view kept) {
        const wire::Bytes bytes{reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size()};
        wire::ConstraintCursor cursor(bytes);
        std::uint32_t count = 0;
        for (wire::ConstraintView view; cursor.next(view); ++count) {
            constraints_.push_back({intern(view.name), view.op, view.value});
        }
        return count;
    }

    std::uint32_t intern(std::string_view name) {
        const auto [at, fresh] = names_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
        if (fresh) others_.emplace_back();
        return at->second;
    }

    // Equalities first, then the shortest list: the least likely constraint as far as one can tell here.
    Posting& posting_of(const Filter& filter) {
        Posting* best = nullptr;
        bool best_is_equality = false;
        for (std::uint32_t at = filter.first; at < filter.first + filter.count; ++at) {
            const Constraint& constraint = constraints_[at];
            const bool equality = constraint.op == wire::Op::Eq;
            if (best != nullptr && best_is_equality && !equality) continue;
            Posting& posting = equality ? equal_[Key{constraint.name, constraint.value}]
                                        : others_[constraint.name][static_cast<std::size_t>(constraint.value.type)];
            if (best == nullptr || (equality && !best_is_equality) || posting.size() < best->size()) {
                best = &posting;
                best_is_equality = equality;
            }
        }
        return *best;
    }

    void take_universal(Scratch& scratch) const {
        if (universal_.extent() == 0) return;
        for (std::uint32_t interface = 0; interface < universal_.extent(); ++interface) {
            if (universal_.test(interface) && scratch.open.test(interface)) decide(interface, scratch);
        }
    }

    static void decide(std::uint32_t interface, Scratch& scratch) {
        scratch.matched.push_back(interface);
        scratch.open.clear(interface);
        --scratch.undecided;
    }

    // FWD 4.1: a name is looked up once a message; names no filter mentions are forgotten at once.
    void look_up_names(wire::Bytes attributes, std::uint16_t count, Scratch& scratch) const {
        wire::AttributeWalk walk(attributes, count);
        // A fresh view each time: the walk leaves what does not apply to a value's type as it was.
        for (wire::AttributeView attribute; walk.next(attribute); attribute = {}) {
            const auto found = names_.find(attribute.name);
            if (found != names_.end()) scratch.note(found->second, attribute.value);
        }
    }

    void visit_postings(Scratch& scratch) const {
        for (const std::uint32_t name : scratch.present()) {
            const wire::ValueView& value = *scratch.value(name);
            const auto found = equal_.find(Key{name, value});
            if (found != equal_.end()) visit(found->second, scratch);
            visit(others_[name][static_cast<std::size_t>(value.type)], scratch);
            if (scratch.undecided == 0) return;
        }
    }

    void visit(const Posting& posting, Scratch& scratch) const {
        for (const std::uint32_t number : posting) {
            const Filter& filter = filters_[number];
            if (!scratch.open.test(filter.interface) || !holds_all(filter, scratch)) continue;
            decide(filter.interface, scratch);
            if (scratch.undecided == 0) return;
        }
    }

    // M4: a conjunction, also of several constraints on one attribute.
    [[nodiscard]] bool holds_all(const Filter& filter, const Scratch& scratch) const {
        for (std::uint32_t at = filter.first; at < filter.first + filter.count; ++at) {
            const Constraint& constraint = constraints_[at];
            const wire::ValueView* value = scratch.value(constraint.name);
            if (value == nullptr || !holds(constraint, *value)) return false;
        }
        return true;
    }

    [[nodiscard]] std::size_t bytes() const {
        std::size_t total = sizeof *this + arena_.capacity() + filters_.capacity() * sizeof(Filter);
        total += constraints_.capacity() * sizeof(Constraint) + others_.capacity() * sizeof(ByType);
        for (const ByType& by_type : others_) {
            for (const Posting& posting : by_type) total += posting.capacity() * sizeof(std::uint32_t);
        }
        constexpr std::size_t node = 2 * sizeof(void*);  // link and hash of a node in a standard hash table
        total += names_.bucket_count() * sizeof(void*) + names_.size() * (node + 24);
        total += equal_.bucket_count() * sizeof(void*);
        for (const auto& [key, posting] : equal_) {
            total += node + sizeof key + sizeof posting + posting.capacity() * sizeof(std::uint32_t);
        }
        return total + populated_.bytes() + universal_.bytes();
    }

    std::string arena_;
    std::vector<Constraint> constraints_;
    std::vector<Filter> filters_;
    std::unordered_map<std::string_view, std::uint32_t> names_;
    std::unordered_map<Key, Posting, KeyHash> equal_;
    std::vector<ByType> others_;  // by name, then by type: filters without an equality
    std::unordered_set<std::string> known_;
    Bits populated_;
    Bits universal_;
    std::size_t offered_ = 0;
};

}  // namespace cbn
