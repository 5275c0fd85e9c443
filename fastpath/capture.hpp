// Copies frames from packet sockets into pcap files, one loop for all interfaces of a run.
//
// The kernel stamps each frame; nothing is filtered or decoded here. What the kernel had to drop and what the
// disk would not take is counted.
#pragma once

#include <linux/if_packet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "capture_file.hpp"
#include "signal.hpp"

namespace cbn {

// A batch of frames with their time stamps.
class FrameBatch {
  public:
    static constexpr unsigned SIZE = 64;

    explicit FrameBatch(std::size_t snap_bytes) : snap_(snap_bytes), memory_(new std::uint8_t[SIZE * snap_bytes]) {}

    // How many arrived, or -1 and errno.
    [[nodiscard]] int receive(int descriptor) {
        for (unsigned at = 0; at < SIZE; ++at) {
            parts_[at] = {memory_.get() + at * snap_, snap_};
            msghdr& header = headers_[at].msg_hdr;
            header = {};
            header.msg_iov = &parts_[at];
            header.msg_iovlen = 1;
            header.msg_control = ancillary_[at].data;
            header.msg_controllen = sizeof ancillary_[at].data;
        }
        // MSG_TRUNC: the length told is the frame's own, also where the buffer was too short for it.
        return ::recvmmsg(descriptor, headers_.data(), SIZE, MSG_DONTWAIT | MSG_TRUNC, nullptr);
    }

    [[nodiscard]] std::uint32_t original(int index) const { return headers_[static_cast<unsigned>(index)].msg_len; }
    [[nodiscard]] wire::Bytes frame(int index) const {
        return {memory_.get() + static_cast<unsigned>(index) * snap_, std::min<std::size_t>(original(index), snap_)};
    }
    [[nodiscard]] std::int64_t time_ns(int index) {
        msghdr& header = headers_[static_cast<unsigned>(index)].msg_hdr;
        for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
            if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SO_TIMESTAMPNS) continue;
            timespec stamp{};
            std::memcpy(&stamp, CMSG_DATA(each), sizeof stamp);
            return nanoseconds(stamp);
        }
        return now_ns();
    }

    [[nodiscard]] static std::int64_t now_ns() noexcept {
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        return nanoseconds(now);
    }

  private:
    struct alignas(cmsghdr) Ancillary {
        std::uint8_t data[CMSG_SPACE(sizeof(timespec))];
    };

    static std::int64_t nanoseconds(const timespec& time) noexcept {
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }

    std::size_t snap_;
    std::unique_ptr<std::uint8_t[]> memory_;
    std::array<iovec, SIZE> parts_{};
    std::array<mmsghdr, SIZE> headers_{};
    std::array<Ancillary, SIZE> ancillary_{};
};

// One packet socket and its file.
class Tap {
  public:
    explicit Tap(int descriptor) : descriptor_(descriptor) {}

    // 0, or the errno; `SO_RCVBUFFORCE` needs a privilege that `SO_RCVBUF` does not, up to the system's limit.
    [[nodiscard]] int prepare() {
        const int on = 1, size = RECEIVE_BYTES;
        if (::setsockopt(descriptor_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) return errno;
        if (::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0 &&
            ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) != 0) {
            return errno;
        }
        return read_statistics() ? 0 : errno;
    }

    // Takes one batch; how many frames it had.
    std::size_t copy(FrameBatch& batch) {
        const int count = batch.receive(descriptor_);
        if (count < 0 && errno != EAGAIN && errno != EINTR) ++read_errors_;  // ENETDOWN: told once when a link goes
        for (int at = 0; at < count; ++at) file.append(batch.time_ns(at), batch.original(at), batch.frame(at));
        return count < 0 ? 0 : static_cast<std::size_t>(count);
    }

