// Copies frames from packet sockets into capture files, one loop for all interfaces of a run.
//
// The kernel stamps each frame; nothing is filtered or decoded here. What the kernel had to drop and what the
// disk would not take is counted.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capture/file.hpp"
#include "capture/source.hpp"
#include "signal.hpp"

namespace cbn {

// Emulated time: both clocks agree at `from_ns`, and the emulated one runs `rate` times slower.
struct EmulatedClock {
    std::int64_t from_ns = 0;
    std::int64_t rate = 1;

    [[nodiscard]] std::int64_t at(std::int64_t real_ns) const noexcept {
        if (rate == 1) return real_ns;
        const std::int64_t passed = real_ns - from_ns, whole = passed / rate;
        return from_ns + whole - (passed % rate < 0 ? 1 : 0);  // rounded down, as in the nodes
    }
};

struct RecorderOptions {
    CaptureOptions file;
    EmulatedClock clock;
    std::size_t memory_bytes = 512 << 20;  // of all sockets together, at most, while frames wait
    std::size_t sockets = 1;
    bool rings = false;
};

// One packet socket and its file.
class Tap {
  public:
    Tap(int descriptor, const EmulatedClock& clock) : descriptor_(descriptor), clock_(clock) {}

    // 0, or the errno. A kernel that gives no memory for a ring gives batches.
    [[nodiscard]] int prepare(const RecorderOptions& options) {
        snap_ = options.file.snap_bytes;
        if (!read_statistics()) return errno;
        const RingSize size = RingSize::of(options.memory_bytes / RINGS_SHARE, options.sockets, snap_);
        const int failure = options.rings ? ring_.open(descriptor_, size) : ENOMEM;
        if (failure == 0) return begin_ring();
        if (failure != ENOMEM && failure != EPERM) return failure;
        const std::size_t share = options.memory_bytes / options.sockets;
        const auto room = std::clamp<std::size_t>(share, LEAST_ROOM, MOST_ROOM);
        return FrameBatch::prepare(descriptor_, static_cast<int>(room / 2));  // the kernel takes twice what is asked
    }

    // Takes what there is, or one batch of it; how many frames.
    std::size_t copy(FrameBatch& batch) {
        const auto keep = [this](std::int64_t time_ns, std::uint32_t original, wire::Bytes frame, unsigned status) {
            if ((status & TP_STATUS_CSUMNOTREADY) != 0) unfinished_.fetch_add(1, std::memory_order_relaxed);
            file.append(clock_.at(time_ns), original, frame.first(std::min<std::size_t>(frame.size(), snap_)));
        };
        std::size_t count = 0;
        if (ring_.is_open()) {
            count = ring_.take(keep);
        } else {
            const int got = batch.take(descriptor_, keep);
            if (got < 0 && errno != EAGAIN && errno != EINTR) ++read_errors_;  // ENETDOWN: reported once when a link goes
            count = got < 0 ? 0 : static_cast<std::size_t>(got);
        }
        taken_ += count;
        return count;
    }

    // What the socket has to tell besides frames: that its interface went down, say.
    void take_error() {
        int error = 0;
        socklen_t size = sizeof error;
        if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0) ++read_errors_;
    }

    // What is to be taken yet of all that had come when this was first called. Traffic that goes on for ever
    // does not keep us.
    [[nodiscard]] std::uint64_t open_frames() {
        if (!ending_) {
            ending_ = read_statistics();
            target_ = offered_;
        }
        return taken_ >= target_ ? 0 : target_ - taken_;
    }

    // Frames that the kernel counted and never handed over are lost ones.
    void end() {
        kernel_drops_ += open_frames();
        sockaddr_ll about{};
        socklen_t size = sizeof about;
        gone_ = ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&about), &size) == 0 && about.sll_ifindex < 0;
        ended_ = true;  // the descriptor is the caller's again
        file.close(kernel_drops_);
    }

    void flush() {
        if (!file.dirty()) return;
        read_statistics();
        file.set_dropped(kernel_drops_);
        file.flush();
    }

    [[nodiscard]] std::uint64_t kernel_drops() {
        if (!ended_) read_statistics();
        return kernel_drops_;
    }
    [[nodiscard]] std::uint64_t read_errors() const noexcept { return read_errors_; }
    [[nodiscard]] std::uint64_t unfinished() const noexcept { return unfinished_; }
    [[nodiscard]] bool gone() const noexcept { return gone_; }
    [[nodiscard]] bool has_ring() const noexcept { return ring_.is_open(); }
    [[nodiscard]] std::size_t ring_bytes() const noexcept { return ring_.bytes(); }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    CaptureFile file;

  private:
    static constexpr std::size_t LEAST_ROOM = 256 << 10, MOST_ROOM = 32 << 20;
    static constexpr std::size_t RINGS_SHARE = 4;  // they take their memory whether frames wait or not

    // What came before there was a ring is not in it, and not counted.
    [[nodiscard]] int begin_ring() {
        if (const int failure = limit_snap(descriptor_, snap_); failure != 0) return failure;
        if (!read_statistics()) return errno;
        offered_ = kernel_drops_ = 0;
        return 0;
    }

    // Reading sets the kernel's counts back to zero. Its packets include the drops.
    bool read_statistics() {
        const std::lock_guard guard(reading_);
        tpacket_stats_v3 counted{};
        socklen_t size = sizeof counted;
        if (::getsockopt(descriptor_, SOL_PACKET, PACKET_STATISTICS, &counted, &size) != 0) return false;
        kernel_drops_ += counted.tp_drops;
        offered_ += counted.tp_packets - counted.tp_drops;
        return true;
    }

    int descriptor_;
    EmulatedClock clock_;
    std::size_t snap_ = 0;
    Ring ring_;
    std::mutex reading_;
    bool ending_ = false;
    std::uint64_t taken_ = 0;
    std::uint64_t target_ = 0;
    std::atomic<std::uint64_t> offered_{0};
    std::atomic<bool> ended_{false};
    std::atomic<bool> gone_{false};
    std::atomic<std::uint64_t> kernel_drops_{0};
    std::atomic<std::uint64_t> read_errors_{0};
    std::atomic<std::uint64_t> unfinished_{0};
};

