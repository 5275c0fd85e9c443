// One direction of a link: from the descriptor at one end to that at the other, and the account of it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "cable/link_model.hpp"

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

// How late things were: a histogram with a precision of 3 %, in a few kilobytes.
class Lateness {
  public:
    void add(std::int64_t late_ns) noexcept {
        const auto value = static_cast<std::uint64_t>(late_ns < 0 ? 0 : late_ns);
        ++counts_[bucket(value)];
        ++total_;
        if (value > most_) most_ = value;
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    [[nodiscard]] std::int64_t most_ns() const noexcept { return static_cast<std::int64_t>(most_); }

    // What that share of all was no later than, rounded up within the precision.
    [[nodiscard]] std::int64_t at_ns(double share) const noexcept {
        auto left = static_cast<std::int64_t>(share * static_cast<double>(total_));
        for (unsigned at = 0; at < counts_.size(); ++at) {
            left -= counts_[at];
            if (left < 0) return static_cast<std::int64_t>(std::min(upper(at), most_));
        }
        return most_ns();
    }

  private:
    static constexpr unsigned FINE = 6;  // bits kept of each value
    static constexpr unsigned LARGEST = 44;  // bits: five hours

    static unsigned bucket(std::uint64_t value) noexcept {
        value = std::min(value, (std::uint64_t{1} << LARGEST) - 1);
        const unsigned width = static_cast<unsigned>(std::bit_width(value));
        if (width <= FINE) return static_cast<unsigned>(value);
        const unsigned shift = width - FINE;
        return (shift << (FINE - 1)) + static_cast<unsigned>(value >> shift);
    }
    static std::uint64_t upper(unsigned at) noexcept {
        if (at < (1U << FINE)) return at;
        const unsigned shift = (at >> (FINE - 1)) - 1;
        const std::uint64_t top = (at & ((1U << (FINE - 1)) - 1)) | (1U << (FINE - 1));
        return ((top + 1) << shift) - 1;
    }

    std::array<std::uint32_t, (LARGEST - FINE + 2) << (FINE - 1)> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t most_ = 0;
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
    Way(int from, int to, std::uint64_t seed, std::int64_t dilate, std::uint64_t tap_frames)
        : from(from), to(to), model(seed, dilate), backlog(tap_frames) {}

    int from;
    int to;
    LinkModel model;
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
        model.empty_queue();
    }
};

}  // namespace cbn::cable
