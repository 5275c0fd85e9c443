// Advertisements: covering between them (M7, the dual), overlap with filters (E14), and an index of them.
//
// Every attribute of a message satisfies one of the constraints that an advertisement has on it (M5). So one covers
// another if it declares all that the other declares, and each alternative of the other lies within one of its own;
// it overlaps a filter if it declares all that the filter asks for, and one alternative leaves a value to each.
// The mirror of `advertisement_covers` and `advertisement_overlaps` in nodes/model/covering.py.
#pragma once

#include <unordered_map>
#include <utility>

#include "cover/features.hpp"
#include "cover/imply.hpp"
#include "cover/map.hpp"
#include "cover/thin.hpp"

namespace cbn::cover {

// What an advertisement admits of one attribute: one alternative or more, each as of a filter with that constraint.
struct Declared {
    std::uint64_t key = 0;
    std::string_view name{};
    std::vector<Attribute> alternatives{};

    // Whether each alternative is one value.
    [[nodiscard]] bool pinned() const noexcept {
        return std::all_of(alternatives.begin(), alternatives.end(), [](const Attribute& each) { return each.single; });
    }
};

// An advertisement in normal form, attributes as in a `Form`. One that no value satisfies is left out: a message that
// has it is not admitted in either case.
struct Advertisement {
    std::vector<Declared> attributes{};
    Own own{};
};

namespace detail {

[[nodiscard]] inline bool by_attribute(const Placed& left, const Placed& right) noexcept {
    return std::make_tuple(left.key, left.constraint.name) < std::make_tuple(right.key, right.constraint.name);
}

[[nodiscard]] inline std::vector<Placed> grouped_constraints(Bytes filter) {
    std::vector<Placed> all = placed_constraints(filter);
    std::stable_sort(all.begin(), all.end(), by_attribute);
    return all;
}

// What one constraint lets through; false if nothing.
[[nodiscard]] inline bool read_alternative(const Placed& placed, Attribute& out, Own& own) {
    out.name = placed.constraint.name;
    out.type = placed.constraint.value.type;
    out.key = placed.key;
    out.raw = everything(out.type);
    return narrow(out, placed.constraint, own) && settle(out, own);
}

}  // namespace detail

[[nodiscard]] inline Status read_advertisement(Bytes filter, Advertisement& out) {
    if (const Status status = wire::validate_filter(filter); !status.ok()) return status;
    for (const detail::Placed& each : detail::grouped_constraints(filter)) {
        Attribute alternative;
        if (!detail::read_alternative(each, alternative, out.own)) continue;
        if (out.attributes.empty() || out.attributes.back().key != each.key ||
            out.attributes.back().name != each.constraint.name) {
            out.attributes.push_back({each.key, each.constraint.name, {}});
        }
        out.attributes.back().alternatives.push_back(std::move(alternative));
    }
    return {};
}

[[nodiscard]] inline const Declared* declared_as(const Advertisement& advertisement, std::uint64_t key,
                                                 std::string_view name) noexcept {
    const auto& all = advertisement.attributes;
    const auto order = [](const Declared& each, const auto& wanted) {
        return std::make_tuple(each.key, each.name) < wanted;
    };
    const auto at = std::lower_bound(all.begin(), all.end(), std::make_tuple(key, name), order);
    return at != all.end() && at->key == key && at->name == name ? &*at : nullptr;
}

// Whether every message that `narrow` admits, `wide` admits. Never a false yes.
[[nodiscard]] inline bool covers(const Advertisement& wide, const Advertisement& narrow) noexcept {
    if (narrow.attributes.size() > wide.attributes.size()) return false;
    return std::all_of(narrow.attributes.begin(), narrow.attributes.end(), [&](const Declared& each) {
        const Declared* admitted = declared_as(wide, each.key, each.name);
        if (admitted == nullptr) return false;
        return std::all_of(each.alternatives.begin(), each.alternatives.end(), [&](const Attribute& inner) {
            return std::any_of(admitted->alternatives.begin(), admitted->alternatives.end(),
                               [&](const Attribute& outer) { return covers(outer, inner); });
        });
    });
}

// Whether some value may be let through by both, of one attribute. Never a false no.
[[nodiscard]] inline bool meet(const Attribute& left, const Attribute& right) {
    if (left.single) return right.member(left.trimmed.lo);
    if (right.single) return left.member(right.trimmed.lo);
    const Span both{std::max(left.trimmed.lo, right.trimmed.lo), std::min(left.trimmed.hi, right.trimmed.hi)};
    if (both.vacant(left.type)) return false;
    const auto simple = [](const Attribute& each) { return each.holes.empty() && !each.patterned(); };
    if (simple(left) && simple(right)) return true;
    Attribute joint = left;
    Own own;
    joint.raw = both;
    joint.holes.insert(joint.holes.end(), right.holes.begin(), right.holes.end());
    joint.parts.insert(joint.parts.end(), right.parts.begin(), right.parts.end());
    return (right.suffix.empty() || detail::add_suffix(joint, right.suffix)) && detail::settle(joint, own);
}

// Whether some message may be admitted by the one and match the other. Never a false no (E14).
[[nodiscard]] inline bool overlaps(const Advertisement& advertisement, const Form& filter) {
    if (filter.contradictory || filter.attributes.size() > advertisement.attributes.size()) return false;
    return std::all_of(filter.attributes.begin(), filter.attributes.end(), [&](const Attribute& wanted) {
        const Declared* admitted = declared_as(advertisement, wanted.key, wanted.name);
        return admitted != nullptr && std::any_of(admitted->alternatives.begin(), admitted->alternatives.end(),
                                                  [&](const Attribute& each) { return meet(each, wanted); });
    });
}

// The advertisement without alternatives that lie within others, and without those that no value satisfies.
[[nodiscard]] inline std::string thinned_advertisement(Bytes filter) {
    std::vector<detail::Placed> all = detail::grouped_constraints(filter);
    std::vector<Attribute> forms(all.size());
    std::vector<bool> possible(all.size());
    Own own;
    for (std::size_t at = 0; at < all.size(); ++at) {
        possible[at] = detail::read_alternative(all[at], forms[at], own);
    }
    for (std::size_t at = 0; at < all.size(); ++at) {
        const auto within = [&](std::size_t other) {
            if (other == at || !possible[other] || !all[other].same(all[at])) return false;
            // Of two that say the same, the first stays.
            return covers(forms[other], forms[at]) && (other < at || !covers(forms[at], forms[other]));
        };
        std::size_t first = at, end = at + 1;
        while (first > 0 && all[first - 1].same(all[at])) --first;
        while (end < all.size() && all[end].same(all[at])) ++end;
        bool redundant = !possible[at];
        for (std::size_t other = first; other < end && !redundant; ++other) redundant = within(other);
        all[at].kept = !redundant;
    }
    return detail::encoded_kept(filter, all);
}

[[nodiscard]] inline Status reduce_advertisement(Bytes filter, std::string& out) {
    const Status status = wire::validate_filter(filter);
    if (status.ok()) out = thinned_advertisement(filter);
    return status;
}

[[nodiscard]] inline Status advertisement_covers(Bytes wide, Bytes narrow, bool& out) {
    Advertisement first, second;
    Status status = read_advertisement(wide, first);
    if (status.ok()) status = read_advertisement(narrow, second);
    if (status.ok()) out = covers(first, second);
    return status;
}

[[nodiscard]] inline Status advertisement_overlaps(Bytes advertisement, Bytes filter, bool& out) {
    Advertisement offered;
    Form wanted;
    Status status = read_advertisement(advertisement, offered);
    if (status.ok()) status = read_form(filter, wanted);
    if (status.ok()) out = overlaps(offered, wanted);
    return status;
}

namespace detail {

// Where something on an attribute is filed: with all that is said of it, and by value if each alternative is one.
[[nodiscard]] inline std::uint64_t key_of_all(std::uint64_t key) noexcept { return mixed(key ^ 0xA5A5) | 1; }
[[nodiscard]] inline std::uint64_t key_of_ranges(std::uint64_t key) noexcept { return mixed(key ^ 0x5A5A) | 1; }
[[nodiscard]] inline std::uint64_t key_of_value(const Attribute& single) noexcept {
    return feature(single, Kind::Value, value_hash(single));
}

inline void keys_of_values(const Attribute& attribute, std::vector<std::uint64_t>& out) {
    out.clear();
    if (attribute.single) out.push_back(key_of_value(attribute));
}
inline void keys_of_values(const Declared& declared, std::vector<std::uint64_t>& out) {
    out.clear();
    if (!declared.pinned()) return;
    for (const Attribute& each : declared.alternatives) out.push_back(key_of_value(each));
}

// Lists of owners under keys, ascending.
class Lists {
  public:
    void add(std::uint64_t key, std::uint32_t owner) {
        std::vector<std::uint32_t>& list = lists_[key];
        const auto at = std::lower_bound(list.begin(), list.end(), owner);
        if (at == list.end() || *at != owner) list.insert(at, owner);
    }
    void remove(std::uint64_t key, std::uint32_t owner) {
        const auto found = lists_.find(key);
        if (found == lists_.end()) return;
        const auto at = std::lower_bound(found->second.begin(), found->second.end(), owner);
        if (at != found->second.end() && *at == owner) found->second.erase(at);
        if (found->second.empty()) lists_.erase(found);
    }
    [[nodiscard]] std::span<const std::uint32_t> at(std::uint64_t key) const noexcept {
        const auto found = lists_.find(key);
        return found == lists_.end() ? std::span<const std::uint32_t>{} : std::span<const std::uint32_t>(found->second);
    }

