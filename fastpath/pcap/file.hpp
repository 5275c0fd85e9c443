// A pcap file as records: in either byte order, with micro- or nanoseconds. What is in a record's frame is none
// of its business; pcapng is read in pcap/blocks.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "pcap/format.hpp"
#include "pcap/source.hpp"
#include "wire/types.hpp"

namespace cbn::pcap {

// An interface of a pcapng section: how its time stamps become nanoseconds since 1970.
struct Interface {
    std::uint32_t link_type = 0;
    std::uint64_t multiplier = 1000;
    std::uint64_t divisor = 1;
    unsigned shift = 0;
    std::int64_t offset_s = 0;
};

// What pcapng's packets refer to.
struct Section {
    bool swapped = false;
    std::vector<Interface> interfaces;
};

// How to read a file's records; `fault` says why it cannot be done, or is null.
struct Format {
    bool swapped = false;
    std::int64_t fraction_ns = 1;
    std::uint32_t link_type = 0;
    bool blocks = false;        // pcapng
    Section section{};          // of pcapng, where its first packet is
    std::size_t begin = sizeof(FileHeader);  // of what records or packets there are
    const char* fault = nullptr;

    [[nodiscard]] std::uint32_t number(std::uint32_t raw) const noexcept {
        return swapped ? __builtin_bswap32(raw) : raw;
    }
};

[[nodiscard]] inline Format read_header(wire::Bytes file) noexcept {
    Format format;
    FileHeader header;
    if (file.empty()) format.fault = "is empty";
    else if (file.size() < sizeof header) format.fault = "ends within the 24 bytes of a pcap header";
    if (format.fault != nullptr) return format;
    std::memcpy(&header, file.data(), sizeof header);
    format.swapped = header.magic == __builtin_bswap32(MAGIC_MICRO) || header.magic == __builtin_bswap32(MAGIC_NANO);
    const std::uint32_t magic = format.number(header.magic);
    format.blocks = magic == MAGIC_PCAPNG;
    if (magic != MAGIC_MICRO && magic != MAGIC_NANO && !format.blocks) {
        format.fault = "is not a pcap file: its first four bytes are no magic number known here";
    }
    format.fraction_ns = magic == MAGIC_NANO ? 1 : 1000;
    format.link_type = format.number(header.link_type) & 0xFFFF;  // above: the length of a frame check sequence
    return format;
}

// What was captured of something and how long it really was.
struct Slice {
    wire::Bytes captured{};
    std::size_t original = 0;

    [[nodiscard]] bool has(std::size_t bytes) const noexcept { return captured.size() >= bytes; }
    [[nodiscard]] Slice from(std::size_t offset) const noexcept {
        return {captured.subspan(offset), original > offset ? original - offset : 0};
    }
    [[nodiscard]] Slice first(std::size_t bytes) const noexcept {
        return {captured.first(bytes < captured.size() ? bytes : captured.size()), bytes < original ? bytes : original};
    }
    [[nodiscard]] bool cut() const noexcept { return captured.size() < original; }
};

struct Record {
    std::int64_t time_ns = 0;
    std::uint32_t link_type = 0;
    Slice frame{};  // until the next record is read
};

// What a cursor met besides records.
struct Passed {
    bool truncated = false;  // the last record runs past the end of the file
    bool damaged = false;    // what follows cannot be divided into records
    bool late = false;       // a section or an interface begins behind the first packet
    std::uint64_t bad_blocks = 0;
    std::uint64_t untimed = 0;
    std::uint64_t unknown_blocks = 0;
};

// No frame of a network is longer, whatever a file says; of one that is, so much is read.
inline constexpr std::size_t LARGEST_FRAME = 1 << 20;

// The records that start in [start, end), one after the other. A record may be longer than the file's own snap
// length, and longer captured than it was; it may not be longer than the file.
template <class Source>
class RecordCursor {
  public:
    RecordCursor(Source& source, const Format& format, std::size_t start, std::size_t end) noexcept
        : source_(source), swapped_(format.swapped), fraction_ns_(format.fraction_ns), link_type_(format.link_type),
          at_(start < format.begin ? format.begin : start),
          end_(end < source.size() ? end : source.size()) {}

    [[nodiscard]] bool next(Record& record) {
        RecordHeader header;
        if (at_ >= end_) return false;
        const wire::Bytes head = source_.at(at_, sizeof header);
        if (head.empty() && at_ == source_.size()) return false;  // of a pipe the end is known when it is there
        if (head.size() < sizeof header) return stop();
        std::memcpy(&header, head.data(), sizeof header);
        const std::size_t captured = number(header.captured);
        if (captured > source_.size() - at_ - sizeof header) return stop();
        wire::Bytes frame;
        if (captured <= LARGEST_FRAME) {
            frame = source_.at(at_ + sizeof header, captured);
            if (frame.size() < captured) return stop();
        } else {
            const Front front = source_.front_of(at_ + sizeof header, captured, LARGEST_FRAME);
            if (!front.whole) return stop();
            frame = front.bytes;
        }
        record.time_ns = std::int64_t{number(header.seconds)} * 1'000'000'000 +
                         std::int64_t{number(header.fraction)} * fraction_ns_;
        record.link_type = link_type_;
        const std::size_t original = number(header.original);
        record.frame = {frame, original < captured ? captured : original};
        at_ += sizeof header + captured;
        return true;
    }

    // Where the next record starts.
    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] const Passed& passed() const noexcept { return passed_; }

  private:
    [[nodiscard]] std::uint32_t number(std::uint32_t raw) const noexcept {
        return swapped_ ? __builtin_bswap32(raw) : raw;
    }

    bool stop() noexcept {
        passed_.truncated = true;
        at_ = end_;
        return false;
    }

    Source& source_;
    bool swapped_;
    std::int64_t fraction_ns_;
    std::uint32_t link_type_;
    std::size_t at_;
    std::size_t end_;
    Passed passed_{};
};

}  // namespace cbn::pcap
