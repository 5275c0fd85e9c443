// A filter in normal form: what it lets through of each attribute.
//
// On numbers, times and booleans, and on strings without suffix and substring patterns, the form is exact: two
// conjunctions that say the same have the same form. With such patterns it may be too wide and is never too narrow.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "cover/position.hpp"

namespace cbn::cover {

// Beyond so many, substrings are no longer held against each other to find those that others contain.
inline constexpr std::size_t PARTS_COMPARED = 256;
// A range's low end is moved over strings that only a pattern excludes until it ends in so many NULs: none may come.
inline constexpr std::size_t NULS_TRIED = 4;

// In linear time, which std::string_view::find is not.
[[nodiscard]] inline bool contains(std::string_view whole, std::string_view part) noexcept {
    if (part.empty()) return true;
    if (part.size() >= whole.size()) return part == whole;
    return memmem(whole.data(), whole.size(), part.data(), part.size()) != nullptr;
}

struct Attribute {
    std::string_view name{};
    Type type = Type::String;
    bool single = false;    // one value is left, trimmed.lo; patterns and holes are then forgotten
    std::uint64_t key = 0;  // a hash of name and type
    Span raw{};             // as the constraints say
    Span trimmed{};         // with the ends moved inward over what holes and patterns exclude
    std::vector<Position> holes{};
    std::string_view start{};  // what all values begin with
    std::string_view suffix{};
    // Substrings that nothing else in `raw` ensures: first the `telling` ones, which `start` does not ensure either.
    // The longest first among these, and among the others.
    std::vector<std::string_view> parts{};
    std::size_t telling = 0;

    [[nodiscard]] bool patterned() const noexcept { return !suffix.empty() || !parts.empty(); }
    [[nodiscard]] bool hole(const Position& at) const noexcept {
        return std::binary_search(holes.begin(), holes.end(), at);
    }
    [[nodiscard]] bool fits(std::string_view value) const noexcept {
        return value.ends_with(suffix) &&
               std::all_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(value, part); });
    }
    // Whether the constraints let this value through. Exact.
    [[nodiscard]] bool member(const Position& at) const noexcept {
        return raw.holds(type, at) && !hole(at) && (!patterned() || fits(at.text));
    }
    // Whether a string that this lets through surely contains the part.
    [[nodiscard]] bool ensures(std::string_view part) const noexcept {
        return contains(suffix, part) || contains(start, part) ||
               std::any_of(parts.begin(), parts.end(), [&](std::string_view own) { return contains(own, part); });
    }
};

// The filter's attributes by ascending (key, name, type). The views point into the encoded filter and into `own`.
struct Form {
    std::vector<Attribute> attributes{};
    bool contradictory = false;  // matches nothing; the attributes then mean nothing
    Own own{};
};

namespace detail {

[[nodiscard]] inline std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits = (bits ^ bits >> 32) * 0x9E37'79B9'7F4A'7C15;
    return bits ^ bits >> 29;
}

inline constexpr std::uint64_t HASH_START = 0xCBF2'9CE4'8422'2325;

[[nodiscard]] inline std::uint64_t hashed(std::uint64_t state, char byte) noexcept {
    return (state ^ static_cast<std::uint8_t>(byte)) * 0x100'0000'01B3;
}

[[nodiscard]] inline std::uint64_t hashed(std::string_view text) noexcept {
    std::uint64_t state = HASH_START;
    for (const char byte : text) state = hashed(state, byte);
    return state;
}

// Attributes of one name lie next to each other, whatever their types.
[[nodiscard]] inline std::uint64_t key_of(std::string_view name, Type type) noexcept {
    return (mixed(hashed(name)) & ~7ULL) | static_cast<std::uint64_t>(type);
}

struct Grouped {
    std::uint64_t key = 0;
    ConstraintView constraint{};

    [[nodiscard]] auto order() const noexcept {
        return std::make_tuple(key & ~7ULL, constraint.name, constraint.value.type);
    }
    [[nodiscard]] bool same(const Grouped& other) const noexcept {
        return key == other.key && constraint.name == other.constraint.name;
    }
};

// The longest suffix stays; false if two cannot both be.
[[nodiscard]] inline bool add_suffix(Attribute& attribute, std::string_view suffix) noexcept {
    const bool longer = suffix.size() > attribute.suffix.size();
    const std::string_view wide = longer ? attribute.suffix : suffix;
    if (longer) attribute.suffix = suffix;
    return attribute.suffix.ends_with(wide);
}

[[nodiscard]] inline bool narrow(Attribute& attribute, const ConstraintView& constraint, Own& own) {
    const Span span = span_of(constraint, own);
    attribute.raw.lo = std::max(attribute.raw.lo, span.lo);
    attribute.raw.hi = std::min(attribute.raw.hi, span.hi);
    if (constraint.op == Op::Ne) attribute.holes.push_back(position_of(constraint.value));
    if (constraint.op == Op::Suffix) return add_suffix(attribute, constraint.value.text);
    if (constraint.op == Op::Substring && !constraint.value.text.empty()) {
        attribute.parts.push_back(constraint.value.text);
    }
    return true;
}

inline void trim_numbers(Attribute& attribute) noexcept {
    Span& span = attribute.trimmed;
    const auto& holes = attribute.holes;
    for (auto at = holes.begin(); at != holes.end() && span.lo < span.hi && *at == span.lo; ++at) ++span.lo.head;
    for (auto at = holes.rbegin(); at != holes.rend() && span.lo < span.hi && *at == span.hi; ++at) --span.hi.head;
    if (span.lo == span.hi && attribute.hole(span.lo)) span = {{1}, {0}};
}

