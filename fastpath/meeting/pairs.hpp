// Which descriptors overlap (E14): finds the matches of one that comes. What comes and goes has been reduced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cover/cover.hpp"
#include "meeting/filters.hpp"
#include "meeting/key.hpp"

namespace cbn::meeting {

// A match, and the filter of its SCD.
struct Pair {
    Key match;
    FilterRef wanted;
};

// Descriptors of one sort by their filters, at places that stay.
class Side {
  public:
    struct Member {
        Key key;
        FilterRef told;  // the filter as it came

        friend bool operator<(const Member& one, const Member& other) noexcept { return one.key < other.key; }
    };

    // Where the filter is, and whether it is new.
    std::pair<std::uint32_t, bool> add(Filter& filter, Member member) {
        const auto [known, fresh] = places_.try_emplace(&filter, 0);
        if (fresh) {
            if (free_.empty()) {
                free_.push_back(static_cast<std::uint32_t>(members_.size()));
                members_.emplace_back();
                hulls_.emplace_back();
            }
            known->second = free_.back();
            free_.pop_back();
        }
        std::vector<Member>& members = members_[known->second];
        members.insert(std::upper_bound(members.begin(), members.end(), member), std::move(member));
        return {known->second, fresh};
    }
    // Where it was, and whether it was the last of its filter.
    std::pair<std::uint32_t, bool> remove(Filter& filter, const Key& key) {
        const auto known = places_.find(&filter);
        const std::uint32_t place = known->second;
        std::vector<Member>& members = members_[place];
        members.erase(std::lower_bound(members.begin(), members.end(), Member{key, {}}));
        if (!members.empty()) return {place, false};
        free_.push_back(place);
        places_.erase(known);
        return {place, true};
    }

    [[nodiscard]] const std::vector<Member>& at(std::uint32_t place) const { return members_[place]; }
    // Boxes lie side by side, so that all are looked at in no time.
    [[nodiscard]] cover::Hull& hull(std::uint32_t place) { return hulls_[place]; }
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

    template <typename Visit>
    void each(Visit&& visit) const {
        for (std::uint32_t place = 0; place < members_.size(); ++place) {
            if (!members_[place].empty()) visit(place);
        }
    }
    // Those whose boxes are not apart from this one.
    template <typename Visit>
    void each_near(const cover::Hull& hull, Visit&& visit) const {
        for (std::uint32_t place = 0; place < hulls_.size(); ++place) {
            if (!hull.apart(hulls_[place]) && !members_[place].empty()) visit(place);
        }
    }

  private:
    std::unordered_map<const Filter*, std::uint32_t> places_{};
    std::deque<std::vector<Member>> members_{};
    std::vector<cover::Hull> hulls_{};
    std::vector<std::uint32_t> free_{};
};

class Pairs {
  public:
    // Of more filters of a sort than `few` there is an index.
    explicit Pairs(std::size_t few) : few_(few) {}

    // A descriptor counts; appends the matches that it makes with those that came before.
    void add(const Key& key, const FilterRef& filter, std::vector<Pair>& out) {
        if (key.subscriber != 0) {
            want(key, filter, out);
        } else if (filter) {
            publish(key, filter, out);
        } else {
            anything_.insert(key);
            wanted_.each([&](std::uint32_t place) { note_all(key, place, out); });
        }
    }

    // It counts no longer; the filter is the one that it came with.
    void remove(const Key& key, const FilterRef& filter) {
        if (!filter) {
            anything_.erase(key);
        } else if (key.subscriber != 0) {
            Filter& form = filter->for_subscription();
            const auto [place, last] = wanted_.remove(form, key);
            if (last && wanted_indexed_ && !form.wanted().form.contradictory) by_one_.remove(place);
        } else {
            Filter& form = filter->for_advertisement();
            const auto [place, last] = published_.remove(form, key);
            if (last && published_indexed_) by_all_.remove(place, form.offered().form);
        }
    }

  private:
    void want(const Key& key, const FilterRef& filter, std::vector<Pair>& out) {
        Filter& form = filter->for_subscription();
        const Wanted& wanted = form.wanted();
        const auto [at, fresh] = wanted_.add(form, {key, filter});
        if (fresh) {
            wanted_.hull(at) = wanted.hull;
            index_wanted(at);
        }
        for (const Key& pcd : anything_) note(pcd, key, filter, out);
        if (wanted.form.contradictory) return;
        const auto note_each = [&](std::uint32_t place) {
            for (const Side::Member& pcd : published_.at(place)) note(pcd.key, key, filter, out);
        };
        if (wanted.form.attributes.empty()) return published_.each(note_each);
        const auto compare = [&](std::uint32_t place) {
            if (cover::overlaps(offered_at(place), wanted.form)) note_each(place);
        };
        if (!published_indexed_) return published_.each_near(wanted.hull, compare);
        static_cast<void>(by_all_.find(wanted.form.attributes, [&](std::uint32_t place) {
            if (!wanted.hull.apart(published_.hull(place))) compare(place);
            return false;
        }));
    }

    void publish(const Key& key, const FilterRef& filter, std::vector<Pair>& out) {
        Filter& form = filter->for_advertisement();
        const Offered& offered = form.offered();
        const auto [at, fresh] = published_.add(form, {key, filter});
        if (fresh) {
            published_.hull(at) = offered.hull;
            index_published(at);
        }
        const auto compare = [&](std::uint32_t place) {
            if (cover::overlaps(offered.form, wanted_at(place))) note_all(key, place, out);
        };
        if (!wanted_indexed_) return wanted_.each_near(offered.hull, compare);
        by_one_.find(offered.form, [&](std::uint32_t place) {
            if (!offered.hull.apart(wanted_.hull(place))) compare(place);
        });
    }

    // A filter is new. Few are compared one by one, by their boxes, which is quicker than to keep an index of them.
    void index_wanted(std::uint32_t at) {
        const auto add = [&](std::uint32_t place) {
            if (!wanted_at(place).contradictory) by_one_.add(place, wanted_at(place).attributes);
        };
        if (wanted_indexed_) return add(at);
        wanted_indexed_ = wanted_.size() > few_;
        if (wanted_indexed_) wanted_.each(add);
    }
    void index_published(std::uint32_t at) {
        const auto add = [&](std::uint32_t place) { by_all_.add(place, offered_at(place)); };
        if (published_indexed_) return add(at);
        published_indexed_ = published_.size() > few_;
        if (published_indexed_) published_.each(add);
    }

    [[nodiscard]] const cover::Form& wanted_at(std::uint32_t place) const {
        return wanted_.at(place).front().told->for_subscription().wanted().form;
    }
    [[nodiscard]] const cover::Advertisement& offered_at(std::uint32_t place) const {
        return published_.at(place).front().told->for_advertisement().offered().form;
    }

    void note_all(const Key& pcd, std::uint32_t place, std::vector<Pair>& out) const {
        for (const Side::Member& scd : wanted_.at(place)) note(pcd, scd.key, scd.told, out);
    }
    // Nobody needs a way to itself.
    static void note(const Key& pcd, const Key& scd, const FilterRef& wanted, std::vector<Pair>& out) {
        if (pcd.publisher == scd.subscriber) return;
        out.push_back({{pcd.publisher, pcd.pcd, scd.subscriber, scd.scd}, wanted});
    }

    std::size_t few_;
    Side wanted_{}, published_{};
    bool wanted_indexed_ = false, published_indexed_ = false;
    std::set<Key> anything_{};  // PCDs of whatever may be published
    cover::ByAllAttributes by_all_{};
    cover::ByOneAttribute by_one_{};
};

}  // namespace cbn::meeting
