// A file that grows by whole pieces: after a failure it ends where it ended before.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace cbn {

class Output {
  public:
    Output() = default;
    ~Output() { close(); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    Output& operator=(Output&& other) noexcept {
        close();
        path_ = std::move(other.path_);
        descriptor_ = std::exchange(other.descriptor_, -1);
        size_ = std::exchange(other.size_, 0);
        keep_open_ = other.keep_open_;
        return *this;
    }

    // 0 or errno. One that is not kept open is opened for each piece, so that any number may be written at a time.
    [[nodiscard]] int create(const std::string& path, bool keep_open) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (descriptor_ < 0) return errno;
        path_ = path;
        keep_open_ = keep_open;
        if (!keep_open) close();
        return 0;
    }

    // 0, or errno and nothing is added.
    [[nodiscard]] int append(const void* data, std::size_t bytes) {
        if (descriptor_ < 0 && (descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC)) < 0) return errno;
        const int failure = write(static_cast<const std::uint8_t*>(data), bytes);
        if (failure == 0) size_ += bytes;
        else if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) return errno;
        if (!keep_open_) close();
        return failure;
    }

    void close() noexcept {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }

    [[nodiscard]] bool exists() const noexcept { return !path_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    [[nodiscard]] int write(const std::uint8_t* data, std::size_t bytes) const {
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t written = ::pwrite(descriptor_, data + done, bytes - done, static_cast<off_t>(size_ + done));
            if (written > 0) done += static_cast<std::size_t>(written);
            else if (written == 0) return ENOSPC;
            else if (errno != EINTR) return errno;
        }
        return 0;
    }

    std::string path_;
    int descriptor_ = -1;
    std::size_t size_ = 0;
    bool keep_open_ = true;
};

}  // namespace cbn
