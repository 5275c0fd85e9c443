// The constraint index, left-hand side of the forwarding table (FWD 4.2): from an attribute of a message to
// the constraints it satisfies.
//
// A trie of names, then a switch on the type, then one ordered index of values a name and type. Its entries,
// here called leaves, are in ascending order and linked by two chains: `up` to the next leaf that has `<`,
// `down` to the one before that has `>` (Fig. 5 for integers, the crown of Fig. 6 for strings). Numbers are
// found by binary search, strings in the trie. Booleans, floats, times, `!=`, `<=`, `>=` and `any` are not in
// the paper; docs/paper-algorithms.md says how they were fitted in. Filled by paper/planting.hpp.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "paper/trie.hpp"
#include "wire/wire.hpp"

namespace cbn::paper {

// A set of operators, one bit each.
using Ops = std::uint16_t;

template <class... Each>
constexpr Ops ops_of(Each... op) noexcept {
    return static_cast<Ops>((0U | ... | (1U << static_cast<unsigned>(op))));
}

inline constexpr Ops AT_VALUE = ops_of(wire::Op::Eq, wire::Op::Le, wire::Op::Ge, wire::Op::Suffix);
inline constexpr Ops GREATER_VALUES = ops_of(wire::Op::Lt, wire::Op::Le);  // of leaves above the attribute's value
inline constexpr Ops LESSER_VALUES = ops_of(wire::Op::Gt, wire::Op::Ge);
inline constexpr Ops ON_LEAVES = AT_VALUE | GREATER_VALUES | LESSER_VALUES | ops_of(wire::Op::Ne);
inline constexpr Ops ON_PARTIALS = ops_of(wire::Op::Prefix, wire::Op::Substring);

// The constraints of one value: numbered from `first`, one for each operator, in the operators' order.
struct Bearer {
    std::uint32_t first = 0;
    Ops ops = 0;

    [[nodiscard]] bool has_any(Ops any) const noexcept { return (ops & any) != 0; }

    // Hands over those of the wanted operators; false once the sink wants no more.
    template <class Sink>
    bool take(Ops wanted, Sink& sink) const {
        for (unsigned left = ops & wanted; left != 0; left &= left - 1) {
            const unsigned lower = (left & (0U - left)) - 1;
            if (!sink(first + static_cast<std::uint32_t>(std::popcount(ops & lower)))) return false;
        }
        return true;
    }
};

struct Leaf {
    std::uint32_t up = NONE;
    std::uint32_t down = NONE;
    Bearer bearer{};
};

// The ordered index of one name and type: its ranges of the arrays that all share.
struct ValueIndex {
    std::uint32_t leaves = 0, leaves_end = 0;
    std::uint32_t keys = 0;  // of numbers: sort keys, one a leaf
    std::uint32_t unequal = 0, unequal_end = 0;
    std::uint32_t root = NONE;   // of strings
    std::uint32_t empty = NONE;  // of strings: partial match of the empty one, at which every lookup begins
    std::uint32_t any = NONE;    // the constraint `any`
    bool anywhere = false;       // of strings: suffix or substring constraints are there
};

// Which substring constraints the present message has satisfied: they count once, wherever found (E5).
class SeenPartials {
  public:
    // As far as needed, forgets what the message before has left.
    void begin(std::size_t partials) {
        for (const std::uint32_t each : seen_) words_[each / 64] = 0;
        seen_.clear();
        if (words_.size() * 64 < partials) words_.resize(partials / 64 + 1);
    }

    [[nodiscard]] bool first_time(std::uint32_t partial) {
        std::uint64_t& word = words_[partial / 64];
        const std::uint64_t bit = std::uint64_t{1} << (partial % 64);
        if ((word & bit) != 0) return false;
        seen_.push_back(partial);
        word |= bit;
        return true;
    }

  private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> seen_;
};

// Maps a number to an integer of the same order. -0.0 and NaN do not occur on the wire.
inline std::uint64_t sort_key(const wire::ValueView& value) noexcept {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    switch (value.type) {
        case wire::Type::Integer:
        case wire::Type::Time: return value.bits ^ sign;
        case wire::Type::Float: return (value.bits & sign) != 0 ? ~value.bits : value.bits | sign;
        default: return value.bits;
    }
}

class ConstraintIndex {
  public:
    // The name's number, NONE if no constraint is on it.
    [[nodiscard]] std::uint32_t name(std::string_view text) const { return forest_.find(names_root_, text); }

    // FWD's matching_constraints(a): hands each constraint that the value satisfies to `sink(number) -> bool`,
    // once, until the sink wants no more; false if so.
    template <class Sink>
    bool match(std::uint32_t name, const wire::ValueView& value, SeenPartials& seen, Sink&& sink) const {
        const std::uint32_t index = types_[name][static_cast<std::size_t>(value.type)];
        if (index == NONE) return true;
        const ValueIndex& values = values_[index];
        if (values.any != NONE && !sink(values.any)) return false;
        return value.type == wire::Type::String ? match_text(values, value.text, seen, sink)
                                                : match_number(values, sort_key(value), sink);
    }

