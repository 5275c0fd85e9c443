// Captures into columns: one row a CBN packet (docs/run-directory.md, table `packets`), and counts of all that
// was passed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "pcap/blocks.hpp"
#include "pcap/digest.hpp"
#include "pcap/fragments.hpp"
#include "pcap/frame.hpp"
#include "wire/wire.hpp"

namespace cbn::pcap {

// A bitmap as Arrow has it: least significant bit first.
class BitColumn {
  public:
    void push(bool bit) {
        const auto mask = static_cast<std::uint8_t>(static_cast<unsigned>(bit) << (size_ % 8));
        if (size_++ % 8 == 0) bytes_.push_back(mask);
        else bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | mask);
    }
    void set(std::size_t at) { bytes_[at / 8] = static_cast<std::uint8_t>(bytes_[at / 8] | (1U << (at % 8))); }
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
    BitColumn has_id;  // made at the end
    std::vector<std::int64_t> time_ns, source, header_class, sequence, publish_time_ns, content;
    std::vector<std::int32_t> frame_bytes, packet_bytes, type, hop_limit, hop_count, attribute_count, kind;
    std::vector<std::int32_t> attribute_ends{0};  // Arrow's offsets: one more than there are rows
    std::vector<std::int32_t> control_ends;       // likewise; made at the end
    std::vector<std::uint8_t> attributes, control;
    std::vector<std::size_t> records_at;                              // the rows that hold the front of a record
    std::vector<std::pair<std::size_t, std::int32_t>> control_rows;   // those with `control`, and where each ends
    std::array<std::uint64_t, SKIP_NAMES.size()> skipped{};
    std::uint64_t records = 0;
    std::array<std::uint8_t, 12> foreign{};  // destination and source of the first frame that is foreign
    std::array<std::uint8_t, 12> between{};  // likewise of the first frame, where the link's ends are not known
    bool has_between = false;
    bool several = false;                    // others are between others

    // Room that is not used costs address space alone; moving what is there costs more than decoding it.
    void reserve(std::size_t likely) {
        for (auto* column : {&time_ns, &source, &header_class, &sequence, &publish_time_ns, &content}) {
            column->reserve(likely);
        }
        for (auto* column : {&frame_bytes, &packet_bytes, &type, &hop_limit, &hop_count, &attribute_count, &kind}) {
            column->reserve(likely);
        }
        attribute_ends.reserve(likely + 1);
    }