  private:
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> lists_;
};

// Which owners one search has come by. Keys may collide, so that one stands in two of its lists.
class Seen {
  public:
    void begin() noexcept { ++search_; }
    [[nodiscard]] bool first_time(std::uint32_t owner) {
        if (owner >= last_.size()) last_.resize(owner + 1, 0);
        return std::exchange(last_[owner], search_) != search_;
    }

  private:
    std::vector<std::uint64_t> last_;
    std::uint64_t search_ = 0;
};

}  // namespace detail

// Advertisements by what they declare: finds those that may have all that something asks for.
class ByAllAttributes {
  public:
    void add(std::uint32_t owner, const Advertisement& each) {
        change(each, [&](std::uint64_t key) { lists_.add(key, owner); });
        if (each.attributes.empty()) lists_.add(NO_ATTRIBUTES, owner);
    }
    void remove(std::uint32_t owner, const Advertisement& each) {
        change(each, [&](std::uint64_t key) { lists_.remove(key, owner); });
        if (each.attributes.empty()) lists_.remove(NO_ATTRIBUTES, owner);
    }

    // Calls `visit(owner)` for candidates until it says true; whether it did. `asked` has attributes: those of a
    // filter, or of an advertisement all of whose alternatives must be found.
    template <typename Attributes, typename Visit>
    [[nodiscard]] bool find(const Attributes& asked, Visit&& visit) {
        std::span<const std::uint32_t> best[2];
        std::size_t fewest = ~std::size_t{0};
        for (const auto& each : asked) {
            detail::keys_of_values(each, values_);
            const auto first = lists_.at(values_.empty() ? detail::key_of_all(each.key) : values_.front());
            const auto second = values_.empty() ? first.first(0) : lists_.at(detail::key_of_ranges(each.key));
            if (first.size() + second.size() >= fewest) continue;
            fewest = first.size() + second.size();
            best[0] = first;
            best[1] = second;
        }
        seen_.begin();
        for (const auto list : best) {
            for (const std::uint32_t owner : list) {
                if (seen_.first_time(owner) && visit(owner)) return true;
            }
        }
        return false;
    }