// The string before the end of a span, if there is one: "a" before "a\0", none before "b".
[[nodiscard]] inline bool last_before(const Position& end, Position& last) noexcept {
    if (!end.text.ends_with('\0')) return false;
    last = Position::of(end.text.substr(0, end.text.size() - 1));
    return true;
}

[[nodiscard]] inline std::size_t trailing_nuls(std::string_view text) noexcept {
    const std::size_t last = text.find_last_not_of('\0');
    return text.size() - (last == text.npos ? 0 : last + 1);
}

inline void trim_texts(Attribute& attribute, Own& own) {
    Span& span = attribute.trimmed;
    const auto excluded = [&](const Position& at) {
        if (attribute.hole(at)) return true;
        return attribute.patterned() && trailing_nuls(at.text) < NULS_TRIED && !attribute.fits(at.text);
    };
    for (Position last; span.lo < span.hi && last_before(span.hi, last) && excluded(last);) span.hi = last;
    while (span.lo < span.hi && excluded(span.lo)) span.lo = next(own, span.lo);
}

// Keeps of the substrings those that say something new. What the trimmed range ensures may be new: it may have been
// trimmed for the substring's sake.
inline void thin_parts(Attribute& attribute) {
    std::vector<std::string_view> parts;
    parts.swap(attribute.parts);
    if (parts.empty()) return;
    std::sort(parts.begin(), parts.end(), [](std::string_view a, std::string_view b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    const std::string_view start = attribute.start;
    attribute.start = common_start(attribute.raw);
    for (const std::string_view part : parts) {
        const bool compared = attribute.parts.size() <= PARTS_COMPARED;
        if (!compared || !attribute.ensures(part)) attribute.parts.push_back(part);
    }
    attribute.start = start;
    const auto others = std::stable_partition(attribute.parts.begin(), attribute.parts.end(),
                                              [&](std::string_view part) { return !contains(start, part); });
    attribute.telling = static_cast<std::size_t>(others - attribute.parts.begin());
}

inline void thin_holes(Attribute& attribute, const Span& span) {
    const bool patterned = attribute.patterned();
    std::erase_if(attribute.holes, [&](const Position& at) {
        return !span.holds(attribute.type, at) || (patterned && !attribute.fits(at.text));
    });
}

// False if nothing is let through.
[[nodiscard]] inline bool settle(Attribute& attribute, Own& own) {
    if (attribute.raw.vacant(attribute.type)) return false;
    auto& holes = attribute.holes;
    std::sort(holes.begin(), holes.end());
    holes.erase(std::unique(holes.begin(), holes.end()), holes.end());
    thin_holes(attribute, attribute.raw);
    attribute.trimmed = attribute.raw;
    const bool text = attribute.type == Type::String;
    if (text) {
        trim_texts(attribute, own);
    } else {
        trim_numbers(attribute);
    }
    if (attribute.trimmed.vacant(attribute.type)) return false;
    attribute.single = attribute.trimmed.single(attribute.type);
    if (attribute.single) {
        if (attribute.patterned() && !attribute.fits(attribute.trimmed.lo.text)) return false;
        attribute.suffix = {};
        attribute.parts.clear();
    }
    if (attribute.single || !attribute.patterned()) attribute.raw = attribute.trimmed;
    if (attribute.single) holes.clear();
    thin_holes(attribute, attribute.raw);
    if (text) attribute.start = attribute.single ? attribute.trimmed.lo.text : common_start(attribute.trimmed);
    thin_parts(attribute);
    return true;
}

[[nodiscard]] inline bool add_group(Form& form, std::span<const Grouped> group) {
    const ConstraintView& first = group.front().constraint;
    Attribute& attribute = form.attributes.emplace_back();
    attribute.name = first.name;
    attribute.type = first.value.type;
    attribute.key = group.front().key;
    attribute.raw = everything(attribute.type);
    for (const Grouped& each : group) {
        if (!narrow(attribute, each.constraint, form.own)) return false;
    }
    return settle(attribute, form.own);
}

}  // namespace detail

// Constraints on the way into a form, of one filter or of several that must all hold.
class FormBuilder {
  public:
    [[nodiscard]] Status add(Bytes filter) {
        wire::ConstraintCursor cursor(filter);
        for (ConstraintView each; cursor.next(each);) {
            constraints_.push_back({detail::key_of(each.name, each.value.type), each});
        }
        if (cursor.status().ok() && cursor.size() != filter.size()) {
            return {wire::Fault::LeftOver, "filter", cursor.size()};
        }
        return cursor.status();
    }

    void finish(Form& form) {
        std::stable_sort(constraints_.begin(), constraints_.end(),
                         [](const auto& a, const auto& b) { return a.order() < b.order(); });
        for (std::size_t from = 0, to; from < constraints_.size() && !form.contradictory; from = to) {
            for (to = from + 1; to < constraints_.size() && constraints_[to].same(constraints_[from]);) ++to;
            form.contradictory = two_types(form, constraints_[from].constraint.name) ||
                                 !detail::add_group(form, std::span(constraints_).subspan(from, to - from));
        }
        constraints_.clear();
    }

  private:
    // A name occurs once in a message, with one type (M1).
    [[nodiscard]] static bool two_types(const Form& form, std::string_view name) noexcept {
        return !form.attributes.empty() && form.attributes.back().name == name;
    }

    std::vector<detail::Grouped> constraints_;
};

[[nodiscard]] inline Status read_form(Bytes filter, Form& form) {
    FormBuilder builder;
    const Status status = builder.add(filter);
    if (status.ok()) builder.finish(form);
    return status;
}

}  // namespace cbn::cover