    [[nodiscard]] std::size_t names() const noexcept { return types_.size(); }
    [[nodiscard]] std::size_t partials() const noexcept { return partials_.size(); }
    [[nodiscard]] std::size_t leaves() const noexcept { return leaves_.size(); }
    [[nodiscard]] std::size_t nodes() const noexcept { return forest_.size(); }
    [[nodiscard]] std::size_t constraints() const noexcept { return constraints_; }

    [[nodiscard]] std::size_t bytes() const noexcept {
        return forest_.bytes() + types_.capacity() * sizeof(ByType) + values_.capacity() * sizeof(ValueIndex) +
               leaves_.capacity() * sizeof(Leaf) + partials_.capacity() * sizeof(Bearer) +
               keys_.capacity() * sizeof(std::uint64_t) + unequal_.capacity() * sizeof(std::uint32_t);
    }

  private:
    friend class Planter;

    static constexpr std::size_t TYPES = 6;  // the highest type number and one
    using ByType = std::array<std::uint32_t, TYPES>;

    template <class Sink>
    bool match_number(const ValueIndex& values, std::uint64_t key, Sink& sink) const {
        const auto first = keys_.begin() + values.keys;
        const auto end = first + (values.leaves_end - values.leaves);
        const auto found = std::lower_bound(first, end, key);
        const auto at = values.leaves + static_cast<std::uint32_t>(found - first);
        if (found != end && *found == key) return take_found(values, at, sink);
        return take_around(values, at == values.leaves ? NONE : at - 1, at == values.leaves_end ? NONE : at, sink);
    }

    template <class Sink>
    bool match_text(const ValueIndex& values, std::string_view text, SeenPartials& seen, Sink& sink) const {
        if (values.empty != NONE && !partials_[values.empty].take(ON_PARTIALS, sink)) return false;
        TriePath path;
        const auto on_partial = [&](std::uint32_t partial) {
            const Bearer& bearer = partials_[partial];
            const bool counts = bearer.has_any(ops_of(wire::Op::Substring)) && seen.first_time(partial);
            return bearer.take(counts ? ON_PARTIALS : ops_of(wire::Op::Prefix), sink);
        };
        if (!forest_.look_up<true>(values.root, text, path, on_partial)) return false;
        const bool more = path.leaf != NONE
                              ? take_found(values, path.leaf, sink)
                              : take_around(values, forest_.preceding_leaf(path), forest_.following_leaf(path), sink);
        if (!more) return false;
        return !values.anywhere || match_pieces(values, text, seen, sink);
    }

    // The lookup repeated from every further character, past the last one too: for substrings and suffixes.
    template <class Sink>
    bool match_pieces(const ValueIndex& values, std::string_view text, SeenPartials& seen, Sink& sink) const {
        constexpr Ops substring = ops_of(wire::Op::Substring);
        const auto on_partial = [&](std::uint32_t partial) {
            const Bearer& bearer = partials_[partial];
            return !bearer.has_any(substring) || !seen.first_time(partial) || bearer.take(substring, sink);
        };
        for (std::size_t start = 1; start <= text.size(); ++start) {
            TriePath path;
            if (!forest_.look_up<false>(values.root, text.substr(start), path, on_partial)) return false;
            if (path.leaf == NONE) continue;
            if (!leaves_[path.leaf].bearer.take(ops_of(wire::Op::Suffix), sink)) return false;
        }
        return true;
    }

    template <class Sink>
    bool take_found(const ValueIndex& values, std::uint32_t found, Sink& sink) const {
        const Leaf& leaf = leaves_[found];
        return leaf.bearer.take(AT_VALUE, sink) && climb(leaf.up, sink) && descend(leaf.down, sink) &&
               take_unequal(values, found, sink);
    }

    template <class Sink>
    bool take_around(const ValueIndex& values, std::uint32_t preceding, std::uint32_t following, Sink& sink) const {
        return climb(following, sink) && descend(preceding, sink) && take_unequal(values, NONE, sink);
    }

    // The less-than chain, from a leaf that may not be of it.
    template <class Sink>
    bool climb(std::uint32_t from, Sink& sink) const {
        for (std::uint32_t at = from; at != NONE; at = leaves_[at].up) {
            if (!leaves_[at].bearer.take(GREATER_VALUES, sink)) return false;
        }
        return true;
    }

    // The greater-than chain.
    template <class Sink>
    bool descend(std::uint32_t from, Sink& sink) const {
        for (std::uint32_t at = from; at != NONE; at = leaves_[at].down) {
            if (!leaves_[at].bearer.take(LESSER_VALUES, sink)) return false;
        }
        return true;
    }

    // All of `!=` but that of the value itself.
    template <class Sink>
    bool take_unequal(const ValueIndex& values, std::uint32_t found, Sink& sink) const {
        for (std::uint32_t at = values.unequal; at < values.unequal_end; ++at) {
            if (unequal_[at] == found) continue;
            if (!leaves_[unequal_[at]].bearer.take(ops_of(wire::Op::Ne), sink)) return false;
        }
        return true;
    }

    Forest forest_;
    std::uint32_t names_root_ = NONE;
    std::vector<ByType> types_;  // by name: the index of each type
    std::vector<ValueIndex> values_;
    std::vector<Leaf> leaves_;
    std::vector<Bearer> partials_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint32_t> unequal_;  // leaves that have `!=`
    std::size_t constraints_ = 0;
};

}  // namespace cbn::paper