class Recorder {
  public:
    explicit Recorder(const RecorderOptions& options) : options_(options), batch_(options.file.snap_bytes) {}

    void add(int descriptor, const std::string& path, const std::string& interface) {
        taps_.push_back(std::make_unique<Tap>(descriptor, options_.clock));
        files_.emplace_back(path, interface);
    }

    // What went wrong with the first socket (`about_file` false) or file that will not do, or errno 0.
    struct Failure {
        int number = 0;
        std::size_t tap = 0;
        bool about_file = false;
    };

    // Makes all ready; from now on no frame is missed.
    [[nodiscard]] Failure begin() {
        const std::vector<int> failures = prepare();
        for (std::size_t at = 0; at < taps_.size(); ++at) {
            if (failures[at] != 0) return {failures[at], at, false};
        }
        for (std::size_t at = 0; at < taps_.size(); ++at) {
            CaptureOptions file = options_.file;
            file.interface = files_[at].second;
            if (const int number = taps_[at]->file.open(files_[at].first, file)) return {number, at, true};
        }
        return {};
    }

    void stop() const noexcept { stop_.raise(); }

    // Copies until `stop`, then what the sockets hold; 0 or errno.
    [[nodiscard]] int run() {
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll < 0) return errno;
        const int failure = watch(epoll) && serve(epoll) ? 0 : errno;
        ::close(epoll);
        drain();
        for (const auto& tap : taps_) tap->end();
        return failure;
    }

    [[nodiscard]] std::size_t size() const noexcept { return taps_.size(); }
    [[nodiscard]] Tap& tap(std::size_t index) { return *taps_[index]; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t AT_ONCE = 64;
    static constexpr int GATHER_MS = 5;
    static constexpr std::uint64_t STOP = ~std::uint64_t{0};
    static constexpr std::chrono::milliseconds IDLE{200}, BUSY{1000}, DRAIN{2000};

    // The kernel makes each ring wait until no processor looks at the socket as it was (an RCU grace period):
    // many wait together in the time of one.
    [[nodiscard]] std::vector<int> prepare() {
        std::vector<int> failures(taps_.size());
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t at = next++; at < taps_.size(); at = next++) failures[at] = taps_[at]->prepare(options_);
        };
        std::vector<std::jthread> threads;
        for (std::size_t left = std::min(AT_ONCE, taps_.size()); left > 1; --left) threads.emplace_back(work);
        work();
        threads.clear();
        return failures;
    }

    [[nodiscard]] bool watch(int epoll) const noexcept {
        for (std::size_t at = 0; at < taps_.size(); ++at) {
            if (!watch_readable(epoll, taps_[at]->descriptor(), at)) return false;
        }
        return watch_readable(epoll, stop_.descriptor(), STOP);
    }

    // Files are brought up to date when nothing has come for a while, and now and then, so that a kill loses little.
    [[nodiscard]] bool serve(int epoll) {
        std::array<epoll_event, 1024> events{};
        Clock::time_point flushed = Clock::now();
        while (true) {
            const int wait_ms = dirty() ? static_cast<int>(IDLE.count()) : -1;
            const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), wait_ms);
            if (ready < 0 && errno != EINTR) return false;
            for (int at = 0; at < ready; ++at) {
                const epoll_event& event = events[static_cast<std::size_t>(at)];
                if (event.data.u64 == STOP) return true;
                if ((event.events & EPOLLERR) != 0) taps_[event.data.u64]->take_error();
                while (taps_[event.data.u64]->copy(batch_) >= FrameBatch::SIZE) dirty_ = true;
                dirty_ = true;
            }
            if (ready > 0) gather();
            if (ready != 0 && Clock::now() - flushed < BUSY) continue;
            flush();
            flushed = Clock::now();
        }
    }

    // Frames are taken many at a time: to be woken for each costs more than to take it.
    void gather() const noexcept {
        pollfd stopped{stop_.descriptor(), POLLIN, 0};
        static_cast<void>(::poll(&stopped, 1, GATHER_MS));
    }

    // A ring hands its last block over when its time is up, not before.
    void drain() {
        const Clock::time_point end = Clock::now() + DRAIN;
        while (take_rest() && Clock::now() < end) static_cast<void>(::poll(nullptr, 0, 5));
    }

    // Whether there is more to come.
    bool take_rest() {
        bool open = false;
        for (const auto& tap : taps_) {
            while (tap->open_frames() != 0 && tap->copy(batch_) != 0) {}
            open |= tap->open_frames() != 0;
        }
        return open;
    }

    [[nodiscard]] bool dirty() const noexcept { return dirty_; }

    void flush() {
        for (const auto& tap : taps_) tap->flush();
        dirty_ = false;
    }

    RecorderOptions options_;
    FrameBatch batch_;
    std::vector<std::unique_ptr<Tap>> taps_;
    std::vector<std::pair<std::string, std::string>> files_;  // path and name of the interface
    Signal stop_;
    bool dirty_ = false;
};

}  // namespace cbn
