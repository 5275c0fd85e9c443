// What filters are searched by: the ends of the ranges that they leave of an attribute, as numbers.
//
// A number orders as the positions do, ties aside. Axes whose question is "at least" hold the complement, so that
// every question but that for a hole is "at most".
#pragma once

#include "cover/boxes.hpp"
#include "cover/imply.hpp"

namespace cbn::cover {

struct Axis {
    static constexpr std::size_t LONG_WINDOW = 8, SHORT_WINDOW = 3;

    enum class What : std::uint8_t {
        RawLow,       // of a covering filter: at most where the covered one begins
        RawHigh,      // at least where it ends
        FirstHole,    // none of its values
        TrimmedLow,   // of a covered filter: at least where the covering one begins
        TrimmedHigh,  // at most where it ends
        HolesFrom,    // where nothing but holes is excluded: the first at most the first of the covering one,
        HolesTo,      // and the last at least its last; without holes, or with other bounds, anything
        EndFrom,      // the last bytes, reversed: at least the wanted suffix
        EndTo,        // at most what ends in it
        Windows,      // bits for pieces of its texts: all that the wanted substring has
        Size,         // attributes of the whole filter: more than the covering one has
    };

    std::uint64_t key = 0;
    std::string name{};
    What what = What::RawLow;
    std::string skipped{};  // what the texts of all members begin with; coordinates are the bytes after it

    [[nodiscard]] bool complement() const noexcept {
        return what == What::RawHigh || what == What::TrimmedLow || what == What::HolesTo ||
               what == What::EndFrom || what == What::Size;
    }
    [[nodiscard]] std::uint64_t oriented(std::uint64_t coordinate) const noexcept {
        return complement() ? ~coordinate : coordinate;
    }

    [[nodiscard]] std::uint64_t coordinate(const Position& at) const noexcept {
        if (skipped.empty()) return at.head;
        if (at.text.starts_with(skipped)) return head_of(at.text.substr(skipped.size()));
        return at.text < skipped ? 0 : ~std::uint64_t{0};
    }

    // Where hashes collide, a form without the attribute may be asked for; `covers` will tell.
    [[nodiscard]] Position position(const Form& form) const noexcept {
        if (what == What::Size) return {form.attributes.size(), {}};
        const Attribute* attribute = attribute_of(form, key, name);
        if (attribute == nullptr) return {};
        switch (what) {
            case What::RawLow: return attribute->raw.lo;
            case What::RawHigh: return attribute->raw.hi;
            case What::FirstHole: return attribute->holes.empty() ? Position{} : attribute->holes.front();
            case What::TrimmedLow: return attribute->trimmed.lo;
            case What::TrimmedHigh: return attribute->trimmed.hi;
            case What::HolesFrom: return only_holes(*attribute) ? attribute->holes.front() : Position{};
            case What::HolesTo: return only_holes(*attribute) ? attribute->holes.back() : Position{~0ULL, BEYOND};
            case What::Windows: return {windows(*attribute), {}};
            default: return {ending(attribute->single ? attribute->trimmed.lo.text : attribute->suffix), {}};
        }
    }

    // The bits of all pieces of `size` bytes.
    [[nodiscard]] static std::uint64_t windows(std::string_view text, std::size_t size) noexcept {
        std::uint64_t out = 0;
        for (std::size_t at = 0; at + size <= text.size(); ++at) {
            out |= std::uint64_t{1} << (detail::mixed(detail::hashed(text.substr(at, size))) >> 58);
        }
        return out;
    }
    [[nodiscard]] static std::uint64_t windows(std::string_view text) noexcept {
        return windows(text, LONG_WINDOW) | windows(text, SHORT_WINDOW);
    }
    [[nodiscard]] static std::uint64_t windows(const Attribute& attribute) noexcept {
        std::uint64_t out = windows(attribute.start) | windows(attribute.suffix);
        for (const std::string_view part : attribute.parts) out |= windows(part);
        return out;
    }

    [[nodiscard]] static bool only_holes(const Attribute& attribute) noexcept {
        return !attribute.holes.empty() && !attribute.patterned() && attribute.raw == everything(attribute.type);
    }

