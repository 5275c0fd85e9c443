// Fills a constraint index (paper/constraints.hpp) from the distinct constraints of all filters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "paper/constraints.hpp"

namespace cbn::paper {

// What a constraint says. The value's text must outlive the planting.
struct Meaning {
    std::uint32_t name = 0;
    wire::Op op = wire::Op::Any;
    wire::ValueView value{};
};

class Planter {
  public:
    explicit Planter(ConstraintIndex& index) : index_(index) {}

    // Gives the names their numbers in the index, in their order; the result is by place in `names`.
    std::vector<std::uint32_t> plant_names(std::span<const std::string_view> names) {
        const std::vector<std::uint32_t> order = ascending(names.size(), [&](std::uint32_t a, std::uint32_t b) {
            return names[a] < names[b];
        });
        std::vector<std::uint32_t> numbers(names.size());
        for (std::uint32_t place : order) {
            numbers[place] = static_cast<std::uint32_t>(strings_.size());
            strings_.push_back({names[place], NONE, numbers[place]});
        }
        index_.names_root_ = index_.forest_.plant(strings_);
        ConstraintIndex::ByType nothing;
        nothing.fill(NONE);
        index_.types_.assign(names.size(), nothing);
        return numbers;
    }

    // Plants distinct constraints, whose names are numbers in the index; returns the constraints' numbers.
    std::vector<std::uint32_t> plant(std::span<const Meaning> meanings) {
        meanings_ = meanings;
        numbers_.assign(meanings.size(), NONE);
        const std::vector<std::uint32_t> order = ascending(meanings.size(), [&](std::uint32_t a, std::uint32_t b) {
            return less(meanings[a], meanings[b]);
        });
        const auto same_index = [&](std::uint32_t a, std::uint32_t b) {
            return meanings[a].name == meanings[b].name && meanings[a].value.type == meanings[b].value.type;
        };
        for_runs(order, same_index, [&](std::span<const std::uint32_t> run) { plant_values(run); });
        index_.constraints_ = next_;
        seal();
        return std::move(numbers_);
    }

  private:
    using Places = std::span<const std::uint32_t>;

    template <class Less>
    static std::vector<std::uint32_t> ascending(std::size_t count, Less&& less_than) {
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(), less_than);
        return order;
    }

    template <class Same, class Each>
    static void for_runs(Places order, Same&& same, Each&& each) {
        for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
            while (end < order.size() && same(order[begin], order[end])) ++end;
            each(order.subspan(begin, end - begin));
        }
    }

    // By name, type, `any` first, value, operator.
    static bool less(const Meaning& a, const Meaning& b) {
        const auto rank = [](const Meaning& each) {
            return std::tuple(each.name, each.value.type, each.op != wire::Op::Any, sort_key(each.value));
        };
        if (const auto x = rank(a), y = rank(b); x != y) return x < y;
        if (const int order = a.value.text.compare(b.value.text); order != 0) return order < 0;
        return a.op < b.op;
    }

    void plant_values(Places places) {
        const Meaning& first = meanings_[places.front()];
        ValueIndex values;
        values.leaves = static_cast<std::uint32_t>(index_.leaves_.size());
        values.keys = static_cast<std::uint32_t>(index_.keys_.size());
        values.unequal = static_cast<std::uint32_t>(index_.unequal_.size());
        strings_.clear();
        if (first.op == wire::Op::Any) {
            values.any = number(places.front());
            places = places.subspan(1);
        }
        const auto same_value = [&](std::uint32_t a, std::uint32_t b) {
            const wire::ValueView &x = meanings_[a].value, &y = meanings_[b].value;
            return x.bits == y.bits && x.text == y.text;
        };
        for_runs(places, same_value, [&](Places run) { plant_value(run, values); });
        values.leaves_end = static_cast<std::uint32_t>(index_.leaves_.size());
        values.unequal_end = static_cast<std::uint32_t>(index_.unequal_.size());
        chain(values);
        if (first.value.type == wire::Type::String) values.root = index_.forest_.plant(strings_);
        index_.types_[first.name][static_cast<std::size_t>(first.value.type)] =
            static_cast<std::uint32_t>(index_.values_.size());
        index_.values_.push_back(values);
    }

    // The constraints on one value: a leaf, a partial match, or both.
    void plant_value(Places run, ValueIndex& values) {
        const wire::ValueView& value = meanings_[run.front()].value;
        TrieString string{value.text};
        if (const Bearer bearer = number_all(run, ON_LEAVES); bearer.ops != 0) {
            string.leaf = static_cast<std::uint32_t>(index_.leaves_.size());
            index_.leaves_.push_back({NONE, NONE, bearer});
            if (value.type != wire::Type::String) index_.keys_.push_back(sort_key(value));
            if (bearer.has_any(ops_of(wire::Op::Ne))) index_.unequal_.push_back(string.leaf);
            values.anywhere |= bearer.has_any(ops_of(wire::Op::Suffix));
        }
        if (const Bearer bearer = number_all(run, ON_PARTIALS); bearer.ops != 0) {
            string.partial = static_cast<std::uint32_t>(index_.partials_.size());
            index_.partials_.push_back(bearer);
            if (value.text.empty()) values.empty = string.partial;
            values.anywhere |= bearer.has_any(ops_of(wire::Op::Substring));
        }
        strings_.push_back(string);
    }

    // Numbers those of the run whose operators are of the set.
    Bearer number_all(Places run, Ops set) {
        Bearer bearer{next_, 0};
        for (const std::uint32_t place : run) {
            const Ops op = ops_of(meanings_[place].op);
            if ((op & set) == 0) continue;
            bearer.ops |= op;
            static_cast<void>(number(place));
        }
        return bearer;
    }

    std::uint32_t number(std::uint32_t place) { return numbers_[place] = next_++; }

    // Fig. 6: every leaf is linked to the nearest one on either side that has more to give.
    void chain(const ValueIndex& values) {
        for (std::uint32_t at = values.leaves_end, up = NONE; at > values.leaves; --at) {
            Leaf& leaf = index_.leaves_[at - 1];
            leaf.up = up;
            if (leaf.bearer.has_any(GREATER_VALUES)) up = at - 1;
        }
        for (std::uint32_t at = values.leaves, down = NONE; at < values.leaves_end; ++at) {
            Leaf& leaf = index_.leaves_[at];
            leaf.down = down;
            if (leaf.bearer.has_any(LESSER_VALUES)) down = at;
        }
    }

    void seal() {
        index_.forest_.seal();
        index_.types_.shrink_to_fit();
        index_.values_.shrink_to_fit();
        index_.leaves_.shrink_to_fit();
        index_.partials_.shrink_to_fit();
        index_.keys_.shrink_to_fit();
        index_.unequal_.shrink_to_fit();
    }

    ConstraintIndex& index_;
    std::span<const Meaning> meanings_;
    std::vector<std::uint32_t> numbers_;
    std::vector<TrieString> strings_;
    std::uint32_t next_ = 0;
};

}  // namespace cbn::paper
