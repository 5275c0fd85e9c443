// One walk over a message's attributes that checks all that wire/wire.hpp checks, and is quick about it.
#pragma once

#include <cstdint>
#include <string_view>

#include "match/text.hpp"
#include "wire/wire.hpp"

namespace cbn::fast {

inline bool plain_text(const char* text, std::size_t size, std::uint64_t head) noexcept {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text);
    std::uint64_t all = head;
    if (size > 8) {
        for (std::size_t at = 8; at + 8 < size; at += 8) all |= wire::load<std::uint64_t>(bytes + at);
        all |= wire::load<std::uint64_t>(bytes + size - 8);
    }
    return (all & 0x8080808080808080U) == 0 || wire::valid_utf8({bytes, size});
}

// Calls sink.text(name, head, kind, value, head of value) or sink.number(name, head, kind, bits) for each
// attribute. The sink says whether it knew the name: a known name has been checked before. False if the
// section is not as the wire format says; wire::AttributeCursor says in which way.
template <class Sink>
bool walk_attributes(wire::Bytes section, std::uint32_t count, Sink&& sink) {
    const auto* at = reinterpret_cast<const char*>(section.data());
    const char* const end = at + section.size();
    const auto left = [&] { return static_cast<std::size_t>(end - at); };
    const auto head_at = [&](std::size_t size) { return left() >= 8 ? head_within(at, size) : head_of(at, size); };
    std::string_view last;
    std::uint64_t last_head = 0;
    for (; count > 0; --count) {
        if (left() < 2) return false;
        const auto type = static_cast<std::uint8_t>(at[0]);
        const std::size_t size = static_cast<std::uint8_t>(at[1]);
        at += 2;
        if (size == 0 || left() < size) return false;
        const std::string_view name(at, size);
        const std::uint64_t head = head_at(size);
        if (head <= last_head && (head < last_head || !(last < name))) return false;
        last = name;
        last_head = head;
        at += size;
        const auto kind = static_cast<wire::Type>(type);
        bool known = false;
        if (kind == wire::Type::String) {
            if (left() < 2) return false;
            const std::size_t length = wire::load<std::uint16_t>(reinterpret_cast<const std::uint8_t*>(at));
            at += 2;
            if (left() < length) return false;
            const std::uint64_t value_head = head_at(length);
            if (!plain_text(at, length, value_head)) return false;
            known = sink.text(name, head, std::string_view(at, length), value_head);
            at += length;
        } else if (kind == wire::Type::Integer || kind == wire::Type::Time || kind == wire::Type::Float) {
            if (left() < 8) return false;
            const std::uint64_t bits = wire::load<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(at));
            constexpr std::uint64_t infinity = 0x7FF0000000000000U, sign = std::uint64_t{1} << 63;
            if (kind == wire::Type::Float && ((bits & ~sign) > infinity || bits == sign)) return false;
            known = sink.number(name, head, kind, bits);
            at += 8;
        } else if (kind == wire::Type::Boolean) {
            if (left() < 1 || static_cast<std::uint8_t>(*at) > 1) return false;
            known = sink.number(name, head, kind, static_cast<std::uint8_t>(*at));
            at += 1;
        } else {
            return false;
        }
        if (!known && !plain_text(name.data(), size, head)) return false;
    }
    return left() == 0;
}

}  // namespace cbn::fast
