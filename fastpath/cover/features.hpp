// What a filter must have to be covered: hashes by which an index finds the filters that may cover it.
//
// If g covers f, then every feature that g demands is among those that f offers; the converse need not hold, and
// hashes may collide: who uses features must still ask `covers`.
#pragma once

#include "cover/form.hpp"

namespace cbn::cover {

using Feature = std::uint64_t;

// Of a longer prefix or suffix, so much of it is demanded.
inline constexpr std::size_t AFFIX_MAX = 255;
// Of a substring, the longest of these windows that fits in it is demanded.
inline constexpr std::size_t WINDOWS[] = {16, 8, 4, 2, 1};

namespace detail {

enum class Kind : std::uint64_t { Present = 1, Value, Start, Suffix, Window, Holes };

[[nodiscard]] inline Feature feature(const Attribute& attribute, Kind kind, std::uint64_t content = 0) noexcept {
    return mixed(mixed(attribute.key + static_cast<std::uint64_t>(kind) * 0xD6E8'FEB8'6659'FD93) ^ content) | 1;
}

[[nodiscard]] inline std::uint64_t hashed_from_end(std::string_view text) noexcept {
    std::uint64_t state = HASH_START;
    for (auto at = text.rbegin(); at != text.rend(); ++at) state = hashed(state, *at);
    return state;
}

[[nodiscard]] inline std::uint64_t value_hash(const Attribute& attribute) noexcept {
    return attribute.type == Type::String ? hashed(attribute.trimmed.lo.text) : attribute.trimmed.lo.head;
}

[[nodiscard]] inline std::string_view window_of(std::string_view part) noexcept {
    for (const std::size_t size : WINDOWS) {
        if (part.size() >= size) return part.substr(0, size);
    }
    return part;
}

// What each text offers, by what begins it, ends it, and lies within it.
template <typename Sink>
void offer_starts(const Attribute& attribute, std::string_view text, Sink&& sink) {
    std::uint64_t state = HASH_START;
    for (const char byte : text.substr(0, AFFIX_MAX)) {
        state = hashed(state, byte);
        sink(feature(attribute, Kind::Start, state));
    }
}

template <typename Sink>
void offer_suffixes(const Attribute& attribute, std::string_view text, Sink&& sink) {
    std::uint64_t state = HASH_START;
    for (std::size_t left = text.size(); left > 0 && text.size() - left < AFFIX_MAX; --left) {
        state = hashed(state, text[left - 1]);
        sink(feature(attribute, Kind::Suffix, state));
    }
}

template <typename Sink>
void offer_windows(const Attribute& attribute, std::string_view text, Sink&& sink) {
    for (const std::size_t size : WINDOWS) {
        for (std::size_t at = 0; at + size <= text.size(); ++at) {
            sink(feature(attribute, Kind::Window, hashed(text.substr(at, size))));
        }
    }
}

template <typename Sink>
void demand(const Attribute& attribute, Sink&& sink) {
    if (attribute.single) return sink(feature(attribute, Kind::Value, value_hash(attribute)));
    if (attribute.start.empty()) {
        sink(feature(attribute, Kind::Present));
    } else {
        sink(feature(attribute, Kind::Start, hashed(attribute.start.substr(0, AFFIX_MAX))));
    }
    if (!attribute.suffix.empty()) {
        const std::string_view suffix = attribute.suffix;
        const std::size_t size = std::min(suffix.size(), AFFIX_MAX);
        sink(feature(attribute, Kind::Suffix, hashed_from_end(suffix.substr(suffix.size() - size))));
    }
    if (!attribute.parts.empty()) {
        sink(feature(attribute, Kind::Window, hashed(window_of(attribute.parts.front()))));
    }
    // Says nothing of the covered one, but filters with holes are searched apart from those without.
    if (!attribute.holes.empty()) sink(feature(attribute, Kind::Holes));
}

}  // namespace detail

// What a filter demands of those that it covers.
template <typename Sink>
void demands(const Form& form, Sink&& sink) {
    for (const Attribute& attribute : form.attributes) detail::demand(attribute, sink);
}

// Which kinds of feature an index has ever seen demanded of strings; what nobody demands need not be offered.
struct Demanded {
    bool starts = false, suffixes = false, windows = false;

    void see(const Form& form) noexcept {
        for (const Attribute& each : form.attributes) {
            starts |= !each.single && !each.start.empty();
            suffixes |= !each.suffix.empty();
            windows |= !each.parts.empty();
        }
    }
};

// What a filter offers to those that would cover it.
template <typename Sink>
void offers(const Form& form, const Demanded& demanded, Sink&& sink) {
    for (const Attribute& each : form.attributes) {
        sink(detail::feature(each, detail::Kind::Present));
        sink(detail::feature(each, detail::Kind::Holes));
        if (each.single) sink(detail::feature(each, detail::Kind::Value, detail::value_hash(each)));
        if (each.type != Type::String) continue;
        const std::string_view end = each.single ? each.start : each.suffix;
        if (demanded.starts) detail::offer_starts(each, each.start, sink);
        if (demanded.suffixes) detail::offer_suffixes(each, end, sink);
        if (!demanded.windows) continue;
        detail::offer_windows(each, each.start, sink);
        detail::offer_windows(each, each.suffix, sink);
        for (const std::string_view part : each.parts) detail::offer_windows(each, part, sink);
    }
}

}  // namespace cbn::cover