    // What the socket holds now, which is no more than its buffer has room for: traffic that goes on for ever
    // does not keep us.
    void drain(FrameBatch& batch) {
        int room = 0;
        socklen_t size = sizeof room;
        static_cast<void>(::getsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &room, &size));
        for (std::size_t left = static_cast<std::size_t>(room) / SMALLEST + 1; left > 0;) {
            const std::size_t taken = copy(batch);
            if (taken == 0) break;
            left -= std::min(taken, left);
        }
        read_statistics();
        ended_ = true;  // the descriptor is the caller's again
        file.close();
    }

    [[nodiscard]] std::uint64_t kernel_drops() {
        if (!ended_) read_statistics();
        return kernel_drops_;
    }
    [[nodiscard]] std::uint64_t read_errors() const noexcept { return read_errors_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    CaptureFile file;

  private:
    static constexpr int RECEIVE_BYTES = 32 << 20;
    static constexpr std::size_t SMALLEST = 512;  // no frame costs a socket's buffer less, with what the kernel adds

    // Reading sets the kernel's counts back to zero.
    bool read_statistics() {
        tpacket_stats told{};
        socklen_t size = sizeof told;
        if (::getsockopt(descriptor_, SOL_PACKET, PACKET_STATISTICS, &told, &size) != 0) return false;
        kernel_drops_ += told.tp_drops;
        return true;
    }

    int descriptor_;
    std::atomic<bool> ended_{false};
    std::atomic<std::uint64_t> kernel_drops_{0};
    std::atomic<std::uint64_t> read_errors_{0};
};

class Recorder {
  public:
    explicit Recorder(std::size_t snap_bytes) : snap_(static_cast<std::uint32_t>(snap_bytes)), batch_(snap_bytes) {}

    // 0, or the errno of what went wrong with the socket (`about_file` false) or the file.
    [[nodiscard]] int add(int descriptor, const std::string& path, bool& about_file) {
        auto tap = std::make_unique<Tap>(descriptor);
        about_file = false;
        if (const int failure = tap->prepare(); failure != 0) return failure;
        about_file = true;
        if (const int failure = tap->file.open(path, snap_); failure != 0) return failure;
        taps_.push_back(std::move(tap));
        return 0;
    }

    void stop() const noexcept { stop_.raise(); }

    // Copies until `stop`, then what the sockets hold; 0 or errno.
    [[nodiscard]] int run() {
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll < 0) return errno;
        const int failure = watch(epoll) && serve(epoll) ? 0 : errno;
        ::close(epoll);
        for (const auto& tap : taps_) tap->drain(batch_);
        return failure;
    }

    [[nodiscard]] std::size_t size() const noexcept { return taps_.size(); }
    [[nodiscard]] Tap& tap(std::size_t index) { return *taps_[index]; }

  private:
    static constexpr std::uint64_t STOP = ~std::uint64_t{0};
    static constexpr int IDLE_MS = 200;

    [[nodiscard]] bool watch(int epoll) const noexcept {
        for (std::size_t at = 0; at < taps_.size(); ++at) {
            if (!watch_readable(epoll, taps_[at]->descriptor(), at)) return false;
        }
        return watch_readable(epoll, stop_.descriptor(), STOP);
    }

    // Files are brought up to date when nothing has come for a while, so that a kill loses little.
    [[nodiscard]] bool serve(int epoll) {
        std::array<epoll_event, 64> events{};
        while (true) {
            const int wait_ms = dirty() ? IDLE_MS : -1;
            const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), wait_ms);
            if (ready < 0 && errno != EINTR) return false;
            if (ready == 0) flush();
            for (int at = 0; at < ready; ++at) {
                const std::uint64_t mark = events[static_cast<std::size_t>(at)].data.u64;
                if (mark == STOP) return true;
                taps_[mark]->copy(batch_);
            }
        }
    }

    [[nodiscard]] bool dirty() const {
        return std::any_of(taps_.begin(), taps_.end(), [](const auto& tap) { return tap->file.dirty(); });
    }

    void flush() {
        for (const auto& tap : taps_) {
            if (tap->file.dirty()) tap->file.flush();
        }
    }

    std::uint32_t snap_;
    FrameBatch batch_;
    std::vector<std::unique_ptr<Tap>> taps_;
    Signal stop_;
};

}  // namespace cbn
