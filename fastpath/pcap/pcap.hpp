// Captures into columns: one row a CBN packet (docs/run-directory.md, table `packets`), and counts of all that
// was passed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "pcap/blocks.hpp"
#include "pcap/fragments.hpp"
#include "pcap/frame.hpp"
#include "wire/wire.hpp"

namespace cbn::pcap {

// A bitmap as Arrow has it: least significant bit first.
class BitColumn {
  public:
    void push(bool bit) {
        if (size_ % 8 == 0) bytes_.push_back(0);
        if (bit) bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | (1U << (size_ % 8)));
        ++size_;
    }
    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;
};

// A column as the memory it is in.
template <class T>
[[nodiscard]] inline wire::Bytes memory_of(const std::vector<T>& column) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(column.data()), column.size() * sizeof(T)};
}
[[nodiscard]] inline wire::Bytes memory_of(const BitColumn& column) noexcept { return column.bytes(); }

struct Columns {
    std::size_t rows = 0;
    BitColumn sent, has_sent, is_message, is_control, has_attributes;
    std::vector<std::int64_t> time_ns, source, header_class, sequence, publish_time_ns;
    std::vector<std::int32_t> frame_bytes, packet_bytes, type, hop_limit, hop_count, attribute_count, kind;
    std::vector<std::int32_t> attribute_ends{0};  // Arrow's offsets: one more than there are rows
    std::vector<std::uint8_t> attributes;
    std::array<std::uint64_t, SKIP_NAMES.size()> skipped{};
    std::uint64_t records = 0;

    // Room that is not used costs address space alone; moving what is there costs more than decoding it.
    void reserve(std::size_t likely) {
        for (auto* column : {&time_ns, &source, &header_class, &sequence, &publish_time_ns}) column->reserve(likely);
        for (auto* column : {&frame_bytes, &packet_bytes, &type, &hop_limit, &hop_count, &attribute_count, &kind}) {
            column->reserve(likely);
        }
        attribute_ends.reserve(likely + 1);
    }
};

// What the packets of one datagram have in common.
struct Context {
    std::int64_t time_ns = 0;
    std::size_t frame_bytes = 0;
    Direction direction = Direction::Unknown;
};

class Decoder {
  public:
    Decoder(const Mac* own, Columns& columns) : own_(own), out_(columns) {}

    void record(const Record& record) {
        ++out_.records;
        fragment_ = false;
        const Skip skip = frame(record);
        if (skip != Skip::None) ++skipped(skip);
    }

    void finish(const Passed& passed) {
        out_.records += passed.bad_blocks + passed.untimed;
        skipped(Skip::Fragments) += fragments_.lost();
        skipped(Skip::TruncatedFile) += passed.truncated ? 1 : 0;
        skipped(Skip::DamagedFile) += passed.damaged ? 1 : 0;
        skipped(Skip::BadBlock) += passed.bad_blocks;
        skipped(Skip::Untimed) += passed.untimed;
        skipped(Skip::UnknownBlock) += passed.unknown_blocks;
    }

    // Whether the last record was a piece of an IP datagram.
    [[nodiscard]] bool fragment() const noexcept { return fragment_; }

  private:
    std::uint64_t& skipped(Skip skip) { return out_.skipped[static_cast<std::size_t>(skip)]; }

    Skip frame(const Record& record) {
        Context context{record.time_ns, record.frame.original, Direction::Unknown};
        Link link;
        Network network;
        if (const Skip skip = read_link(record.link_type, record.frame, own_, link); skip != Skip::None) return skip;
        if (const Skip skip = read_network(link, network); skip != Skip::None) return skip;
        context.direction = link.direction;
        fragment_ = network.fragment;
        Slice udp = network.payload;
        if (network.fragment &&
            !fragments_.add(network, record.frame.original, link.direction, udp, context.frame_bytes)) {
            return Skip::None;  // counted when it is clear that the others do not come
        }
        Slice payload;
        const Skip skip = read_udp(network, udp, payload);
        return skip != Skip::None ? skip : datagram(payload, context);
    }

    // Framing first, all or nothing, as a router has it; only where the capture was cut are the whole packets
    // at its front taken.
    Skip datagram(const Slice& payload, const Context& context) {
        if (!payload.cut() && !wire::check_framing(payload.captured).ok()) return Skip::Malformed;
        wire::FrameCursor frames(payload.captured);
        for (wire::Frame frame; frames.next(frame);) {
            const wire::Bytes bytes = payload.captured.subspan(frame.offset, frame.length);
            if (!row(bytes, frame.type, context)) ++skipped(Skip::Malformed);
        }
        return payload.cut() ? Skip::Truncated : Skip::None;
    }

