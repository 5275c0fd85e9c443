// Bytes of a file where they are asked for: from memory, or through a window that moves along the file.
//
// Read, not mapped: a file that is cut shorter meanwhile ends earlier, and ends nobody's process.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "wire/types.hpp"

namespace cbn::pcap {

// A file that is in memory whole.
class MemorySource {
  public:
    explicit MemorySource(wire::Bytes file) : file_(file) {}

    [[nodiscard]] std::size_t size() const noexcept { return file_.size(); }
    [[nodiscard]] wire::Bytes at(std::size_t offset, std::size_t bytes) const noexcept {
        if (offset >= file_.size()) return {};
        return file_.subspan(offset, std::min(bytes, file_.size() - offset));
    }

  private:
    wire::Bytes file_;
};

class FileSource {
  public:
    FileSource() = default;
    ~FileSource() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
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

    // As it was when the file was opened.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // So many bytes, or fewer where the file ends; valid until the next call.
    [[nodiscard]] wire::Bytes at(std::size_t offset, std::size_t bytes) {
        if (offset < start_ || offset + bytes > start_ + filled_) [[unlikely]] fill(offset, bytes);
        const std::size_t skipped = std::min(offset - start_, filled_);
        return {window_.get() + skipped, std::min(bytes, filled_ - skipped)};
    }

    // 0, or why something could not be read; the file seemed to end there.
    [[nodiscard]] int failure() const noexcept { return failure_; }

  private:
    static constexpr std::size_t WINDOW = 256 << 10;

    void fill(std::size_t offset, std::size_t bytes) {
        const bool within = offset >= start_ && offset < start_ + filled_;
        const std::size_t kept = within ? start_ + filled_ - offset : 0;
        reserve(bytes, within ? offset - start_ : 0, kept);
        start_ = offset;
        filled_ = kept;
        while (filled_ < bytes) {
            const ssize_t got = ::pread(descriptor_, window_.get() + filled_, capacity_ - filled_,
                                        static_cast<off_t>(start_ + filled_));
            if (got > 0) filled_ += static_cast<std::size_t>(got);
            else if (got == 0) return;
            else if (errno != EINTR) {
                failure_ = errno;
                return;
            }
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
    std::size_t size_ = 0;
    std::unique_ptr<std::uint8_t[]> window_;
    std::size_t capacity_ = 0;
    std::size_t start_ = 0;
    std::size_t filled_ = 0;
};

}  // namespace cbn::pcap
