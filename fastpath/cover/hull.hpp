// A box around what a filter or an advertisement lets through, to see at once that two have nothing in common.
//
// The sides are of the first attributes, in the order of a `Form`. Where two boxes have a side of one attribute and
// these lie apart, the two do not overlap; otherwise nothing is said, and who asks must look at all of both.
#pragma once

#include <array>
#include <unordered_map>

#include "cover/adverts.hpp"

namespace cbn::cover {

struct Hull {
    struct Side {
        std::uint64_t attribute = 0;  // its number; 0: there is none
        std::uint64_t lo = 0, hi = 0;

        [[nodiscard]] bool apart(const Side& other) const noexcept {
            return attribute == other.attribute && (lo > other.hi || other.lo > hi);
        }
    };
    std::array<Side, 2> sides{};

    // Whether no message can be in both.
    [[nodiscard]] bool apart(const Hull& other) const noexcept {
        for (const Side& mine : sides) {
            for (const Side& theirs : other.sides) {
                if (mine.attribute != 0 && mine.apart(theirs)) return true;
            }
        }
        return false;
    }
};

// Makes hulls, and numbers the attributes that they are of. Hashes of attributes may collide; these do not.
class Hulls {
  public:
    [[nodiscard]] Hull of(const Form& filter) {
        return made(filter.attributes, [](const Attribute& each, auto&& note) { note(each); });
    }
    [[nodiscard]] Hull of(const Advertisement& offered) {
        return made(offered.attributes, [](const Declared& each, auto&& note) {
            for (const Attribute& alternative : each.alternatives) note(alternative);
        });
    }

    // A hull is not used any more.
    void release(const Hull& hull) {
        for (const Hull::Side& side : hull.sides) {
            const auto name = names_.find(side.attribute);
            if (name == names_.end() || --numbers_.at(name->second).uses > 0) continue;
            numbers_.erase(name->second);
            names_.erase(name);
        }
    }

  private:
    struct Number {
        std::uint64_t value = 0;
        std::uint64_t uses = 0;
    };

    // Heads order as positions do, ties aside, so what lies apart by them lies apart.
    template <typename Attributes, typename Each>
    [[nodiscard]] Hull made(const Attributes& attributes, Each&& each) {
        Hull hull;
        for (std::size_t at = 0; at < std::min(attributes.size(), hull.sides.size()); ++at) {
            Hull::Side& side = hull.sides[at];
            side.lo = ~std::uint64_t{0};
            each(attributes[at], [&](const Attribute& one) {
                side.attribute = side.attribute == 0 ? number(one) : side.attribute;
                side.lo = std::min(side.lo, one.single ? one.trimmed.lo.head : one.raw.lo.head);
                side.hi = std::max(side.hi, one.single ? one.trimmed.lo.head : one.raw.hi.head);
            });
        }
        return hull;
    }

    [[nodiscard]] std::uint64_t number(const Attribute& attribute) {
        std::string name(attribute.name);
        name.push_back(static_cast<char>(attribute.type));
        Number& found = numbers_[name];
        if (++found.uses == 1) {
            found.value = ++last_;
            names_[found.value] = std::move(name);
        }
        return found.value;
    }

    std::unordered_map<std::string, Number> numbers_;
    std::unordered_map<std::uint64_t, std::string> names_;
    std::uint64_t last_ = 0;
};

}  // namespace cbn::cover