    bool row(wire::Bytes packet, wire::PacketType type, const Context& context) {
        const bool is_message = type == wire::PacketType::Message;
        wire::MessageView message;
        if (!(is_message ? wire::validate_message(packet, message) : wire::validate_packet(packet)).ok()) return false;
        common(packet, type, context);
        message_fields(message, is_message);
        const bool is_publication = is_message && context.direction != Direction::Sent && message.hop_count == 0;
        attributes(message.attributes, is_publication);
        const bool is_control = type == wire::PacketType::Control;
        constexpr std::size_t kind_at = 5;
        out_.is_control.push(is_control);
        out_.kind.push_back(is_control ? packet[kind_at] : 0);
        ++out_.rows;
        return true;
    }

    void common(wire::Bytes packet, wire::PacketType type, const Context& context) {
        constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
        out_.has_sent.push(context.direction != Direction::Unknown);
        out_.sent.push(context.direction == Direction::Sent);
        out_.time_ns.push_back(context.time_ns);
        out_.frame_bytes.push_back(static_cast<std::int32_t>(std::min(context.frame_bytes, most)));
        out_.packet_bytes.push_back(static_cast<std::int32_t>(packet.size()));
        out_.type.push_back(static_cast<std::int32_t>(type));
    }

    void message_fields(const wire::MessageView& message, bool present) {
        out_.is_message.push(present);
        out_.source.push_back(message.source);
        out_.header_class.push_back(message.header_class);
        out_.sequence.push_back(static_cast<std::int64_t>(message.sequence));
        out_.publish_time_ns.push_back(static_cast<std::int64_t>(message.publish_time_ns));
        out_.hop_limit.push_back(message.hop_limit);
        out_.hop_count.push_back(message.hop_count);
        out_.attribute_count.push_back(message.attribute_count);
    }

    void attributes(wire::Bytes section, bool present) {
        if (present) out_.attributes.insert(out_.attributes.end(), section.begin(), section.end());
        if (out_.attributes.size() > std::numeric_limits<std::int32_t>::max()) {
            throw std::length_error("more than 2 GB of attributes; decode the file in parts (index_pcap)");
        }
        out_.has_attributes.push(present);
        out_.attribute_ends.push_back(static_cast<std::int32_t>(out_.attributes.size()));
    }

    const Mac* own_;
    Columns& out_;
    bool fragment_ = false;
    Fragments fragments_;
};

// Whether a range can be one of several that together are the file: it begins and ends between two records, none
// of them a fragment of a datagram, and holds nothing that changes how what follows is to be read.
struct Edges {
    bool starts_clean = false;
    bool ends_clean = false;
    bool late = false;
};

template <class Source>
Edges decode(Source& source, const Format& format, std::size_t start, std::size_t end, const Mac* own,
             Columns& columns) {
    constexpr std::size_t likely_bytes = 128, most_rows = 4 << 20;
    const std::size_t last = std::min(end, source.size());
    columns.reserve(std::min((last - std::min(start, last)) / likely_bytes, most_rows));
    return with_cursor(source, format, start, end, [&](auto& cursor) {
        Decoder decoder(own, columns);
        Edges edges{true, true, false};
        bool first = true;
        for (Record record; cursor.next(record); first = false) {
            decoder.record(record);
            if (first) edges.starts_clean = !decoder.fragment();
        }
        const Passed& passed = cursor.passed();
        decoder.finish(passed);
        edges.ends_clean = !passed.truncated && !passed.damaged && cursor.at() == end && !decoder.fragment();
        edges.late = passed.late;
        return edges;
    });
}

namespace detail {

inline bool fragmented(const Record& record) noexcept {
    Link link;
    Network network;
    return read_link(record.link_type, record.frame, nullptr, link) == Skip::None &&
           read_network(link, network) == Skip::None && network.fragment;
}

}  // namespace detail

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

// Ranges of whole records, of `target` bytes or a little more each. No range begins or ends next to a fragment,
// so that datagrams in consecutive fragments stay together; a file that says behind its first packet how what
// follows is to be read is one range.
template <class Source>
Ranges index(Source& source, const Format& format, std::size_t target) {
    return with_cursor(source, format, 0, source.size(), [&](auto& cursor) {
        Ranges ranges;
        const std::size_t size = source.size();
        std::size_t start = cursor.at(), at = start;
        bool after_fragment = false;
        for (Record record; cursor.next(record); at = cursor.at()) {
            const bool is_fragment = cursor.at() - start >= target && detail::fragmented(record);
            if (at - start >= target && !after_fragment && !is_fragment) {
                ranges.emplace_back(start, at);
                start = at;
            }
            after_fragment = is_fragment;
        }
        if (cursor.passed().late) return Ranges{{format.begin, size}};
        if (size > start) ranges.emplace_back(start, size);
        return ranges;
    });
}

}  // namespace cbn::pcap