    // The last eight bytes, the last first: texts of one ending lie side by side.
    [[nodiscard]] static std::uint64_t ending(std::string_view text) noexcept {
        std::uint64_t out = 0;
        for (std::size_t at = 0; at < 8; ++at) {
            out = out << 8 | (at < text.size() ? static_cast<std::uint8_t>(text[text.size() - 1 - at]) : 0U);
        }
        return out;
    }
};

namespace detail {

// The greatest ending of a text that ends in `suffix`.
[[nodiscard]] inline std::uint64_t last_ending(std::string_view suffix) noexcept {
    const std::uint64_t free = suffix.size() >= 8 ? 0 : ~std::uint64_t{0} >> (8 * suffix.size());
    return Axis::ending(suffix) | free;
}

// At most what a covering (Raw...) or a covered (the others) filter may have there.
[[nodiscard]] inline std::uint64_t bound_of(const Axis& axis, const Attribute& attribute) noexcept {
    const std::string_view suffix = attribute.single ? std::string_view{} : attribute.suffix;
    const auto& holes = attribute.holes;
    switch (axis.what) {
        case Axis::What::RawLow: return axis.coordinate(attribute.trimmed.lo);
        case Axis::What::RawHigh: return ~axis.coordinate(attribute.trimmed.hi);
        case Axis::What::TrimmedLow: return ~axis.coordinate(attribute.raw.lo);
        case Axis::What::TrimmedHigh: return axis.coordinate(attribute.raw.hi);
        case Axis::What::HolesFrom: return holes.empty() ? ~0ULL : axis.coordinate(holes.front());
        case Axis::What::HolesTo: return holes.empty() ? ~0ULL : ~axis.coordinate(holes.back());
        case Axis::What::EndFrom: return ~Axis::ending(suffix);
        default: return last_ending(suffix);
    }
}

// The bits that a text must have to contain the attribute's longest substring.
[[nodiscard]] inline std::uint64_t marks_of(const Attribute& attribute) noexcept {
    if (attribute.parts.empty()) return 0;
    const std::string_view part = attribute.parts.front();
    return Axis::windows(part, part.size() >= Axis::LONG_WINDOW ? Axis::LONG_WINDOW : Axis::SHORT_WINDOW);
}

// A covering filter's hole must be none of the values.
[[nodiscard]] inline Apart apart_of(const Axis& axis, const Attribute& attribute) {
    if (attribute.patterned()) return {};
    // Of texts, different positions may have one coordinate: the ends are taken in.
    const std::uint64_t margin = attribute.type == Type::String ? 1 : 0;
    const std::uint64_t low = axis.coordinate(attribute.trimmed.lo), high = axis.coordinate(attribute.trimmed.hi);
    if (low > ~margin || high < margin || low + margin > high - margin) return {};
    Apart out{low + margin, high - margin, {}};
    for (const Position& hole : attribute.holes) out.points.push_back(axis.coordinate(hole));
    return out;
}

}  // namespace detail

// What is to be searched for to find those that cover `form`, or are covered by it, by the sort of the axes.
inline void put_wanted(Wanted& out, std::span<const Axis> axes, const Form& form) {
    out.clear();
    for (const Axis& axis : axes) {
        const bool whole = axis.what == Axis::What::Size;
        const Attribute* attribute = whole ? nullptr : attribute_of(form, axis.key, axis.name);
        if (axis.what == Axis::What::FirstHole) {
            out.apart.push_back(attribute == nullptr ? Apart{} : detail::apart_of(axis, *attribute));
        } else if (axis.what == Axis::What::Windows) {
            out.marks.push_back(attribute == nullptr ? 0 : detail::marks_of(*attribute));
        } else if (whole) {
            out.most.push_back(~(std::uint64_t{form.attributes.size()} + 1));
        } else {
            out.most.push_back(attribute == nullptr ? ~std::uint64_t{0} : detail::bound_of(axis, *attribute));
        }
    }
}

[[nodiscard]] inline Sorts sorts_of(std::span<const Axis> axes) noexcept {
    const auto count = [&](Axis::What what) {
        const auto same = [&](const Axis& axis) { return axis.what == what; };
        return static_cast<std::size_t>(std::count_if(axes.begin(), axes.end(), same));
    };
    const std::size_t apart = count(Axis::What::FirstHole), marks = count(Axis::What::Windows);
    return {axes.size() - apart - marks, apart, marks};
}

// The axes of a filter that is to be found by those that it covers: ranges first, then holes.
[[nodiscard]] inline std::vector<Axis> covering_axes(const Form& form) {
    std::vector<Axis> out, holes;
    for (const Attribute& each : form.attributes) {
        if (each.single) continue;
        const std::string name(each.name);
        out.push_back({each.key, name, Axis::What::RawLow, {}});
        out.push_back({each.key, name, Axis::What::RawHigh, {}});
        if (!each.holes.empty()) holes.push_back({each.key, name, Axis::What::FirstHole, {}});
    }
    out.insert(out.end(), holes.begin(), holes.end());
    return out;
}

namespace detail {

inline void put_axes(std::vector<Axis>& out, const Attribute& attribute, std::initializer_list<Axis::What> whats) {
    for (const auto what : whats) out.push_back({attribute.key, std::string(attribute.name), what, {}});
    if (attribute.type != Type::String) return;
    for (const auto what : {Axis::What::EndFrom, Axis::What::EndTo}) {
        out.push_back({attribute.key, std::string(attribute.name), what, {}});
    }
}

}  // namespace detail

// The axes of filters that are to be found, by one of their attributes, by what covers them and has fewer.
[[nodiscard]] inline std::vector<Axis> axes_by_attribute(const Attribute& attribute) {
    std::vector<Axis> out{{0, {}, Axis::What::Size, {}}};
    detail::put_axes(out, attribute, {Axis::What::TrimmedLow, Axis::What::TrimmedHigh});
    if (attribute.type == Type::String) {
        out.push_back({attribute.key, std::string(attribute.name), Axis::What::Windows, {}});
    }
    return out;
}

// The axes of filters that are to be found by what covers them and has the same attributes.
[[nodiscard]] inline std::vector<Axis> axes_by_all_attributes(const Form& form) {
    constexpr std::size_t most = 16;
    std::vector<Axis> out, marks;
    for (const Attribute& each : std::span(form.attributes).first(std::min(most, form.attributes.size()))) {
        using enum Axis::What;
        detail::put_axes(out, each, {TrimmedLow, TrimmedHigh, HolesFrom, HolesTo});
        if (each.type == Type::String) marks.push_back({each.key, std::string(each.name), Windows, {}});
    }
    out.insert(out.end(), marks.begin(), marks.end());
    return out;
}

}  // namespace cbn::cover
