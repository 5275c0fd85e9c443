// One direction of a link: from the descriptor at one end to that at the other, and the account of it.
#pragma once

#include <cstdint>
#include <deque>

#include "cable/fate.hpp"
#include "cable/lateness.hpp"

namespace cbn::cable {

// frames + duplicated = delivered + all that was lost + overruns + underway
struct Counts {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t lost_queue = 0;
    std::uint64_t lost_down = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t overruns = 0;
    std::uint64_t underway = 0;
    int last_error = 0;
};

// What waits for a link's rate; as in the simulator (testbed/sim/link.py), and exact: the link sends one frame
// after the other in its own time, however late we look.
class RateQueue {
  public:
    static constexpr std::int64_t LONGEST_NS = 500'000'000;
    static constexpr std::int64_t SECOND_NS = 1'000'000'000;
    static constexpr std::int64_t FOREVER_NS = std::int64_t{1} << 58;

    struct Turn {
        bool has_room = true;
        std::int64_t start_ns = 0;
        std::int64_t took_ns = 0;
    };

    // `dilate`: how many times slower than real time all goes.
    Turn enter(std::int64_t now_ns, std::size_t size, const Impairment& does, std::int64_t dilate) {
        while (!waiting_.empty() && waiting_.front().start_ns <= now_ns) {
            waiting_bytes_ -= waiting_.front().size;
            waiting_.pop_front();
        }
        const std::int64_t start_ns = std::max(now_ns, busy_until_ns_);
        const auto bytes = static_cast<std::int64_t>(size);
        if (start_ns > now_ns && !has_room(start_ns - now_ns, bytes, does, dilate)) return {false, 0, 0};
        __extension__ using Wide = __int128;
        const Wide exact_ns = Wide{bytes} * 8 * SECOND_NS * dilate / does.rate_bps;
        const auto took_ns = static_cast<std::int64_t>(std::min<Wide>(exact_ns, FOREVER_NS));
        busy_until_ns_ = start_ns + took_ns;
        if (start_ns > now_ns) {
            waiting_.push_back({start_ns, bytes});
            waiting_bytes_ += bytes;
        }
        return {true, start_ns, took_ns};
    }

    void clear() noexcept {
        waiting_.clear();
        waiting_bytes_ = busy_until_ns_ = 0;
    }

  private:
    struct Waiting {
        std::int64_t start_ns = 0;
        std::int64_t size = 0;
    };

    [[nodiscard]] bool has_room(std::int64_t wait_ns, std::int64_t size, const Impairment& does,
                                std::int64_t dilate) const noexcept {
        return wait_ns <= LONGEST_NS * dilate &&
               (does.queue_packets < 0 || static_cast<std::int64_t>(waiting_.size()) < does.queue_packets) &&
               (does.queue_bytes < 0 || waiting_bytes_ + size <= does.queue_bytes);
    }

    std::deque<Waiting> waiting_;
    std::int64_t waiting_bytes_ = 0;
    std::int64_t busy_until_ns_ = 0;
};

// Since when a frame that is read now may have been waiting in its tap. It cannot be known, but bounded: by when
// the tap was last seen empty, and by when as many frames as the tap holds had been read.
class Backlog {
  public:
    explicit Backlog(std::uint64_t tap_frames) : holds_(tap_frames) {}

    void seen_empty(std::int64_t now_ns) noexcept {
        before_ns_ = mark_ns_ = now_ns;
        read_ = 0;
    }
    void read_one(std::int64_t now_ns) noexcept {
        if (++read_ < holds_) return;
        before_ns_ = mark_ns_;
        mark_ns_ = now_ns;
        read_ = 0;
    }
    [[nodiscard]] std::int64_t since_ns() const noexcept { return before_ns_; }

  private:
    std::uint64_t holds_;
    std::uint64_t read_ = 0;
    std::int64_t mark_ns_ = 0;
    std::int64_t before_ns_ = 0;
};

struct Way {
    Way(int from, int to, std::uint64_t seed, std::uint64_t tap_frames)
        : from(from), to(to), fate(seed), backlog(tap_frames) {}

    int from;
    int to;
    Fate fate;
    RateQueue queue;
    Backlog backlog;
    Counts counts;
    Lateness lateness;
    std::uint32_t life = 0;
    bool up = true;
    bool drained = true;

    // What is on its way is lost, and what comes.
    void cut() {
        up = false;
        ++life;
        counts.lost_down += counts.underway;
        counts.underway = 0;
        queue.clear();
    }
};

}  // namespace cbn::cable