  private:
    static constexpr std::uint64_t NO_ATTRIBUTES = 2;  // other keys are odd

    template <typename Change>
    void change(const Advertisement& advertisement, Change&& change) {
        for (const Declared& each : advertisement.attributes) {
            change(detail::key_of_all(each.key));
            detail::keys_of_values(each, values_);
            if (values_.empty()) change(detail::key_of_ranges(each.key));
            for (const std::uint64_t key : values_) change(key);
        }
    }

    detail::Lists lists_;
    detail::Seen seen_;
    std::vector<std::uint64_t> values_;
};

// Filters, or advertisements, each under one of its attributes: finds those all of whose attributes an advertisement
// may have.
class ByOneAttribute {
  public:
    template <typename Attributes>
    void add(std::uint32_t owner, const Attributes& attributes) {
        Place best{NO_ATTRIBUTES, NO_ATTRIBUTES};
        std::size_t fewest = ~std::size_t{0};
        for (const auto& each : attributes) {
            detail::keys_of_values(each, values_);
            const std::uint64_t key = values_.empty() ? detail::key_of_ranges(each.key) : values_.front();
            if (lists_.at(key).size() >= fewest) continue;
            fewest = lists_.at(key).size();
            best = {key, detail::key_of_all(each.key)};
        }
        lists_.add(best.key, owner);
        if (best.all != best.key) lists_.add(best.all, owner);
        places_[owner] = best;
    }
    void remove(std::uint32_t owner) {
        const auto found = places_.find(owner);
        lists_.remove(found->second.key, owner);
        lists_.remove(found->second.all, owner);
        places_.erase(found);
    }

