// One interface's capture being written, whole records or none whatever the disk does: pcap or pcapng, in one
// file or in several one after the other, each with an index beside it once it is worth one (docs/captures.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "pcap/output.hpp"
#include "pcap/records.hpp"

namespace cbn {

struct CaptureOptions {
    std::uint32_t snap_bytes = 262'144;
    bool pcapng = false;
    std::size_t rotate_bytes = 0;       // 0: one file
    std::size_t index_bytes = 1 << 20;  // how far apart the places are that the index names
    std::size_t buffer_bytes = 1 << 20;
    bool keep_open = true;
    std::string interface;
};

class CaptureFile {
  public:
    CaptureFile() = default;
    ~CaptureFile() { close(0); }
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;

    // 0, or the errno of what went wrong. The file's header is on disk when this returns.
    [[nodiscard]] int open(const std::string& path, const CaptureOptions& options) {
        options_ = options;
        first_path_ = path;
        return begin(path);
    }

    // `frame` is what was captured of `original` bytes.
    void append(std::int64_t time_ns, std::uint32_t original, wire::Bytes frame) {
        const bool fragment = is_fragment(frame);
        const bool parting = !fragment && !after_fragment_;
        after_fragment_ = fragment;
        if (parting && options_.rotate_bytes != 0 && due(frame.size())) rotate();
        if (buffer_.size() + frame.size() + LARGEST_HEADER > options_.buffer_bytes) flush();
        if (parting && end() >= next_mark_) mark(time_ns);
        if (options_.pcapng) put_packet(buffer_, 0, time_ns, original, frame);
        else put_pcap_record(buffer_, time_ns, original, frame);
        last_ns_ = time_ns;
        ++buffered_packets_;
        buffered_bytes_ += original;
        packets_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(original, std::memory_order_relaxed);
    }

    // A disk may be full now and not later: what could not be written is counted, and the next flush tries anew.
    void flush() {
        const int failure = buffer_.empty() ? 0 : output_.append(buffer_.data(), buffer_.size());
        if (failure != 0) {
            packets_.fetch_sub(buffered_packets_, std::memory_order_relaxed);
            bytes_.fetch_sub(buffered_bytes_, std::memory_order_relaxed);
            write_errors_.fetch_add(buffered_packets_, std::memory_order_relaxed);
            last_error_.store(failure, std::memory_order_relaxed);
            next_mark_ = output_.size() + options_.index_bytes;
        } else {
            file_packets_ += buffered_packets_;
            write_marks();
        }
        marks_.clear();
        buffer_.clear();
        buffered_packets_ = buffered_bytes_ = 0;
    }

    // `dropped`: frames that the kernel had no room for.
    void close(std::uint64_t dropped) {
        if (!output_.exists() || closed_) return;
        closed_ = true;
        finish(dropped);
        output_.close();
        index_.close();
    }

    // To be called now and then, for the statistics in pcapng files.
    void set_dropped(std::uint64_t frames) noexcept { dropped_ = frames; }

    [[nodiscard]] bool dirty() const noexcept { return !buffer_.empty(); }
    [[nodiscard]] std::uint64_t packets() const noexcept { return packets_.load(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }
    [[nodiscard]] std::uint64_t write_errors() const noexcept { return write_errors_.load(); }
    [[nodiscard]] int last_error() const noexcept { return last_error_.load(); }
    [[nodiscard]] std::uint64_t files() const noexcept { return files_.load(); }

  private:
    static constexpr std::size_t LARGEST_HEADER = 64;

    [[nodiscard]] std::size_t end() const noexcept { return output_.size() + buffer_.size(); }

    [[nodiscard]] bool due(std::size_t frame_bytes) const noexcept {
        return file_packets_ + buffered_packets_ > 0 &&
               end() + frame_bytes + LARGEST_HEADER > next_rotation_;
    }

    [[nodiscard]] int begin(const std::string& path) {
        Output fresh;
        if (const int failure = fresh.create(path, options_.keep_open); failure != 0) return failure;
        CaptureBytes header;
        if (options_.pcapng) {
            put_section(header);
            put_interface(header, options_.interface, options_.snap_bytes);
        } else {
            put_pcap_header(header, options_.snap_bytes);
        }
        if (const int failure = fresh.append(header.data(), header.size()); failure != 0) {
            ::unlink(path.c_str());
            return failure;
        }
        ::unlink((path + INDEX_SUFFIX).c_str());  // of a file that was here before
        output_ = std::move(fresh);
        index_ = Output();
        file_packets_ = 0;
        next_mark_ = output_.size() + options_.index_bytes;
        next_rotation_ = options_.rotate_bytes;
        files_.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }

    // Where no next file can be had, the one there is goes on, and the next is tried later.
    void rotate() {
        finish(dropped_);
        if (const int failure = begin(numbered(files_.load())); failure != 0) {
            last_error_.store(failure, std::memory_order_relaxed);
            next_rotation_ = end() + options_.rotate_bytes;
        }
    }

    // "a/r1-eth0.pcap" and 2 as "a/r1-eth0.2.pcap".
    [[nodiscard]] std::string numbered(std::uint64_t number) const {
        const std::size_t slash = first_path_.rfind('/') + 1, dot = first_path_.rfind('.');
        const std::size_t stem = dot == std::string::npos || dot <= slash ? first_path_.size() : dot;
        return first_path_.substr(0, stem) + "." + std::to_string(number) + first_path_.substr(stem);
    }

    void finish(std::uint64_t dropped) {
        flush();
        if (!options_.pcapng) return;
        CaptureBytes block;
        put_statistics(block, 0, last_ns_, packets() + write_errors() + dropped, dropped);
        if (const int failure = output_.append(block.data(), block.size()); failure != 0) last_error_.store(failure);
    }

    void mark(std::int64_t time_ns) {
        marks_ += std::to_string(end()) + " " + std::to_string(file_packets_ + buffered_packets_) + " " +
                  std::to_string(time_ns) + "\n";
        next_mark_ = end() + options_.index_bytes;
    }

    // An index that cannot be written is none: who reads looks for himself.
    void write_marks() {
        if (marks_.empty()) return;
        if (!index_.exists() && index_.create(output_.path() + INDEX_SUFFIX, options_.keep_open) != 0) return;
        if (index_.size() == 0) marks_.insert(0, INDEX_HEADER);
        static_cast<void>(index_.append(marks_.data(), marks_.size()));
    }

    static constexpr const char* INDEX_SUFFIX = ".idx";
    static constexpr const char* INDEX_HEADER = "cbn capture index 1\n";

    CaptureOptions options_;
    std::string first_path_;
    Output output_;
    Output index_;
    std::string marks_;
    CaptureBytes buffer_;
    std::size_t next_mark_ = 0;
    std::size_t next_rotation_ = 0;
    std::uint64_t file_packets_ = 0;
    std::uint64_t buffered_packets_ = 0;
    std::uint64_t buffered_bytes_ = 0;
    std::uint64_t dropped_ = 0;
    std::int64_t last_ns_ = 0;
    bool after_fragment_ = false;
    bool closed_ = false;
    std::atomic<std::uint64_t> packets_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> write_errors_{0};
    std::atomic<std::uint64_t> files_{0};
    std::atomic<int> last_error_{0};
};

}  // namespace cbn
