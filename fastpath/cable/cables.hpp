// Carries frames between pairs of descriptors (taps, connected UDP sockets), one loop for all links of a run.
//
// The model of its link decides what happens to each frame; it is handed over when it is due. What was not asked
// for (no memory, a descriptor that takes nothing) is counted as an overrun, and how late each frame
// was handed over is kept.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

#include "cable/pool.hpp"
#include "cable/way.hpp"
#include "signal.hpp"

namespace cbn::cable {

struct Account {
    Counts counts;
    std::uint64_t measured = 0;
    std::int64_t late_p50_ns = 0;
    std::int64_t late_p99_ns = 0;
    std::int64_t late_max_ns = 0;
};

class Cables {
  public:
    Cables(std::size_t frame_bytes, std::size_t memory_bytes, std::uint64_t tap_frames, std::int64_t dilate)
        : frame_bytes_(frame_bytes), tap_frames_(tap_frames), dilate_(dilate), pool_(frame_bytes + 1, memory_bytes),
          scratch_(frame_bytes + 1) {}

    // Two ways, whose numbers are 2n and 2n + 1 of link n. Before `run`.
    std::size_t join(int a, int b, std::uint64_t seed_from_a, std::uint64_t seed_from_b) {
        ways_.push_back(std::make_unique<Way>(a, b, seed_from_a, dilate_, tap_frames_));
        ways_.push_back(std::make_unique<Way>(b, a, seed_from_b, dilate_, tap_frames_));
        return ways_.size() / 2 - 1;
    }

    [[nodiscard]] std::size_t links() const noexcept { return ways_.size() / 2; }

    // The next five may be called from any thread, also while the loop runs: they happen between two frames,
    // after all frames that were sent before.
    void impair(std::size_t link, const Impairment& from_a, const Impairment& from_b) {
        between([&] {
            take_all(link);
            ways_[2 * link]->model.impair(from_a);
            ways_[2 * link + 1]->model.impair(from_b);
        });
    }
    void cut(std::size_t link) {
        between([&] {
            take_all(link);
            ways_[2 * link]->cut();
            ways_[2 * link + 1]->cut();
        });
    }
    void repair(std::size_t link) {
        between([&] {
            take_all(link);
            ways_[2 * link]->up = ways_[2 * link + 1]->up = true;
        });
    }
    // What was late until now counts no more.
    void count_lateness_anew() {
        between([&] {
            for (const auto& way : ways_) way->lateness = Lateness{};
        });
    }
    [[nodiscard]] Account account(std::size_t way) {
        Account account;
        Lateness late;
        between([&] {
            account.counts = ways_[way]->counts;
            late = ways_[way]->lateness;
        });
        account.measured = late.total();
        account.late_p50_ns = late.at_ns(0.5);
        account.late_p99_ns = late.at_ns(0.99);
        account.late_max_ns = late.most_ns();
        return account;
    }

    void stop() const noexcept { stop_.raise(); }

    // Carries until `stop`; 0 or errno.
    [[nodiscard]] int run() {
        std::unique_lock<std::mutex> inside(door_);
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll_ < 0) return errno;
        const int failure = watch() && serve(inside) ? 0 : errno;
        ::close(epoll_);
        epoll_ = -1;
        return failure;
    }

  private:
    static constexpr std::uint64_t STOP = ~std::uint64_t{0};
    static constexpr int BATCH = 64;
    static constexpr std::int64_t BLOCKED_NS = 5'000;  // a wait that took longer was one

    [[nodiscard]] static std::int64_t now_ns() noexcept {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        return std::int64_t{now.tv_sec} * RateQueue::SECOND_NS + now.tv_nsec;
    }

    // The loop lets callers in between two frames, and they are let in at once however busy it is.
    template <class Change>
    void between(Change&& change) {
        wanted_.fetch_add(1);
        std::unique_lock<std::mutex> inside(door_);
        change();
        wanted_.fetch_sub(1);
        inside.unlock();
        let_in_.notify_all();
    }
    void let_callers_in(std::unique_lock<std::mutex>& inside) {
        if (wanted_.load() > 0) let_in_.wait(inside, [this] { return wanted_.load() == 0; });
    }

