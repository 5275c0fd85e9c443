// Finds, among many filters, those that a given one covers.
//
// A filter is filed twice: with those that have the same attributes, by all ranges that it leaves of them; and under
// each of its attributes, by the range that it leaves of that one. What f covers has the same attributes as f and is
// found in the first way, or has more and is found under the least frequent of those of f. Where f asks nothing but
// a substring of that one, the marks of all filters under it are looked at.
#pragma once

#include <deque>

#include "cover/group.hpp"
#include "cover/map.hpp"

namespace cbn::cover {

class Below {
  public:
    void add(std::uint32_t token, const Items& items) {
        const Form& form = *items[token].form;
        group(alike_, key_set(form)).add(token);
        for (const Attribute& each : form.attributes) group(having_, each.key).add(token);
    }

    void remove(std::uint32_t token, const Items& items) {
        const Form& form = *items[token].form;
        group(alike_, key_set(form)).lost_one();
        for (const Attribute& each : form.attributes) group(having_, each.key).lost_one();
    }

    // Calls `visit(token)` for each filter that the form, which has attributes, covers.
    template <typename Visit>
    void find(const Form& form, const Items& items, Visit&& visit) {
        const auto covered = [&](std::uint32_t token) {
            if (items[token].form != nullptr && covers(form, *items[token].form)) visit(token);
            return false;
        };
        const std::uint32_t same = alike_.find(key_set(form));
        if (same != NONE) {
            static_cast<void>(groups_[same].search(form, items, axes_by_all_attributes, wanted_, covered));
        }
        const Attribute* attribute = rarest(form);
        if (attribute == nullptr) return;
        const auto axes = [&](const Form&) { return axes_by_attribute(*attribute); };
        const auto larger = [&](std::uint32_t token) {
            const Form* other = items[token].form;
            return other != nullptr && other->attributes.size() > form.attributes.size() && covered(token);
        };
        static_cast<void>(groups_[having_.find(attribute->key)].search(form, items, axes, wanted_, larger));
    }

  private:
    [[nodiscard]] static std::uint64_t key_set(const Form& form) noexcept {
        std::uint64_t state = detail::HASH_START;
        for (const Attribute& each : form.attributes) state = detail::mixed(state ^ each.key);
        return state | 1;
    }

    [[nodiscard]] Group& group(NumberMap& ids, std::uint64_t key) {
        const auto fresh = static_cast<std::uint32_t>(groups_.size());
        const std::uint32_t at = ids.insert(key, fresh);
        if (at == fresh) groups_.emplace_back();
        return groups_[at];
    }

    // The attribute that fewest filters have; none if some attribute is in no filter.
    [[nodiscard]] const Attribute* rarest(const Form& form) const noexcept {
        const Attribute* best = nullptr;
        std::size_t least = ~std::size_t{0};
        for (const Attribute& each : form.attributes) {
            const std::uint32_t at = having_.find(each.key);
            if (at == NONE) return nullptr;
            if (groups_[at].size() >= least) continue;
            least = groups_[at].size();
            best = &each;
        }
        return best;
    }

    NumberMap alike_, having_;  // by all attributes, by one
    std::deque<Group> groups_;
    Wanted wanted_;
};

}  // namespace cbn::cover
