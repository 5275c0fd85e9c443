// How two filters in normal form relate: covering (M7), overlap (E14), and an order in which covers come first.
#pragma once

#include "cover/form.hpp"

namespace cbn::cover {

// Whether what `narrow` lets through of an attribute, `wide` lets through. Never a false yes.
[[nodiscard]] inline bool covers(const Attribute& wide, const Attribute& narrow) noexcept {
    if (narrow.single) return wide.member(narrow.trimmed.lo);
    if (wide.raw.lo > narrow.trimmed.lo || wide.raw.hi < narrow.trimmed.hi) return false;
    for (const Position& hole : wide.holes) {
        if (narrow.member(hole)) return false;
    }
    return narrow.suffix.ends_with(wide.suffix) &&
           std::all_of(wide.parts.begin(), wide.parts.end(),
                       [&](std::string_view part) { return narrow.ensures(part); });
}

[[nodiscard]] inline const Attribute* attribute_of(const Form& form, std::uint64_t key,
                                                   std::string_view name) noexcept {
    for (const Attribute& each : form.attributes) {
        if (each.key == key && each.name == name) return &each;
    }
    return nullptr;
}

// Whether every message that matches `narrow` matches `wide` (M7). Never a false yes.
[[nodiscard]] inline bool covers(const Form& wide, const Form& narrow) noexcept {
    if (narrow.contradictory) return true;
    if (wide.contradictory || wide.attributes.size() > narrow.attributes.size()) return false;
    auto at = narrow.attributes.begin();
    for (const Attribute& wanted : wide.attributes) {
        while (at != narrow.attributes.end() && !(at->key == wanted.key && at->name == wanted.name)) ++at;
        if (at == narrow.attributes.end() || !covers(wanted, *at)) return false;
    }
    return true;
}

namespace detail {

[[nodiscard]] inline std::strong_ordering by_parts(const Attribute& left, const Attribute& right) noexcept {
    const auto size = [](std::string_view a, std::string_view b) { return a.size() <=> b.size(); };
    const auto first = std::span(left.parts).first(left.telling), second = std::span(right.parts).first(right.telling);
    return std::lexicographical_compare_three_way(first.begin(), first.end(), second.begin(), second.end(), size);
}

[[nodiscard]] inline std::strong_ordering by_width(const Attribute& left, const Attribute& right) noexcept {
    if (const auto order = left.trimmed.lo <=> right.trimmed.lo; order != 0) return order;
    if (const auto order = right.trimmed.hi <=> left.trimmed.hi; order != 0) return order;
    if (const auto order = left.suffix.size() <=> right.suffix.size(); order != 0) return order;
    // Of two sets none of whose members contains another, the covered one has the longer, or more, of the longest.
    if (const auto order = by_parts(left, right); order != 0) return order;
    return left.holes.size() <=> right.holes.size();
}

[[nodiscard]] inline std::strong_ordering by_name(const Attribute& left, const Attribute& right) noexcept {
    if (const auto order = left.key <=> right.key; order != 0) return order;
    return left.name.compare(right.name) <=> 0;
}

}  // namespace detail

// A filter comes before all that it covers; equal are only such as cover each other.
[[nodiscard]] inline std::strong_ordering wider_first(const Form& left, const Form& right) noexcept {
    const auto &ours = left.attributes, &theirs = right.attributes;
    if (const auto order = ours.size() <=> theirs.size(); order != 0) return order;
    for (std::size_t at = 0; at < ours.size(); ++at) {
        if (const auto order = detail::by_name(ours[at], theirs[at]); order != 0) return order;
    }
    for (std::size_t at = 0; at < ours.size(); ++at) {
        if (const auto order = detail::by_width(ours[at], theirs[at]); order != 0) return order;
    }
    return std::strong_ordering::equal;
}

}  // namespace cbn::cover
