// Finds, among many filters, those that a given one covers.
//
// A filter is filed under each of its attributes, by the range that it leaves of it. What f covers has all attributes
// of f: the least frequent of these is searched, and `covers` decides. Where f has only a substring on it, all
// filters with that attribute are looked at.
#pragma once

#include <deque>

#include "cover_group.hpp"
#include "cover_map.hpp"

namespace cbn::cover {

class Below {
  public:
    void add(std::uint32_t token, const Items& items) {
        for (const Attribute& each : items[token].form->attributes) {
            const auto fresh = static_cast<std::uint32_t>(groups_.size());
            const std::uint32_t at = ids_.insert(each.key, fresh);
            if (at == fresh) groups_.emplace_back();
            groups_[at].add(token);
        }
    }

    void remove(std::uint32_t token, const Items& items) noexcept {
        for (const Attribute& each : items[token].form->attributes) groups_[ids_.find(each.key)].lost_one();
    }

    // Calls `visit(token)` for each filter that the form, which has attributes, covers.
    template <typename Visit>
    void find(const Form& form, const Items& items, Visit&& visit) {
        const Attribute* attribute = rarest(form);
        if (attribute == nullptr) return;
        Group& group = groups_[ids_.find(attribute->key)];
        group.settle(items, [&](const Form&) { return axes_of(*attribute); });
        std::vector<Accept> wanted;
        for (const Axis& axis : group.axes()) wanted.push_back(accept(axis, *attribute));
        static_cast<void>(group.search(wanted, [&](std::uint32_t token) {
            if (items[token].form != nullptr && covers(form, *items[token].form)) visit(token);
            return false;
        }));
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = ids_.bytes() + groups_.size() * sizeof(Group);
        for (const Group& group : groups_) total += group.bytes();
        return total;
    }

  private:
    // The attribute that fewest filters have; none if some attribute is in no filter.
    [[nodiscard]] const Attribute* rarest(const Form& form) const noexcept {
        const Attribute* best = nullptr;
        std::size_t least = ~std::size_t{0};
        for (const Attribute& each : form.attributes) {
            const std::uint32_t at = ids_.find(each.key);
            if (at == NONE) return nullptr;
            if (groups_[at].size() >= least) continue;
            least = groups_[at].size();
            best = &each;
        }
        return best;
    }

    [[nodiscard]] static std::vector<Axis> axes_of(const Attribute& attribute) {
        const std::string name(attribute.name);
        std::vector<Axis> out{{attribute.key, name, Axis::What::TrimmedLow, {}},
                              {attribute.key, name, Axis::What::TrimmedHigh, {}}};
        if (attribute.type == Type::String) out.push_back({attribute.key, name, Axis::What::End, {}});
        return out;
    }

    // What the coordinate of a filter that the attribute's filter covers may be.
    [[nodiscard]] static Accept accept(const Axis& axis, const Attribute& attribute) {
        if (axis.what == Axis::What::TrimmedLow) return {axis.coordinate(attribute.raw.lo)};
        if (axis.what == Axis::What::TrimmedHigh) return {0, axis.coordinate(attribute.raw.hi)};
        return ending_in(attribute.single ? std::string_view{} : attribute.suffix);
    }

    NumberMap ids_;
    std::deque<Group> groups_;
};

}  // namespace cbn::cover