    [[nodiscard]] bool watch() const noexcept {
        for (std::size_t at = 0; at < ways_.size(); ++at) {
            if (!watch_readable(epoll_, ways_[at]->from, at)) return false;
        }
        return watch_readable(epoll_, stop_.descriptor(), STOP);
    }

    [[nodiscard]] bool serve(std::unique_lock<std::mutex>& inside) {
        std::vector<epoll_event> events(ways_.size() + 1);  // room for all: a way without an event was empty
        seen_ns_ = now_ns();
        while (true) {
            let_callers_in(inside);
            hand_over();
            const std::int64_t asked_ns = now_ns();
            const std::int64_t due_ns = departures_.empty() ? -1 : departures_.next_due_ns();
            asleep_ = true;
            inside.unlock();
            const int ready = wait(events, due_ns < 0 ? -1 : std::max<std::int64_t>(due_ns - asked_ns, 0));
            const int error = errno;
            inside.lock();
            asleep_ = false;
            if (ready < 0 && error != EINTR) {
                errno = error;
                return false;
            }
            const std::int64_t back_ns = now_ns();
            // What came while we slept woke us at once; else it may have come any time since we last looked.
            const std::int64_t empty_ns = back_ns - asked_ns > BLOCKED_NS ? back_ns : seen_ns_;
            for (int at = 0; at < ready; ++at) {
                const std::uint64_t mark = events[static_cast<std::size_t>(at)].data.u64;
                if (mark == STOP) return true;
                take(static_cast<std::uint32_t>(mark), empty_ns);
                hand_over();
            }
            seen_ns_ = back_ns;
        }
    }

