// A pcapng file as records: sections in either byte order, interfaces each with its own link type and clock.
// Blocks that hold no packet are passed over; what is wrong within a block costs that block alone.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "pcap/file.hpp"

namespace cbn::pcap {

namespace detail {

inline constexpr std::int64_t NEVER = std::numeric_limits<std::int64_t>::max();

// Time stamps count 10^-n or, with the first bit set, 2^-n seconds.
inline void set_resolution(Interface& interface, std::uint8_t encoded) noexcept {
    const unsigned power = encoded & 0x7FU;
    interface.multiplier = interface.divisor = 1;
    interface.shift = 0;
    if ((encoded & 0x80U) != 0) {
        interface.multiplier = 1'000'000'000;
        interface.shift = power;
        return;
    }
    for (unsigned at = power; at < 9; ++at) interface.multiplier *= 10;
    for (unsigned at = 9; at < power && at < 28; ++at) interface.divisor *= 10;  // 10^19 is the most there is room for
    if (power > 28) interface.multiplier = 0;
}

// In nanoseconds since 1970, as far as they are known.
[[nodiscard]] inline std::int64_t stamp_ns(const Interface& interface, std::uint64_t ticks) noexcept {
    using Wide = unsigned __int128;
    Wide wide = Wide{ticks} * interface.multiplier;
    if (interface.divisor != 1) wide /= interface.divisor;
    if (interface.shift != 0) wide >>= interface.shift;
    if (wide > Wide{static_cast<std::uint64_t>(NEVER)}) return NEVER;
    std::int64_t offset = 0, sum = 0;
    if (interface.offset_s == 0) return static_cast<std::int64_t>(wide);
    if (__builtin_mul_overflow(interface.offset_s, std::int64_t{1'000'000'000}, &offset)) return NEVER;
    return __builtin_add_overflow(static_cast<std::int64_t>(wide), offset, &sum) ? NEVER : sum;
}

}  // namespace detail

template <class Source>
class BlockCursor {
  public:
    BlockCursor(Source& source, const Format& format, std::size_t start, std::size_t end)
        : source_(source), section_(format.section), at_(start < format.begin ? format.begin : start),
          end_(end < source.size() ? end : source.size()) {}

    [[nodiscard]] bool next(Record& record) {
        while (at_ < end_ && load()) {
            at_ += length_;
            switch (type_) {
                case ng::PACKET:
                case ng::OLD_PACKET:
                    if (packet(record)) return true;
                    ++passed_.bad_blocks;
                    break;
                case ng::SIMPLE_PACKET: ++passed_.untimed; break;
                default: other();
            }
        }
        return false;
    }

    // Stops at the first packet, or at what cannot be read.
    void skip_preamble() {
        while (at_ < end_) {
            const std::size_t here = at_;
            const wire::Bytes head = source_.at(at_, ng::BLOCK_FRAME);
            if (head.size() == ng::BLOCK_FRAME && holds_packet(number(head.data()))) return;
            if (!load()) {
                at_ = here;
                return;
            }
            at_ += length_;
            other();
        }
    }

    // Where the next block starts.
    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] const Passed& passed() const noexcept { return passed_; }
    [[nodiscard]] const Section& section() const noexcept { return section_; }

  private:
    // Room for the largest frame and what surrounds it.
    static constexpr std::size_t LARGEST_BODY = LARGEST_FRAME + 64;

    static bool holds_packet(std::uint32_t type) noexcept {
        return type == ng::PACKET || type == ng::OLD_PACKET || type == ng::SIMPLE_PACKET;
    }

    // The block at `at_`: its type, its length, and its body, of which only the front is there if it is very large.
    [[nodiscard]] bool load() {
        const wire::Bytes head = source_.at(at_, ng::BLOCK_FRAME);
        if (head.empty() && at_ == source_.size()) return false;  // of a pipe the end is known when it is there
        if (head.size() < ng::BLOCK_FRAME) return stop(passed_.truncated);
        type_ = number(head.data());
        if (type_ == ng::SECTION && !read_order(head.data() + 8)) return stop(passed_.damaged);
        length_ = number(head.data() + 4);
        if (length_ < ng::BLOCK_FRAME || length_ % 4 != 0) return stop(passed_.damaged);
        if (length_ > source_.size() - at_) return stop(passed_.truncated);
        const std::size_t whole = length_ - 8;  // body and the length that follows it
        if (whole <= LARGEST_BODY) {
            const wire::Bytes block = source_.at(at_, length_);
            if (block.size() < length_) return stop(passed_.truncated);
            if (number(block.data() + length_ - 4) != length_) return stop(passed_.damaged);
            body_ = block.subspan(8, whole - 4);
            return true;
        }
        const Front front = source_.front_of(at_ + 8, whole, LARGEST_BODY);
        if (!front.whole) return stop(passed_.truncated);
        if (number(front.last.data()) != length_) return stop(passed_.damaged);
        body_ = front.bytes;
        return true;
    }

    [[nodiscard]] bool read_order(const std::uint8_t* magic) noexcept {
        std::uint32_t raw = 0;
        std::memcpy(&raw, magic, sizeof raw);
        if (raw != ng::ORDER_MAGIC && raw != __builtin_bswap32(ng::ORDER_MAGIC)) return false;
        section_.swapped = raw != ng::ORDER_MAGIC;
        return true;
    }

    void other() {
        switch (type_) {
            case ng::SECTION:
                section_.interfaces.clear();
                passed_.late = true;
                break;
            case ng::INTERFACE:
                add_interface();
                passed_.late = true;
                break;
            case ng::NAMES:
            case ng::STATISTICS: break;
            default: ++passed_.unknown_blocks;
        }
    }

    // One that is too short is there all the same, since interfaces are known by their number.
    void add_interface() {
        Interface interface;
        constexpr std::size_t fixed = 8, most = 1 << 16;
        if (section_.interfaces.size() == most) {
            ++passed_.bad_blocks;
            return;
        }
        if (body_.size() < fixed) {
            ++passed_.bad_blocks;
            interface.link_type = ~std::uint32_t{0};
        } else {
            interface.link_type = half(body_.data());
            read_options(interface, body_.subspan(fixed));
        }
        section_.interfaces.push_back(interface);
    }

    void read_options(Interface& interface, wire::Bytes options) const noexcept {
        while (options.size() >= 4) {
            const std::uint16_t code = half(options.data()), length = half(options.data() + 2);
            if (code == ng::OPTION_END || ng::padded(length) > options.size() - 4) return;
            const std::uint8_t* value = options.data() + 4;
            if (code == ng::OPTION_RESOLUTION && length == 1) detail::set_resolution(interface, *value);
            if (code == ng::OPTION_OFFSET && length == 8) interface.offset_s = wide(value);
            options = options.subspan(4 + ng::padded(length));
        }
    }

    // The old kind of packet has a count of drops in what is now the upper half of the interface's number.
    [[nodiscard]] bool packet(Record& record) const noexcept {
        if (body_.size() < sizeof(ng::PacketHeader)) return false;
        const std::uint8_t* at = body_.data();
        const std::size_t interface = type_ == ng::PACKET ? number(at) : half(at);
        const std::size_t captured = number(at + 12), original = number(at + 16);
        if (interface >= section_.interfaces.size()) return false;
        if (captured > length_ - ng::BLOCK_FRAME - sizeof(ng::PacketHeader)) return false;
        const Interface& from = section_.interfaces[interface];
        const std::size_t kept = captured < LARGEST_FRAME ? captured : LARGEST_FRAME;
        record.time_ns = detail::stamp_ns(from, std::uint64_t{number(at + 4)} << 32 | number(at + 8));
        record.link_type = from.link_type;
        record.frame = {body_.subspan(sizeof(ng::PacketHeader), kept), original < captured ? captured : original};
        return true;
    }

    [[nodiscard]] std::uint32_t number(const std::uint8_t* at) const noexcept {
        std::uint32_t raw = 0;
        std::memcpy(&raw, at, sizeof raw);
        return section_.swapped ? __builtin_bswap32(raw) : raw;
    }
    [[nodiscard]] std::uint16_t half(const std::uint8_t* at) const noexcept {
        std::uint16_t raw = 0;
        std::memcpy(&raw, at, sizeof raw);
        return section_.swapped ? __builtin_bswap16(raw) : raw;
    }
    [[nodiscard]] std::int64_t wide(const std::uint8_t* at) const noexcept {
        std::uint64_t raw = 0;
        std::memcpy(&raw, at, sizeof raw);
        return std::bit_cast<std::int64_t>(section_.swapped ? __builtin_bswap64(raw) : raw);
    }

    bool stop(bool& why) noexcept {
        why = true;
        at_ = end_;
        return false;
    }

    Source& source_;
    Section section_;
    std::size_t at_;
    std::size_t end_;
    std::uint32_t type_ = 0;
    std::size_t length_ = 0;
    wire::Bytes body_{};
    Passed passed_{};
};

// How to read the file from any of its packets on, as long as what they refer to stands before the first.
template <class Source>
[[nodiscard]] Format read_format(Source& source) {
    Format format = read_header(source.at(0, sizeof(FileHeader)));
    if (format.fault != nullptr || !format.blocks) return format;
    format.begin = 0;
    BlockCursor<Source> cursor(source, format, 0, source.size());
    cursor.skip_preamble();
    if (cursor.passed().damaged && cursor.at() == 0) format.fault = "is a damaged pcapng file: its first block contradicts itself";
    format.section = cursor.section();
    format.begin = cursor.at();
    return format;
}

// `work(cursor)` with the cursor for this format.
template <class Source, class Work>
decltype(auto) with_cursor(Source& source, const Format& format, std::size_t start, std::size_t end, Work&& work) {
    if (format.blocks) {
        BlockCursor<Source> cursor(source, format, start, end);
        return work(cursor);
    }
    RecordCursor<Source> cursor(source, format, start, end);
    return work(cursor);
}

}  // namespace cbn::pcap
