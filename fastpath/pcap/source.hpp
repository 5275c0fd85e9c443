// Bytes of a file where they are asked for: from memory, or through a window that moves along the file.
//
// Read, not mapped: a file that is cut shorter meanwhile ends earlier, and ends nobody's process. What comes out of
// a pipe (a compressed file that another thread unpacks) is read once, from front to back.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/types.hpp"

namespace cbn::pcap {

// Something too long for any network: its front, its last four bytes, and whether the file has all of it.
struct Front {
    wire::Bytes bytes{};
    std::array<std::uint8_t, 4> last{};
    bool whole = false;
};

// A file that is in memory whole.
class MemorySource {
  public:
    explicit MemorySource(wire::Bytes file) : file_(file) {}

    [[nodiscard]] std::size_t size() const noexcept { return file_.size(); }
    [[nodiscard]] wire::Bytes at(std::size_t offset, std::size_t bytes) const noexcept {
        if (offset >= file_.size()) return {};
        return file_.subspan(offset, std::min(bytes, file_.size() - offset));
    }
    [[nodiscard]] Front front_of(std::size_t offset, std::size_t bytes, std::size_t kept) const noexcept {
        Front front;
        const wire::Bytes tail = at(offset + bytes - front.last.size(), front.last.size());
        std::copy(tail.begin(), tail.end(), front.last.begin());
        front.whole = tail.size() == front.last.size();
        front.bytes = at(offset, kept);
        return front;
    }

  private:
    wire::Bytes file_;
};

class FileSource {
  public:
    FileSource() = default;
    ~FileSource() { close(); }
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;

    // 0 or errno.
    [[nodiscard]] int open(const std::string& path) {
        descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor_ < 0) return errno;
        struct stat about {};
        if (::fstat(descriptor_, &about) != 0) return errno;
        if (S_ISDIR(about.st_mode)) return EISDIR;
        size_ = static_cast<std::size_t>(std::max<off_t>(about.st_size, 0));
        static_cast<void>(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL));
        return 0;
    }

    // Reads the open descriptor of a pipe from now on, and closes it at the end.
    void adopt(int descriptor) noexcept {
        descriptor_ = descriptor;
        stream_ = true;
        size_ = UNKNOWN;
    }

    // Nothing is read any more: whoever writes into a pipe is told so.
    void close() noexcept {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }

    // As it was when the file was opened. Of a pipe: more than there can be, until its end has been read.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // So many bytes, or fewer where the file ends; valid until the next call.
    [[nodiscard]] wire::Bytes at(std::size_t offset, std::size_t bytes) {
        if (offset < start_ || offset + bytes > start_ + filled_) [[unlikely]] fill(offset, bytes);
        const std::size_t skipped = offset < start_ ? filled_ : std::min(offset - start_, filled_);
        return {window_.get() + skipped, std::min(bytes, filled_ - skipped)};
    }

    // The first `kept` of so many bytes, more than four; valid until the next call.
    [[nodiscard]] Front front_of(std::size_t offset, std::size_t bytes, std::size_t kept) {
        Front front;
        const wire::Bytes begin = at(offset, kept);
        aside_.assign(begin.begin(), begin.end());  // a pipe does not go back to it
        const wire::Bytes tail = at(offset + bytes - front.last.size(), front.last.size());
        std::copy(tail.begin(), tail.end(), front.last.begin());
        front.whole = tail.size() == front.last.size() && aside_.size() == kept;
        front.bytes = aside_;
        return front;
    }

    // 0, or why something could not be read; the file seemed to end there.
    [[nodiscard]] int failure() const noexcept { return failure_; }

  private:
    static constexpr std::size_t WINDOW = 256 << 10;
    static constexpr std::size_t UNKNOWN = std::numeric_limits<std::size_t>::max() / 4;

    void fill(std::size_t offset, std::size_t bytes) {
        const bool within = offset >= start_ && offset < start_ + filled_;
        const std::size_t kept = within ? start_ + filled_ - offset : 0;
        reserve(bytes, within ? offset - start_ : 0, kept);
        if (!within && stream_ && !pass_over(offset)) return;
        start_ = offset;
        filled_ = kept;
        while (filled_ < bytes) {
            const std::size_t got = read(window_.get() + filled_, capacity_ - filled_, start_ + filled_);
            if (got == 0) return;
            filled_ += got;
        }
    }

    // What a pipe holds before `offset` is read and forgotten; false if it ends before, or has gone on already.
    [[nodiscard]] bool pass_over(std::size_t offset) {
        std::size_t here = start_ + filled_;
        while (here < offset) {
            const std::size_t got = read(window_.get(), std::min(capacity_, offset - here), here);
            if (got == 0) break;
            here += got;
        }
        start_ = here;
        filled_ = 0;
        return here == offset;
    }

    // How many bytes were read; 0 at the end, or where it fails.
    [[nodiscard]] std::size_t read(std::uint8_t* into, std::size_t most, std::size_t offset) {
        while (true) {
            const ssize_t got = stream_ ? ::read(descriptor_, into, most)
                                        : ::pread(descriptor_, into, most, static_cast<off_t>(offset));
            if (got > 0) return static_cast<std::size_t>(got);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) failure_ = errno;
            if (stream_) size_ = std::min(size_, offset);
            return 0;
        }
    }

    // Room for a window, or for what is asked for if that is more, with what is kept at its front.
    void reserve(std::size_t bytes, std::size_t from, std::size_t kept) {
        const std::size_t wanted = std::max(WINDOW, 2 * bytes);
        if (bytes <= capacity_) {
            if (kept != 0) std::memmove(window_.get(), window_.get() + from, kept);
            return;
        }
        std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[wanted]);
        if (kept != 0) std::memcpy(larger.get(), window_.get() + from, kept);
        window_ = std::move(larger);
        capacity_ = wanted;
    }

    int descriptor_ = -1;
    int failure_ = 0;
    bool stream_ = false;
    std::size_t size_ = 0;
    std::vector<std::uint8_t> aside_;
    std::unique_ptr<std::uint8_t[]> window_;
    std::size_t capacity_ = 0;
    std::size_t start_ = 0;
    std::size_t filled_ = 0;
};

}  // namespace cbn::pcap
