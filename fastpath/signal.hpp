// A file descriptor that becomes readable when somebody signals; for loops that wait with epoll.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace cbn {

class Signal {
  public:
    Signal() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
    ~Signal() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    void raise() const noexcept { static_cast<void>(::eventfd_write(descriptor_, 1)); }
    void clear() const noexcept {
        eventfd_t ignored = 0;
        static_cast<void>(::eventfd_read(descriptor_, &ignored));
    }

  private:
    int descriptor_;
};

// `mark` comes back with the event. False and errno if the descriptor cannot be watched.
[[nodiscard]] inline bool watch_readable(int epoll, int descriptor, std::uint64_t mark) noexcept {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = mark;
    return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace cbn
