// One pcap file being written: whole records or none, whatever the disk does.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "pcap_format.hpp"
#include "wire_types.hpp"

namespace cbn {

class CaptureFile {
  public:
    CaptureFile() = default;
    ~CaptureFile() { close(); }
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;

    // 0, or the errno of what went wrong. The file's header is on disk when this returns.
    [[nodiscard]] int open(const std::string& path, std::uint32_t snap_bytes) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (descriptor_ < 0) return errno;
        buffer_.reserve(BUFFER_BYTES);
        pcap::FileHeader header;
        header.snap_bytes = snap_bytes;
        put(&header, sizeof header);
        return write_out();
    }

    // `frame` is what was captured of `original` bytes.
    void append(std::int64_t time_ns, std::uint32_t original, wire::Bytes frame) {
        if (buffer_.size() + sizeof(pcap::RecordHeader) + frame.size() > BUFFER_BYTES) flush();
        pcap::RecordHeader header;
        header.seconds = static_cast<std::uint32_t>(time_ns / 1'000'000'000);
        header.fraction = static_cast<std::uint32_t>(time_ns % 1'000'000'000);
        header.captured = static_cast<std::uint32_t>(frame.size());
        header.original = original;
        put(&header, sizeof header);
        put(frame.data(), frame.size());
        ++buffered_packets_;
        buffered_bytes_ += original;
        packets_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(original, std::memory_order_relaxed);
    }

    // A disk may be full now and not later: what could not be written is counted, and the next flush tries anew.
    void flush() {
        const int failure = write_out();
        if (failure != 0) {
            packets_.fetch_sub(buffered_packets_, std::memory_order_relaxed);
            bytes_.fetch_sub(buffered_bytes_, std::memory_order_relaxed);
            write_errors_.fetch_add(buffered_packets_, std::memory_order_relaxed);
            last_error_.store(failure, std::memory_order_relaxed);
        }
        buffered_packets_ = buffered_bytes_ = 0;
    }

    void close() {
        if (descriptor_ < 0) return;
        flush();
        ::close(descriptor_);
        descriptor_ = -1;
    }

    [[nodiscard]] bool dirty() const noexcept { return !buffer_.empty(); }
    [[nodiscard]] std::uint64_t packets() const noexcept { return packets_.load(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }
    [[nodiscard]] std::uint64_t write_errors() const noexcept { return write_errors_.load(); }
    [[nodiscard]] int last_error() const noexcept { return last_error_.load(); }

  private:
    static constexpr std::size_t BUFFER_BYTES = 1 << 20;

    void put(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::uint8_t*>(data);
        buffer_.insert(buffer_.end(), first, first + size);
    }

    // All of the buffer or none: after a failure the file ends where it ended before, at a whole record.
    [[nodiscard]] int write_out() {
        std::size_t done = 0;
        int failure = 0;
        while (done < buffer_.size() && failure == 0) {
            const ssize_t written = ::pwrite(descriptor_, buffer_.data() + done, buffer_.size() - done,
                                             static_cast<off_t>(size_ + done));
            if (written > 0) done += static_cast<std::size_t>(written);
            else if (written == 0) failure = ENOSPC;
            else if (errno != EINTR) failure = errno;
        }
        if (failure == 0) size_ += done;
        else if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) failure = errno;
        buffer_.clear();
        return failure;
    }

    int descriptor_ = -1;
    std::vector<std::uint8_t> buffer_;
    std::size_t size_ = 0;
    std::uint64_t buffered_packets_ = 0;
    std::uint64_t buffered_bytes_ = 0;
    std::atomic<std::uint64_t> packets_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> write_errors_{0};
    std::atomic<int> last_error_{0};
};

}  // namespace cbn
