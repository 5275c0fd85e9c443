// What becomes of a frame on its way: lost, doubled, spoilt, late or early, by the luck of one direction of a link.
//
// The meaning is that of the simulator (testbed/sim/fate.py), and nothing is drawn for what is not asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

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

class Luck {
  public:
    explicit Luck(std::uint64_t seed) : random_(seed, "cable") {}

    // In [0, 1).
    double share() noexcept { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
    bool strikes(double share_of_all) noexcept { return share_of_all > 0 && share() < share_of_all; }
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
// its rank is then read as the shape wants it: the shape stays what it is, whatever the correlation.
class Jitter {
  public:
    static constexpr double FURTHEST = 4;  // of a normal jitter and of the pareto's tail, as in netem's tables

    double draw(const Impairment& does, Luck& luck) noexcept {
        if (does.correlation <= 0) {
            if (does.shape == Shape::normal) return std::clamp(luck.normal(), -FURTHEST, FURTHEST);
            return by_rank(does.shape, luck.share());
        }
        const double fresh = std::sqrt(1 - does.correlation * does.correlation);
        last_ = drawn_ ? does.correlation * last_ + fresh * luck.normal() : luck.normal();
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

class Fate {
  public:
    explicit Fate(std::uint64_t seed) : luck_(seed) {}

    void impair(const Impairment& does) noexcept {
        does_ = does;
        const double kept = 1 - does.loss;
        turns_good_ = does.burst > 0 && kept > 0 ? 1 / does.burst : 0;
        turns_bad_ = kept > 0 ? does.loss * turns_good_ / kept : 1;
        if (does.burst <= 0 || does.loss <= 0) bad_ = false;
    }

    [[nodiscard]] const Impairment& impairment() const noexcept { return does_; }

    bool loses() noexcept {
        if (does_.loss <= 0) return false;
        if (does_.burst <= 0) return luck_.strikes(does_.loss);
        // Gilbert-Elliott: a good state that loses nothing, a bad one that loses all.
        if (luck_.share() < (bad_ ? turns_good_ : turns_bad_)) bad_ = !bad_;
        return bad_;
    }

    bool doubles() noexcept { return luck_.strikes(does_.duplicate); }
    bool overtakes() noexcept { return luck_.strikes(does_.reorder); }
    bool spoils() noexcept { return luck_.strikes(does_.corrupt); }

    std::int64_t delay_ns() noexcept {
        if (does_.jitter_ns == 0) return does_.delay_ns;
        const double differs = jitter_.draw(does_, luck_) * static_cast<double>(does_.jitter_ns);
        return std::max<std::int64_t>(does_.delay_ns + std::llround(differs), 0);
    }

    // Turns a bit of what UDP carries, which its checksum always tells; of what there is, in a shorter frame.
    void spoil(std::uint8_t* frame, std::size_t size) noexcept {
        const std::size_t first = size > HEADER_BYTES ? HEADER_BYTES : std::min<std::size_t>(size - 1, ETHERNET_BYTES);
        frame[first + luck_.below(size - first)] ^= static_cast<std::uint8_t>(1U << luck_.below(8));
    }

  private:
    static constexpr std::size_t ETHERNET_BYTES = 14;
    static constexpr std::size_t HEADER_BYTES = 42;  // Ethernet, IPv4, UDP

    Luck luck_;
    Impairment does_{};
    Jitter jitter_;
    bool bad_ = false;
    double turns_good_ = 0;
    double turns_bad_ = 0;
};

}  // namespace cbn::cable
