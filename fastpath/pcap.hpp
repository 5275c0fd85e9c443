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

#include "pcap_file.hpp"
#include "pcap_fragments.hpp"
#include "pcap_frame.hpp"
#include "wire.hpp"

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
};

// What the packets of one datagram have in common.
struct Context {
    std::int64_t time_ns = 0;
    std::size_t frame_bytes = 0;
    Direction direction = Direction::Unknown;
};

class Decoder {
  public:
    Decoder(std::uint32_t link_type, const Mac* own, Columns& columns)
        : link_type_(link_type), own_(own), out_(columns) {}

    void record(const Record& record) {
        ++out_.records;
        const Skip skip = frame(record);
        if (skip != Skip::None) ++skipped(skip);
    }

    void finish(bool truncated_file) {
        skipped(Skip::Fragments) += fragments_.lost();
        skipped(Skip::TruncatedFile) += truncated_file ? 1 : 0;
    }

  private:
    std::uint64_t& skipped(Skip skip) { return out_.skipped[static_cast<std::size_t>(skip)]; }

    Skip frame(const Record& record) {
        Context context{record.time_ns, record.frame.original, Direction::Unknown};
        Link link;
        Network network;
        if (const Skip skip = read_link(link_type_, record.frame, own_, link); skip != Skip::None) return skip;
        if (const Skip skip = read_network(link, network); skip != Skip::None) return skip;
        context.direction = link.direction;
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

    std::uint32_t link_type_;
    const Mac* own_;
    Columns& out_;
    Fragments fragments_;
};

inline void decode(wire::Bytes file, const Format& format, std::size_t start, std::size_t end, const Mac* own,
                   Columns& columns) {
    Decoder decoder(format.link_type, own, columns);
    RecordCursor cursor(file, format, start, end);
    for (Record record; cursor.next(record);) decoder.record(record);
    decoder.finish(cursor.truncated());
}

namespace detail {

inline bool fragmented(const Format& format, const Record& record) noexcept {
    Link link;
    Network network;
    return read_link(format.link_type, record.frame, nullptr, link) == Skip::None &&
           read_network(link, network) == Skip::None && network.fragment;
}

}  // namespace detail

// Ranges of whole records, of `target` bytes or a little more each. No range begins or ends next to a fragment,
// so that datagrams in consecutive fragments stay together.
inline std::vector<std::pair<std::size_t, std::size_t>> index(wire::Bytes file, const Format& format,
                                                              std::size_t target) {
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    std::size_t start = sizeof(FileHeader);
    RecordCursor cursor(file, format, start, file.size());
    std::size_t at = cursor.at();
    bool after_fragment = false;
    for (Record record; cursor.next(record); at = cursor.at()) {
        const bool is_fragment = cursor.at() - start >= target && detail::fragmented(format, record);
        if (at - start >= target && !after_fragment && !is_fragment) {
            ranges.emplace_back(start, at);
            start = at;
        }
        after_fragment = is_fragment;
    }
    if (file.size() > start) ranges.emplace_back(start, file.size());
    return ranges;
}

}  // namespace cbn::pcap