    [[nodiscard]] int wait(std::vector<epoll_event>& events, std::int64_t for_ns) const noexcept {
        timespec time{for_ns / RateQueue::SECOND_NS, for_ns % RateQueue::SECOND_NS};
        return ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), for_ns < 0 ? nullptr : &time,
                              nullptr);
    }

    // Takes what both taps of a link hold now. The loop, if it sleeps, has been woken by these frames.
    void take_all(std::size_t link) {
        for (const std::size_t at : {2 * link, 2 * link + 1}) {
            for (std::uint64_t left = tap_frames_ / BATCH + 1; left > 0; --left) {
                take(static_cast<std::uint32_t>(at), asleep_ ? now_ns() : seen_ns_);
                if (ways_[at]->drained) break;
            }
        }
    }

    // Takes what a tap has, up to a batch, so that the others have their turn.
    void take(std::uint32_t at, std::int64_t empty_ns) {
        Way& way = *ways_[at];
        if (way.drained) way.backlog.seen_empty(std::max(empty_ns, way.backlog.since_ns()));
        way.drained = false;
        for (int count = 0; count < BATCH; ++count) {
            const std::uint32_t slot = pool_.take();
            std::uint8_t* bytes = slot == Pool::NONE ? scratch_.data() : pool_.bytes(slot);
            const ssize_t size = ::read(way.from, bytes, frame_bytes_ + 1);
            const int error = errno;
            const std::int64_t read_ns = now_ns();
            if (size > 0) {
                way.backlog.read_one(read_ns);
                admit(at, slot, static_cast<std::size_t>(size), read_ns);
                continue;
            }
            if (slot != Pool::NONE) pool_.give(slot);
            // A socket reports once that nobody listened at the other end when it sent; it goes on.
            if (size < 0 && (error == EINTR || error == ECONNREFUSED)) continue;
            if (size == 0 || error != EAGAIN) give_up(way, size == 0 ? EPIPE : error);
            way.drained = true;
            way.backlog.seen_empty(read_ns);
            return;
        }
    }

    // Its tap is gone: to watch it further would keep us busy for nothing.
    void give_up(Way& way, int error) noexcept {
        way.counts.last_error = error;
        static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_DEL, way.from, nullptr));
    }

    // A frame enters the link; from here on its slot is given back once.
    void admit(std::uint32_t at, std::uint32_t slot, std::size_t size, std::int64_t read_ns) {
        Way& way = *ways_[at];
        ++way.counts.frames;
        way.counts.bytes += size;
        Decision decided;
        std::uint64_t* lost = nullptr;
        if (!way.up) lost = &way.counts.lost_down;
        else if (slot == Pool::NONE || size > frame_bytes_) lost = &way.counts.overruns;
        else if (decided = way.model.send(read_ns, size); !decided.has_room) lost = &way.counts.lost_queue;
        else if (decided.count == 0) lost = &way.counts.lost;
        if (lost != nullptr) {
            ++*lost;
            if (slot != Pool::NONE) pool_.give(slot);
            return;
        }
        const std::int64_t waited_ns = read_ns - way.backlog.since_ns();
        const Flight flight{0, 0, waited_ns, slot, static_cast<std::uint32_t>(size), at, way.life};
        if (decided.count > 1) depart_twin(way, flight, decided.copies[1]);
        depart(way, flight, decided.copies[0]);
    }

    void depart_twin(Way& way, Flight flight, const Copy& copy) {
        ++way.counts.duplicated;
        const std::uint32_t slot = pool_.take();
        if (slot == Pool::NONE) {
            ++way.counts.overruns;
            return;
        }
        std::memcpy(pool_.bytes(slot), pool_.bytes(flight.slot), flight.size);
        flight.slot = slot;
        depart(way, flight, copy);
    }

    void depart(Way& way, Flight flight, const Copy& copy) {
        flight.due_ns = copy.arrives_ns;
        if (copy.reorders) ++way.counts.reordered;
        if (copy.wrong_bit >= 0) {
            ++way.counts.corrupted;
            pool_.bytes(flight.slot)[copy.wrong_bit / 8] ^= static_cast<std::uint8_t>(1U << (copy.wrong_bit % 8));
        }
        ++way.counts.underway;
        departures_.add(flight);
    }

    // Hands over what is due, so much of it that the taps have their turn.
    void hand_over() {
        for (int left = 4 * BATCH; left > 0 && !departures_.empty(); --left) {
            const std::int64_t time_ns = now_ns();
            if (departures_.next_due_ns() > time_ns) return;
            const Flight flight = departures_.pop();
            Way& way = *ways_[flight.way];
            if (flight.life == way.life) {
                --way.counts.underway;
                hand_over(way, flight, time_ns);
            }
            pool_.give(flight.slot);
        }
    }

    void hand_over(Way& way, const Flight& flight, std::int64_t time_ns) noexcept {
        ssize_t written = ::write(way.to, pool_.bytes(flight.slot), flight.size);
        // That was about a frame before this one, as in `take`.
        if (written < 0 && errno == ECONNREFUSED) written = ::write(way.to, pool_.bytes(flight.slot), flight.size);
        if (written == static_cast<ssize_t>(flight.size)) {
            ++way.counts.delivered;
            way.lateness.add(time_ns - flight.due_ns + flight.waited_ns);
        } else {
            ++way.counts.overruns;
            way.counts.last_error = written < 0 ? errno : EMSGSIZE;
        }
    }

    std::size_t frame_bytes_;
    std::uint64_t tap_frames_;
    std::int64_t dilate_;
    Pool pool_;
    std::vector<std::uint8_t> scratch_;  // for what there is no room for
    std::vector<std::unique_ptr<Way>> ways_;
    Departures departures_;
    int epoll_ = -1;
    std::int64_t seen_ns_ = 0;  // when all taps were last looked at
    bool asleep_ = false;
    Signal stop_;
    std::mutex door_;  // to all of the above, held by the loop but for when it waits
    std::condition_variable let_in_;
    std::atomic<int> wanted_{0};
};

}  // namespace cbn::cable
