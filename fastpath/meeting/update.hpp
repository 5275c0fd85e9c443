// CD_UPDATE as bytes (docs/wire-format.md, kind 27): `DescriptorUpdate` of nodes/wire/matchmaker_payloads.py.
#pragma once

#include <string>
#include <string_view>

#include "meeting/filters.hpp"
#include "meeting/key.hpp"
#include "wire/codec.hpp"

namespace cbn::meeting {

inline constexpr std::uint8_t WITHDRAWN = 1, AGAIN = 2, KEPT = 4;

// One thing that a neighbour tells, or is told.
struct Update {
    Key key{};
    FilterRef filter{};
    std::uint8_t flags = 0;

    friend bool operator==(const Update&, const Update&) = default;
};

inline void write(const Update& update, std::string& out) {
    wire::put_u8(out, update.flags);
    wire::put_u32(out, update.key.publisher);
    wire::put_u64(out, update.key.pcd);
    wire::put_u32(out, update.key.subscriber);
    wire::put_u64(out, update.key.scd);
    wire::put_u32(out, update.filter ? 1 : 0);
    if (update.filter) out += update.filter->bytes();
}

// False if it is malformed; then the reading in Python says why.
[[nodiscard]] inline bool read(wire::Bytes payload, Update& out) {
    constexpr std::size_t HEAD = 25, FILTER_AT = HEAD + 4;
    if (payload.size() < FILTER_AT) return false;
    out.flags = payload[0];
    out.key = {wire::load<std::uint32_t>(payload.data() + 1), wire::load<std::uint64_t>(payload.data() + 5),
               wire::load<std::uint32_t>(payload.data() + 13), wire::load<std::uint64_t>(payload.data() + 17)};
    const Key& key = out.key;
    const bool withdrawn = (out.flags & WITHDRAWN) != 0;
    if (out.flags != 0 && out.flags != WITHDRAWN && out.flags != AGAIN && out.flags != (WITHDRAWN | KEPT)) return false;
    if ((key.publisher == 0 && key.pcd != 0) || (key.subscriber == 0 && key.scd != 0)) return false;
    if (key.publisher == 0 && key.subscriber == 0) return false;
    const std::uint32_t filters = wire::load<std::uint32_t>(payload.data() + HEAD);
    if (filters == 0) {
        out.filter = {};
        // What a subscriber wants has a filter, unless it is withdrawn.
        return payload.size() == FILTER_AT && (withdrawn || key.subscriber == 0);
    }
    if (filters > 1 || withdrawn) return false;
    const wire::Bytes filter = payload.subspan(FILTER_AT);
    out.filter = FilterRef::find(wire::as_text(filter));
    if (out.filter) return true;
    if (!wire::validate_filter(filter).ok()) return false;
    out.filter = FilterRef::of(wire::as_text(filter));
    return true;
}

}  // namespace cbn::meeting