    // Calls `visit(owner)` for each candidate.
    template <typename Visit>
    void find(const Advertisement& offered, Visit&& visit) {
        seen_.begin();
        const auto all = [&](std::uint64_t key) {
            for (const std::uint32_t owner : lists_.at(key)) {
                if (seen_.first_time(owner)) visit(owner);
            }
        };
        all(NO_ATTRIBUTES);
        for (const Declared& each : offered.attributes) {
            detail::keys_of_values(each, values_);
            if (values_.empty()) {
                all(detail::key_of_all(each.key));
                continue;
            }
            for (const std::uint64_t key : values_) all(key);
            all(detail::key_of_ranges(each.key));
        }
    }

  private:
    static constexpr std::uint64_t NO_ATTRIBUTES = 2;
    struct Place {
        std::uint64_t key = 0, all = 0;
    };

    detail::Lists lists_;
    detail::Seen seen_;
    std::unordered_map<std::uint32_t, Place> places_;
    std::vector<std::uint64_t> values_;
};

// An index of advertisements, each known by a number of its user's. Their forms stay where they are.
class AdvertisementIndex {
  public:
    void add(std::uint32_t owner, const Advertisement& each) {
        wide_.add(owner, each);
        narrow_.add(owner, each.attributes);
        forms_[owner] = &each;
    }
    void remove(std::uint32_t owner) {
        wide_.remove(owner, *forms_.at(owner));
        narrow_.remove(owner);
        forms_.erase(owner);
    }

    // One that covers the form, or NONE.
    [[nodiscard]] std::uint32_t cover_of(const Advertisement& form) {
        if (form.attributes.empty()) return forms_.empty() ? NONE : forms_.begin()->first;
        std::uint32_t found = NONE;
        const auto covering = [&](std::uint32_t owner) {
            const bool yes = covers(*forms_.at(owner), form);
            if (yes) found = owner;
            return yes;
        };
        return wide_.find(form.attributes, covering) ? found : NONE;
    }

    // Calls `visit(owner)` for each that the form covers.
    template <typename Visit>
    void covered_by(const Advertisement& form, Visit&& visit) {
        narrow_.find(form, [&](std::uint32_t owner) {
            if (covers(form, *forms_.at(owner))) visit(owner);
        });
    }

    template <typename Visit>
    void each(Visit&& visit) const {
        for (const auto& [owner, form] : forms_) visit(owner);
    }

    [[nodiscard]] std::size_t size() const noexcept { return forms_.size(); }

  private:
    ByAllAttributes wide_;
    ByOneAttribute narrow_;
    std::unordered_map<std::uint32_t, const Advertisement*> forms_;
};

// How advertisements relate.
struct OfAdvertisements {
    using Form = Advertisement;
    using Index = AdvertisementIndex;
    static constexpr bool ORDERED = false;

    [[nodiscard]] static Status read(Bytes filter, Form& form) { return read_advertisement(filter, form); }
    [[nodiscard]] static std::string thinned(Bytes filter, const Form&) { return thinned_advertisement(filter); }
    // Each admits at least the message without attributes.
    [[nodiscard]] static bool matches_nothing(const Form&) noexcept { return false; }
    [[nodiscard]] static bool covers(const Form& wide, const Form& narrow) noexcept {
        return cover::covers(wide, narrow);
    }
    [[nodiscard]] static bool before(const Form& left, std::string_view left_bytes, const Form& right,
                                     std::string_view right_bytes) noexcept {
        if (left.attributes.size() != right.attributes.size()) {
            return left.attributes.size() > right.attributes.size();
        }
        return left_bytes < right_bytes;
    }
};

}  // namespace cbn::cover