    // Columns that say something in few rows.
    void complete() {
        has_id = is_message;
        for (const std::size_t row : records_at) has_id.set(row);
        control_ends.clear();
        control_ends.reserve(rows + 1);
        std::int32_t end = 0;
        for (const auto& [row, next] : control_rows) {
            control_ends.resize(row + 1, end);
            end = next;
        }
        control_ends.resize(rows + 1, end);
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
    explicit Decoder(const Ends& ends) : ends_(ends) {}

    // Where the rows go from now on. A datagram may begin in one batch of rows and end in another.
    void into(Columns& columns) noexcept { columns_ = &columns; }

    void record(const Record& record) {
        ++out().records;
        fragment_ = false;
        const Skip skip = frame(record);
        if (skip != Skip::None) ++skipped(skip);
    }

    void finish(const Passed& passed) {
        out().records += passed.bad_blocks + passed.untimed;
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
    [[nodiscard]] Columns& out() noexcept { return *columns_; }
    std::uint64_t& skipped(Skip skip) { return out().skipped[static_cast<std::size_t>(skip)]; }

    Skip frame(const Record& record) {
        Context context{record.time_ns, record.frame.original, Direction::Unknown};
        Link link;
        Network network;
        if (const Skip skip = read_link(record.link_type, record.frame, ends_, link); skip != Skip::None) return skip;
        if (const Skip skip = read_network(link, network); skip != Skip::None) return skip;
        context.direction = link.direction;
        fragment_ = network.fragment;
        Slice udp = network.payload;
        if (network.fragment &&
            !fragments_.add(network, record.frame.original, link.direction, udp, context.frame_bytes)) {
            return Skip::None;  // counted when it is clear that the others do not come
        }
        Slice payload;
        if (const Skip skip = read_udp(network, udp, payload); skip != Skip::None) return skip;
        if (ends_.own == nullptr && record.link_type == LINK_ETHERNET) note_addresses(record.frame.captured);
        return link.direction == Direction::Foreign ? foreign(record.frame.captured) : datagram(payload, context);
    }

    // In either direction.
    void note_addresses(wire::Bytes frame) {
        Columns& columns = out();
        if (!columns.has_between) {
            std::copy_n(frame.begin(), columns.between.size(), columns.between.begin());
            columns.has_between = true;
        } else if (std::memcmp(frame.data(), columns.between.data(), columns.between.size()) != 0) {
            constexpr std::size_t size = 6;
            const bool reverse = std::memcmp(frame.data(), columns.between.data() + size, size) == 0 &&
                                 std::memcmp(frame.data() + size, columns.between.data(), size) == 0;
            columns.several = columns.several || !reverse;
        }
    }

    Skip foreign(wire::Bytes frame) {
        if (skipped(Skip::Foreign) == 0) std::copy_n(frame.begin(), out().foreign.size(), out().foreign.begin());
        return Skip::Foreign;
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
        const bool is_control = type == wire::PacketType::Control;
        if (is_control && begins_record(packet)) read_record(packet, message);
        message_fields(message, is_message);
        const bool is_publication = is_message && context.direction != Direction::Sent && message.hop_count == 0;
        attributes(message.attributes, is_publication);
        control_fields(packet, is_control, context.direction);
        out().content.push_back(is_message    ? digest(message.content, message.publish_time_ns)
                               : is_control ? digest(packet.subspan(SESSION_AT, SESSION_BYTES), 0)
                                            : 0);
        ++out().rows;
        return true;
    }

    static constexpr std::size_t FLAGS_AT = 4, KIND_AT = 5, SESSION_AT = 8, SESSION_BYTES = 20, FRAGMENT_AT = 32;
    static constexpr std::size_t RECORD_BYTES = 12;
    static constexpr std::size_t FRONT_BYTES = FRAGMENT_AT + 25;  // to the end of the fixed fields of a CD_UPDATE
    static constexpr std::uint8_t FIRST = 2;
    using Kind = wire::Kind;

    // Whether a CONTROL packet holds the front of what a router announces of itself: an origin and a sequence.
    static bool begins_record(wire::Bytes packet) noexcept {
        return is_record(static_cast<Kind>(packet[KIND_AT])) && (packet[FLAGS_AT] & FIRST) != 0 && packet.size() >= FRAGMENT_AT + RECORD_BYTES;
    }

    static bool is_record(Kind kind) noexcept {
        return kind == Kind::LinkState || kind == Kind::Interest || kind == Kind::InterestChange ||
               kind == Kind::Offer || kind == Kind::OfferChange;
    }

    // What a client says that it holds.
    static bool is_held(Kind kind) noexcept {
        return kind == Kind::Subscribe || kind == Kind::Unsubscribe || kind == Kind::Advertise ||
               kind == Kind::Unadvertise || kind == Kind::SubscribePattern || kind == Kind::UnsubscribePattern;
    }

    void read_record(wire::Bytes packet, wire::MessageView& row) {
        out().records_at.push_back(out().rows);
        row.source = wire::load<std::uint32_t>(packet.data() + FRAGMENT_AT);
        row.sequence = wire::load<std::uint64_t>(packet.data() + FRAGMENT_AT + 4);
    }

    // COST_ANNOUNCE, CHANGE_MARKING, its reply and CD_UPDATE.
    static bool is_of_matchmaker(std::uint8_t kind) noexcept { return kind >= 24 && kind <= 27; }

    // What clients subscribe to, seek and advertise, and what routers announce of links and of their clients: whole
    // packets. Of those of the matchmaker, in both directions, their fronts, which have all but filters.
    void control_fields(wire::Bytes packet, bool is_control, Direction direction) {
        const std::uint8_t kind = is_control ? packet[KIND_AT] : 0;
        const bool from_client = is_held(static_cast<Kind>(kind)) && direction == Direction::Received;
        const bool is_front = is_of_matchmaker(kind);
        const bool kept = from_client || is_front || (is_record(static_cast<Kind>(kind)) && direction == Direction::Sent);
        out().is_control.push(is_control);
        out().kind.push_back(kind);
        if (!kept) return;
        const wire::Bytes shown = is_front ? packet.first(std::min(packet.size(), FRONT_BYTES)) : packet;
        out().control.insert(out().control.end(), shown.begin(), shown.end());
        check_room(out().control.size());
        out().control_rows.emplace_back(out().rows, static_cast<std::int32_t>(out().control.size()));
    }

    static void check_room(std::size_t bytes) {
        if (bytes > std::numeric_limits<std::int32_t>::max()) {
            throw std::length_error("more than 2 GB in one column; decode the file in parts (index_pcap)");
        }
    }

    void common(wire::Bytes packet, wire::PacketType type, const Context& context) {
        constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
        out().has_sent.push(context.direction != Direction::Unknown);
        out().sent.push(context.direction == Direction::Sent);
        out().time_ns.push_back(context.time_ns);
        out().frame_bytes.push_back(static_cast<std::int32_t>(std::min(context.frame_bytes, most)));
        out().packet_bytes.push_back(static_cast<std::int32_t>(packet.size()));
        out().type.push_back(static_cast<std::int32_t>(type));
    }

    void message_fields(const wire::MessageView& message, bool present) {
        out().is_message.push(present);
        out().source.push_back(message.source);
        out().header_class.push_back(message.header_class);
        out().sequence.push_back(static_cast<std::int64_t>(message.sequence));
        out().publish_time_ns.push_back(static_cast<std::int64_t>(message.publish_time_ns));
        out().hop_limit.push_back(message.hop_limit);
        out().hop_count.push_back(message.hop_count);
        out().attribute_count.push_back(message.attribute_count);
    }

    void attributes(wire::Bytes section, bool present) {
        if (present) out().attributes.insert(out().attributes.end(), section.begin(), section.end());
        check_room(out().attributes.size());
        out().has_attributes.push(present);
        out().attribute_ends.push_back(static_cast<std::int32_t>(out().attributes.size()));
    }

    Ends ends_;
    Columns* columns_ = nullptr;
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

// A range of a file as batches of rows, each in columns of its own: what is in memory does not grow with the file.
template <class Source>
class Reading {
  public:
    Reading(Source& source, const Format& format, std::size_t start, std::size_t end, const Ends& ends)
        : cursor_(cursor_of(source, format, start, end)), decoder_(ends),
          likely_((std::min(end, source.size()) - std::min(start, source.size())) / LIKELY_BYTES), end_(end) {}

    // Fills columns with about so many rows, at most some of one frame more; false once the range is read. What
    // was passed over without belonging to a row is in the columns filled last.
    bool fill(Columns& columns, std::size_t most_rows) {
        columns.reserve(std::min({likely_, most_rows, MOST_RESERVED}));
        decoder_.into(columns);
        const bool more = std::visit([&](auto& cursor) { return rows(cursor, columns, most_rows); }, cursor_);
        columns.complete();
        return more;
    }

    [[nodiscard]] const Edges& edges() const noexcept { return edges_; }

  private:
    using Cursor = std::variant<RecordCursor<Source>, BlockCursor<Source>>;
    static constexpr std::size_t LIKELY_BYTES = 128, MOST_RESERVED = 4 << 20;
    // Of attributes and control packets, of which some are much longer than others.
    static constexpr std::size_t MOST_BYTES = 64 << 20;

    static Cursor cursor_of(Source& source, const Format& format, std::size_t start, std::size_t end) {
        if (format.blocks) return BlockCursor<Source>(source, format, start, end);
        return RecordCursor<Source>(source, format, start, end);
    }

    template <class Each>
    bool rows(Each& cursor, Columns& columns, std::size_t most_rows) {
        const bool all = most_rows == std::numeric_limits<std::size_t>::max();
        for (Record record; cursor.next(record); first_ = false) {
            decoder_.record(record);
            if (first_) edges_.starts_clean = !decoder_.fragment();
            const bool full = columns.rows >= most_rows || columns.attributes.size() + columns.control.size() > MOST_BYTES;
            if (full && !all) {
                first_ = false;
                return true;
            }
        }
        const Passed& passed = cursor.passed();
        decoder_.finish(passed);
        edges_.ends_clean = !passed.truncated && !passed.damaged && cursor.at() == end_ && !decoder_.fragment();
        edges_.late = passed.late;
        return false;
    }

    Cursor cursor_;
    Decoder decoder_;
    std::size_t likely_;
    std::size_t end_;
    bool first_ = true;
    Edges edges_{true, true, false};
};

namespace detail {

inline bool fragmented(const Record& record) noexcept {
    Link link;
    Network network;
    return read_link(record.link_type, record.frame, Ends{}, link) == Skip::None &&
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
