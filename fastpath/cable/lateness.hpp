// How late things were: a histogram with a precision of 3 %, in a few kilobytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace cbn::cable {

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

}  // namespace cbn::cable
