// A pcap file as records: mapped, in either byte order, with micro- or nanoseconds. What is in a record's
// frame is none of its business.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "pcap_format.hpp"
#include "wire_types.hpp"

namespace cbn::pcap {

// A whole file in memory, read-only. It must not be cut shorter while it is mapped.
class Mapping {
  public:
    Mapping() = default;
    ~Mapping() {
        if (data_ != nullptr) ::munmap(data_, size_);
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    // 0 or errno.
    [[nodiscard]] int open(const std::string& path) {
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) return errno;
        const int failure = map(descriptor);
        ::close(descriptor);
        return failure;
    }

    [[nodiscard]] wire::Bytes bytes() const noexcept { return {static_cast<const std::uint8_t*>(data_), size_}; }

  private:
    [[nodiscard]] int map(int descriptor) {
        struct stat about {};
        if (::fstat(descriptor, &about) != 0) return errno;
        if (S_ISDIR(about.st_mode)) return EISDIR;
        if (about.st_size <= 0) return 0;
        const auto size = static_cast<std::size_t>(about.st_size);
        void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) return errno;
        data_ = data;
        size_ = size;
        static_cast<void>(::madvise(data_, size_, MADV_SEQUENTIAL));
        return 0;
    }

    void* data_ = nullptr;
    std::size_t size_ = 0;
};

// How to read a file's records; `fault` says why it cannot be done, or is null.
struct Format {
    bool swapped = false;
    std::int64_t fraction_ns = 1;
    std::uint32_t link_type = 0;
    const char* fault = nullptr;

    [[nodiscard]] std::uint32_t number(std::uint32_t raw) const noexcept {
        return swapped ? __builtin_bswap32(raw) : raw;
    }
};

[[nodiscard]] inline Format read_format(wire::Bytes file) noexcept {
    Format format;
    FileHeader header;
    if (file.empty()) format.fault = "is empty";
    else if (file.size() < sizeof header) format.fault = "ends within the 24 bytes of a pcap header";
    if (format.fault != nullptr) return format;
    std::memcpy(&header, file.data(), sizeof header);
    format.swapped = header.magic == __builtin_bswap32(MAGIC_MICRO) || header.magic == __builtin_bswap32(MAGIC_NANO);
    const std::uint32_t magic = format.number(header.magic);
    if (magic == MAGIC_PCAPNG) {
        format.fault = "is a pcapng file; convert it with: editcap -F nsecpcap IN OUT";
    } else if ((magic & 0xFFFF) == 0x8B1F) {
        format.fault = "is compressed; unpack it first";
    } else if (magic != MAGIC_MICRO && magic != MAGIC_NANO) {
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
    Slice frame{};
};

// The records that start in [start, end), one after the other. A record may be longer than the file's own snap
// length, and longer captured than it was; it may not be longer than the file.
class RecordCursor {
  public:
    RecordCursor(wire::Bytes file, const Format& format, std::size_t start, std::size_t end) noexcept
        : file_(file), format_(format), at_(start < sizeof(FileHeader) ? sizeof(FileHeader) : start),
          end_(end < file.size() ? end : file.size()) {}

    [[nodiscard]] bool next(Record& record) noexcept {
        RecordHeader header;
        if (at_ >= end_) return false;
        const std::size_t left = file_.size() - at_;
        if (left < sizeof header) return stop();
        std::memcpy(&header, file_.data() + at_, sizeof header);
        const std::size_t captured = format_.number(header.captured);
        if (captured > left - sizeof header) return stop();
        record.time_ns = std::int64_t{format_.number(header.seconds)} * 1'000'000'000 +
                         std::int64_t{format_.number(header.fraction)} * format_.fraction_ns;
        const std::size_t original = format_.number(header.original);
        record.frame = {file_.subspan(at_ + sizeof header, captured), original < captured ? captured : original};
        at_ += sizeof header + captured;
        return true;
    }

    // Where the next record starts.
    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    // Whether the last record runs past the end of the file.
    [[nodiscard]] bool truncated() const noexcept { return truncated_; }

  private:
    bool stop() noexcept {
        truncated_ = true;
        at_ = end_;
        return false;
    }

    wire::Bytes file_;
    Format format_;
    std::size_t at_;
    std::size_t end_;
    bool truncated_ = false;
};

}  // namespace cbn::pcap
