// Chance for workloads: the same draws on every machine. Integers alone; no library's distribution is used,
// since theirs differ from one library to the next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cbn::workload {

// Both ends belong to it.
template <class T>
struct Range {
    T low{};
    T high{};
};

// xoshiro256**, its state filled by splitmix64 from a seed and what the draws are for.
class Random {
  public:
    Random(std::uint64_t seed, std::string_view purpose) {
        for (const char letter : purpose) seed = (seed ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
        for (std::uint64_t& word : state_) word = mix(seed += 0x9E3779B97F4A7C15U);
    }

    std::uint64_t next() noexcept {
        const std::uint64_t drawn = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return drawn;
    }

    // Uniform in 0 to bound - 1, without bias: the high half of a product, redrawn where it would be uneven.
    std::uint64_t below(std::uint64_t bound) noexcept {
        __extension__ using Wide = unsigned __int128;
        const std::uint64_t uneven = -bound % bound;
        Wide product = 0;
        do {
            product = Wide{next()} * bound;
        } while (static_cast<std::uint64_t>(product) < uneven);
        return static_cast<std::uint64_t>(product >> 64);
    }

    template <class T>
    T in(const Range<T>& range) noexcept {
        const auto low = static_cast<std::uint64_t>(range.low);
        const std::uint64_t span = static_cast<std::uint64_t>(range.high) - low + 1;  // 0 stands for 2^64
        return static_cast<T>(low + (span == 0 ? next() : below(span)));
    }

  private:
    static std::uint64_t mix(std::uint64_t z) noexcept {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }

    std::uint64_t state_[4] = {};
};

// Draws an index with the given weights; not all may be zero, and their sum must fit.
class Weighted {
  public:
    Weighted() = default;
    explicit Weighted(const std::vector<std::uint64_t>& weights) {
        std::uint64_t sum = 0;
        for (const std::uint64_t weight : weights) sums_.push_back(sum += weight);
    }

    std::size_t draw(Random& random) const noexcept {
        const std::uint64_t point = random.below(sums_.back());
        return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), point) - sums_.begin());
    }

    // As `draw`, among the indices that `open` admits: of these, not all may have the weight zero.
    template <class Open>
    std::size_t draw_among(Random& random, Open&& open) const {
        for (int tries = 0; tries < 32; ++tries) {
            const std::size_t drawn = draw(random);
            if (open(drawn)) return drawn;
        }
        return search_among(random, open);
    }

    [[nodiscard]] std::uint64_t weight(std::size_t at) const noexcept {
        return at == 0 ? sums_[0] : sums_[at] - sums_[at - 1];
    }
    [[nodiscard]] std::size_t size() const noexcept { return sums_.size(); }

  private:
    // Where little is left open, drawing again and again would take for ever; the chances are the same.
    template <class Open>
    std::size_t search_among(Random& random, Open& open) const {
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at < size(); ++at) sum += open(at) ? weight(at) : 0;
        std::uint64_t point = random.below(sum);
        std::size_t at = 0;
        for (; !open(at) || point >= weight(at); ++at) point -= open(at) ? weight(at) : 0;
        return at;
    }

    std::vector<std::uint64_t> sums_;
};

}  // namespace cbn::workload
