// From a frame to the UDP datagram in it: link layer, IP, UDP. What CBN packets are is not known here but for
// the port, and for telling a super-datagram from padding.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "pcap/file.hpp"
#include "pcap/format.hpp"
#include "wire/wire.hpp"

namespace cbn::pcap {

// Why something is not in the table. Names in SKIP_NAMES, in this order.
enum class Skip : std::uint8_t {
    None, TruncatedFile, Truncated, NotCbn, Fragments, BadFrame, Malformed, BadChecksum,
    DamagedFile, BadBlock, Untimed, UnknownBlock, UnknownLink, Foreign
};
inline constexpr std::array<const char*, 14> SKIP_NAMES{
    "", "truncated_file", "truncated", "not_cbn", "ip_fragments", "bad_frame", "malformed", "bad_checksum",
    "damaged_file", "bad_block", "untimed", "unknown_block", "unknown_link", "foreign"};

// Foreign: between two others than the two ends of the link.
enum class Direction : std::uint8_t { Unknown, Received, Sent, Foreign };

inline constexpr std::uint16_t ETHERTYPE_IPV4 = 0x0800;
inline constexpr std::uint16_t ETHERTYPE_IPV6 = 0x86DD;
inline constexpr std::uint8_t PROTOCOL_UDP = 17;

using Mac = std::array<std::uint8_t, 6>;

// The addresses of a link, as far as they are known: that of the capturing interface, and that of the other end.
struct Ends {
    const Mac* own = nullptr;
    const Mac* peer = nullptr;
};

struct Link {
    std::uint16_t ethertype = 0;
    Direction direction = Direction::Unknown;
    Slice rest{};
};

// One piece of a fragmented datagram, or all of one that is not.
struct Network {
    Slice payload{};               // to the end of the frame, padding included
    std::size_t declared = 0;      // bytes of payload as the IP header has it
    bool fragment = false;
    bool more = false;             // fragments to come
    std::size_t offset = 0;        // of a fragment, in bytes
    wire::Bytes source{};
    wire::Bytes target{};
    std::uint32_t identification = 0;
};

namespace detail {

inline std::uint16_t u16(wire::Bytes bytes, std::size_t at) noexcept {
    return wire::load<std::uint16_t>(bytes.data() + at);
}

// A header that is not there: because it was not captured, or because the frame is too short for it.
inline Skip missing(const Slice& slice, std::size_t bytes) noexcept {
    return slice.original >= bytes ? Skip::Truncated : Skip::BadFrame;
}

// The source says it. If that is neither end's, a bit of it may have been damaged, and the destination says it.
inline Direction direction_of(wire::Bytes frame, const Ends& ends) noexcept {
    const auto has = [&](std::size_t at, const Mac& mac) {
        return std::memcmp(frame.data() + at, mac.data(), mac.size()) == 0;
    };
    constexpr std::size_t source = 6, destination = 0;
    if (has(source, *ends.own)) return Direction::Sent;
    if (ends.peer == nullptr || has(source, *ends.peer)) return Direction::Received;
    if (has(destination, *ends.own)) return Direction::Received;
    return has(destination, *ends.peer) ? Direction::Sent : Direction::Foreign;
}

// What the link layer says is in the frame, at `type_at`, and where that begins: behind VLAN tags, also stacked.
inline Skip read_tags(const Slice& frame, std::size_t type_at, std::size_t begin, Link& link) noexcept {
    constexpr std::size_t tag = 4;
    link.ethertype = u16(frame.captured, type_at);
    for (; link.ethertype == 0x8100 || link.ethertype == 0x88A8; begin += tag) {
        if (!frame.has(begin + tag)) return missing(frame, begin + tag);
        link.ethertype = u16(frame.captured, begin + 2);
    }
    link.rest = frame.from(begin);
    return Skip::None;
}

inline Skip read_ethernet(const Slice& frame, const Ends& ends, Link& link) noexcept {
    constexpr std::size_t header = 14;
    if (!frame.has(header)) return missing(frame, header);
    if (ends.own != nullptr) link.direction = direction_of(frame.captured, ends);
    return read_tags(frame, 12, header, link);
}

inline Skip read_sll(const Slice& frame, Link& link) noexcept {
    constexpr std::size_t header = 16, kind_at = 0, type_at = 14;
    constexpr std::uint16_t outgoing = 4;
    if (!frame.has(header)) return missing(frame, header);
    link.direction = u16(frame.captured, kind_at) == outgoing ? Direction::Sent : Direction::Received;
    return read_tags(frame, type_at, header, link);
}

inline Skip read_sll2(const Slice& frame, Link& link) noexcept {
    constexpr std::size_t header = 20, kind_at = 10;
    constexpr std::uint8_t outgoing = 4;
    if (!frame.has(header)) return missing(frame, header);
    link.direction = frame.captured[kind_at] == outgoing ? Direction::Sent : Direction::Received;
    return read_tags(frame, 0, header, link);
}

// The address family, of which each system has its own number for IPv6; NULL has it in either order.
inline Skip read_loopback(std::uint32_t link_type, const Slice& frame, Link& link) noexcept {
    constexpr std::size_t header = 4;
    if (!frame.has(header)) return missing(frame, header);
    const auto said = wire::load<std::uint32_t>(frame.captured.data());
    const std::uint32_t family = link_type == LINK_NULL && said > 0xFFFF ? __builtin_bswap32(said) : said;
    constexpr std::uint32_t inet = 2, netbsd = 24, freebsd = 28, darwin = 30, linux = 10;
    const bool v6 = family == netbsd || family == freebsd || family == darwin || family == linux;
    link.ethertype = family == inet ? ETHERTYPE_IPV4 : v6 ? ETHERTYPE_IPV6 : 0;
    link.rest = frame.from(header);
    return Skip::None;
}

inline Skip read_raw(const Slice& frame, Link& link) noexcept {
    if (!frame.has(1)) return missing(frame, 1);
    const unsigned version = frame.captured[0] >> 4;
    link.ethertype = version == 4 ? ETHERTYPE_IPV4 : version == 6 ? ETHERTYPE_IPV6 : 0;
    link.rest = frame;
    return Skip::None;
}

inline Skip read_ipv4(const Slice& packet, Network& out) noexcept {
    constexpr std::size_t least = 20;
    if (!packet.has(least)) return missing(packet, least);
    const std::size_t header = std::size_t{4} * (packet.captured[0] & 0x0F);
    if (packet.captured[0] >> 4 != 4 || header < least) return Skip::BadFrame;
    if (packet.captured[9] != PROTOCOL_UDP) return Skip::NotCbn;
    if (!packet.has(header)) return missing(packet, header);
    const std::size_t total = u16(packet.captured, 2);
    if (total != 0 && total < header) return Skip::BadFrame;
    out.payload = packet.from(header);
    out.declared = total == 0 ? out.payload.original : total - header;  // 0: larger than the field can say
    const unsigned flags = u16(packet.captured, 6);
    out.more = (flags & 0x2000) != 0;
    out.offset = std::size_t{8} * (flags & 0x1FFF);
    out.fragment = out.more || out.offset != 0;
    out.identification = u16(packet.captured, 4);
    out.source = packet.captured.subspan(12, 4);
    out.target = packet.captured.subspan(16, 4);
    return Skip::None;
}

// Extension headers up to UDP; a fragment's own header is noted on the way.
inline Skip read_ipv6(const Slice& packet, Network& out) noexcept {
    constexpr std::size_t header = 40;
    if (!packet.has(header)) return missing(packet, header);
    if (packet.captured[0] >> 4 != 6) return Skip::BadFrame;
    const std::size_t length = u16(packet.captured, 4);
    const std::size_t end = length == 0 ? packet.original : header + length;
    out.source = packet.captured.subspan(8, 16);
    out.target = packet.captured.subspan(24, 16);
    std::uint8_t next = packet.captured[6];
    std::size_t at = header;
    while (next != PROTOCOL_UDP) {
        constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment = 44, options = 60;
        if (next != hop_by_hop && next != routing && next != fragment && next != options) return Skip::NotCbn;
        if (!packet.has(at + 8)) return missing(packet, at + 8);
        if (next == fragment) {
            const unsigned place = u16(packet.captured, at + 2);
            out.fragment = place != 0 && (place & 0xFFF9) != 0;
            out.more = (place & 1) != 0;
            out.offset = place & 0xFFF8;
            out.identification = wire::load<std::uint32_t>(packet.captured.data() + at + 4);
        }
        const std::size_t size = next == fragment ? 8 : std::size_t{8} * (packet.captured[at + 1] + 1U);
        next = packet.captured[at];
        at += size;
        if (out.fragment && out.offset != 0) break;  // what follows is the middle of a datagram, no header
    }
    if (!packet.has(at)) return missing(packet, at);
    if (end < at) return Skip::BadFrame;
    out.payload = packet.from(at);
    out.declared = end - at;
    return out.fragment && out.offset != 0 && next != PROTOCOL_UDP ? Skip::NotCbn : Skip::None;
}

}  // namespace detail

[[nodiscard]] inline Skip read_link(std::uint32_t link_type, const Slice& frame, const Ends& ends,
                                    Link& link) noexcept {
    switch (link_type) {
        case LINK_ETHERNET: return detail::read_ethernet(frame, ends, link);
        case LINK_SLL: return detail::read_sll(frame, link);
        case LINK_SLL2: return detail::read_sll2(frame, link);
        case LINK_NULL:
        case LINK_LOOP: return detail::read_loopback(link_type, frame, link);
        case LINK_IPV4:
        case LINK_IPV6:
        case LINK_RAW: return detail::read_raw(frame, link);
        default: return Skip::UnknownLink;
    }
}

[[nodiscard]] inline Skip read_network(const Link& link, Network& network) noexcept {
    if (link.ethertype == ETHERTYPE_IPV4) return detail::read_ipv4(link.rest, network);
    if (link.ethertype == ETHERTYPE_IPV6) return detail::read_ipv6(link.rest, network);
    return Skip::NotCbn;
}

namespace detail {

// The one's complement sum of 16-bit words (RFC 1071), folded.
inline std::uint32_t words_sum(wire::Bytes bytes, std::uint32_t sum = 0) noexcept {
    std::uint64_t wide = sum;
    std::size_t at = 0;
    for (; at + 4 <= bytes.size(); at += 4) wide += wire::load<std::uint32_t>(bytes.data() + at);
    if (at + 2 <= bytes.size()) {
        wide += u16(bytes, at);
        at += 2;
    }
    if (at < bytes.size()) wide += static_cast<std::uint32_t>(bytes[at]) << 8;
    while (wide >> 16 != 0) wide = (wide & 0xFFFF) + (wide >> 16);
    return static_cast<std::uint32_t>(wide);
}

// Whether the kernel that receives a whole datagram would drop it as damaged. What leaves a host that lets its
// device do the sum has that of the pseudo-header alone, and none is 0.
inline bool checksum_wrong(const Network& network, wire::Bytes datagram) noexcept {
    const std::uint32_t said = u16(datagram, 6);
    if (said == 0) return false;
    const auto length = static_cast<std::uint32_t>(datagram.size());
    const std::uint32_t start = words_sum(network.target, PROTOCOL_UDP + (length >> 16) + (length & 0xFFFF));
    const std::uint32_t pseudo = words_sum(network.source, start);
    return said != pseudo && words_sum(datagram, pseudo) != 0xFFFF;
}

}  // namespace detail

// The payload of a UDP datagram for our port. `udp` reaches to the frame's end: what lies beyond the length in
// the UDP header is padding, unless with it everything is one well-framed super-datagram (segmentation offload
// leaves such lengths behind).
[[nodiscard]] inline Skip read_udp(const Network& network, const Slice& udp, Slice& payload) noexcept {
    constexpr std::size_t header = 8;
    if (!udp.has(header)) return detail::missing(udp, header);
    const bool ours = detail::u16(udp.captured, 0) == wire::PORT || detail::u16(udp.captured, 2) == wire::PORT;
    if (!ours) return Skip::NotCbn;
    const std::size_t length = detail::u16(udp.captured, 4);
    const Slice all = udp.from(header);
    if (length != 0 && (length < header || length - header > all.original)) return Skip::BadFrame;
    const Slice said = length == 0 ? all : all.first(length - header);
    const bool beyond = said.original < all.original && !all.cut();
    payload = beyond && wire::check_framing(all.captured).ok() ? all : said;
    const bool judged = length != 0 && !said.cut() && payload.original == said.original;
    if (judged && detail::checksum_wrong(network, udp.captured.first(length))) return Skip::BadChecksum;
    return Skip::None;
}

}  // namespace cbn::pcap
