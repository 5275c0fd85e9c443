// What a link does to the frames of one direction: which are lost, doubled, damaged, late or early, and which find
// no room in the queue for its rate.
//
// The simulator and the wires of the emulated world ask the same model. A link has a random stream of its own, and
// nothing is drawn for what is not asked for: to add one kind of impairment leaves links without it as they were.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "random.hpp"

namespace cbn::cable {

enum class Shape : int { uniform, normal, pareto };

// All times are real ones: the caller has stretched them where the run's time goes slower.
struct Impairment {
    std::int64_t delay_ns = 0;
    std::int64_t jitter_ns = 0;
    Shape shape = Shape::uniform;
    double correlation = 0;
    double loss = 0;
    double burst = 0;  // 0: each loss by itself
    double duplicate = 0;
    double reorder = 0;
    double corrupt = 0;
    std::int64_t rate_bps = 0;  // 0: no limit
    std::int64_t queue_packets = -1;
    std::int64_t queue_bytes = -1;
};

class Draws {
  public:
    explicit Draws(std::uint64_t seed) : random_(seed, "cable") {}

    // In [0, 1).
    double share() noexcept { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
    bool happens(double probability) noexcept { return probability > 0 && share() < probability; }
    std::uint64_t below(std::uint64_t bound) noexcept { return random_.below(bound); }

    // Standard normal, by the polar method.
    double normal() noexcept {
        while (true) {
            const double x = 2 * share() - 1, y = 2 * share() - 1, square = x * x + y * y;
            if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
        }
    }

  private:
    workload::Random random_;
};

// By how much of the jitter a frame's delay differs, each time anew.
//
// With correlation each draw blends a normal variable of the draw before with a new one, which keeps it normal;
// its rank is then read as the shape wants it: the shape stays what it is, whatever the correlation. (netem blends
// the ranks themselves, which draws them to the middle.)
class Jitter {
  public:
    static constexpr double FURTHEST = 4;  // of a normal jitter and of the pareto's tail, as in netem's tables

    double draw(const Impairment& does, Draws& draws) noexcept {
        if (does.correlation <= 0) {
            if (does.shape == Shape::normal) return std::clamp(draws.normal(), -FURTHEST, FURTHEST);
            return by_rank(does.shape, draws.share());
        }
        const double fresh = std::sqrt(1 - does.correlation * does.correlation);
        last_ = drawn_ ? does.correlation * last_ + fresh * draws.normal() : draws.normal();
        drawn_ = true;
        if (does.shape == Shape::normal) return std::clamp(last_, -FURTHEST, FURTHEST);
        return by_rank(does.shape, std::erfc(-last_ * M_SQRT1_2) / 2);
    }

  private:
    static double by_rank(Shape shape, double rank) noexcept {
        if (shape == Shape::uniform) return 2 * rank - 1;
        // The density falls with the fourth power; shifted to a mean of zero.
        return std::min(4.0 / 3.0 * (1 / std::cbrt(std::max(1 - rank, 1e-12)) - 1.5), FURTHEST);
    }

    double last_ = 0;
    bool drawn_ = false;
};

// What waits for a link's rate. Exact: the link sends one frame after the other in its own time, however late its
// carrier looks.
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

// One copy of a frame on its way.
struct Copy {
    std::int64_t arrives_ns = 0;
    std::int64_t wrong_bit = -1;  // of the frame, counted from its first byte's lowest; -1: none
    bool reorders = false;
};

// What happens to a frame that is sent. Without room it has no copies; with room and without copies it is lost.
struct Decision {
    bool has_room = true;
    std::int64_t leaves_ns = 0;  // when the sending end begins to send it
    std::size_t count = 0;
    Copy copies[2];
};

class LinkModel {
  public:
    explicit LinkModel(std::uint64_t seed, std::int64_t dilate = 1) : draws_(seed), dilate_(dilate) {}

    // For the frames that are sent from now on.
    void impair(const Impairment& does) noexcept {
        does_ = does;
        const double kept = 1 - does.loss;
        turns_good_ = does.burst > 0 && kept > 0 ? 1 / does.burst : 0;
        turns_bad_ = kept > 0 ? does.loss * turns_good_ / kept : 1;
        if (does.burst <= 0 || does.loss <= 0) bad_ = false;
    }

    // Whether all frames arrive, each after the delay.
    [[nodiscard]] bool is_constant() const noexcept {
        return does_.jitter_ns == 0 && does_.rate_bps == 0 && does_.loss <= 0 && does_.duplicate <= 0 &&
               does_.reorder <= 0 && does_.corrupt <= 0;
    }

    Decision send(std::int64_t now_ns, std::size_t size) {
        Decision decided;
        RateQueue::Turn turn{true, now_ns, 0};
        if (does_.rate_bps > 0) turn = queue_.enter(now_ns, size, does_, dilate_);
        decided.has_room = turn.has_room;
        decided.leaves_ns = turn.start_ns;
        if (!turn.has_room || loses()) return decided;
        decided.count = draws_.happens(does_.duplicate) ? 2 : 1;
        for (std::size_t at = 0; at < decided.count; ++at) {
            decided.copies[at] = copy(turn.start_ns + turn.took_ns, size);
        }
        return decided;
    }

    // What waits is gone.
    void empty_queue() noexcept { queue_.clear(); }

  private:
    static constexpr std::size_t ETHERNET_BYTES = 14;
    static constexpr std::size_t HEADER_BYTES = 42;  // Ethernet, IPv4, UDP

    bool loses() noexcept {
        if (does_.loss <= 0) return false;
        if (does_.burst <= 0) return draws_.happens(does_.loss);
        // Gilbert-Elliott: a good state that loses nothing, a bad one that loses all.
        if (draws_.share() < (bad_ ? turns_good_ : turns_bad_)) bad_ = !bad_;
        return bad_;
    }

    Copy copy(std::int64_t sent_ns, std::size_t size) noexcept {
        Copy made;
        made.reorders = draws_.happens(does_.reorder);
        made.arrives_ns = made.reorders ? sent_ns : sent_ns + delay_ns();
        if (draws_.happens(does_.corrupt)) made.wrong_bit = some_bit(size);
        return made;
    }

    std::int64_t delay_ns() noexcept {
        if (does_.jitter_ns == 0) return does_.delay_ns;
        const double differs = jitter_.draw(does_, draws_) * static_cast<double>(does_.jitter_ns);
        return std::max<std::int64_t>(does_.delay_ns + std::llround(differs), 0);
    }

    // A bit of what UDP carries, so that its checksum always tells; of what there is, in a shorter frame.
    std::int64_t some_bit(std::size_t size) noexcept {
        const std::size_t first = size > HEADER_BYTES ? HEADER_BYTES : std::min<std::size_t>(size - 1, ETHERNET_BYTES);
        const std::uint64_t byte = first + draws_.below(size - first);
        return static_cast<std::int64_t>(byte * 8 + draws_.below(8));
    }

    Draws draws_;
    std::int64_t dilate_;
    Impairment does_{};
    Jitter jitter_;
    RateQueue queue_;
    bool bad_ = false;
    double turns_good_ = 0;
    double turns_bad_ = 0;
};

}  // namespace cbn::cable
