// Writing the wire format: what codec.pyx calls once it has looked at its Python values.
//
// The values have been checked by the caller; here they become bytes in canonical order. Reading is in
// wire/wire.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "wire/wire.hpp"

namespace cbn::wire {

template <std::unsigned_integral T>
inline void put(std::string& out, T value) {
    const std::size_t at = out.size();
    out.resize(at + sizeof value);
    store<T>(reinterpret_cast<std::uint8_t*>(out.data()) + at, value);
}
inline void put_u8(std::string& out, std::uint8_t value) { put(out, value); }
inline void put_u16(std::string& out, std::uint16_t value) { put(out, value); }
inline void put_u32(std::string& out, std::uint32_t value) { put(out, value); }
inline void put_u64(std::string& out, std::uint64_t value) { put(out, value); }

inline void put_text(std::string& out, std::string_view text) { out.append(text); }
inline void put_name(std::string& out, std::string_view name) {
    put_u8(out, static_cast<std::uint8_t>(name.size()));
    out.append(name);
}
inline void put_string_value(std::string& out, std::string_view text) {
    put_u16(out, static_cast<std::uint16_t>(text.size()));
    out.append(text);
}
inline void put_float_value(std::string& out, double value) {
    // -0.0 and 0.0 are one value and have one encoding.
    put_u64(out, std::bit_cast<std::uint64_t>(value == 0.0 ? 0.0 : value));
}

// The common header and the flags; `seal` fills in the length.
inline void begin_packet(std::string& out, std::uint8_t type, std::uint8_t flags) {
    put_u8(out, VERSION);
    put_u8(out, type);
    put_u16(out, 0);
    put_u8(out, flags);
}

inline void put_trailer(std::string& out, std::string_view tag, std::uint16_t key_id, std::uint8_t algorithm) {
    out.append(tag);
    put_u16(out, key_id);
    put_u8(out, algorithm);
    put_u8(out, static_cast<std::uint8_t>(tag.size()));
}

inline void patch_u16(std::string& out, std::size_t at, std::uint16_t value) {
    store<std::uint16_t>(reinterpret_cast<std::uint8_t*>(out.data()) + at, value);
}

// A whole CONTROL or ACK without a trailer, if it is not too long to say. There must be room for it.
inline void write_session(std::uint8_t* at, PacketType type, const ControlView& said) noexcept {
    at[0] = VERSION;
    at[1] = static_cast<std::uint8_t>(type);
    store<std::uint16_t>(at + 2, static_cast<std::uint16_t>(CONTROL_SIZE + said.fragment.size()));
    at[4] = said.flags;
    at[5] = said.kind;
    store<std::uint16_t>(at + 6, said.window);
    store<std::uint64_t>(at + 8, said.incarnation);
    store<std::uint64_t>(at + 16, said.peer_incarnation);
    store<std::uint32_t>(at + 24, said.sequence);
    store<std::uint32_t>(at + 28, said.ack);
    std::copy(said.fragment.begin(), said.fragment.end(), at + CONTROL_SIZE);
}

// Writes the packet's length into it; false if it is too long to say.
[[nodiscard]] inline bool seal(std::string& out) {
    if (out.size() > MAX_PACKET) return false;
    patch_u16(out, 2, static_cast<std::uint16_t>(out.size()));
    return true;
}

// (name, encoded attribute)
using Named = std::pair<std::string, std::string>;

// Appends the attributes by ascending name. A name that occurs twice is returned, else nullptr.
[[nodiscard]] inline const std::string* put_sorted(std::string& out, std::vector<Named>& attributes) {
    std::sort(attributes.begin(), attributes.end());
    const auto twice = std::adjacent_find(attributes.begin(), attributes.end(),
                                          [](const Named& a, const Named& b) { return a.first == b.first; });
    if (twice != attributes.end()) return &twice->first;
    for (const Named& attribute : attributes) out.append(attribute.second);
    return nullptr;
}

// Makes a set of encoded constraints or filters: ascending, none twice.
inline void make_set(std::vector<std::string>& members) {
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
}

inline void put_all(std::string& out, const std::vector<std::string>& members) {
    for (const std::string& member : members) out.append(member);
}

}  // namespace cbn::wire
