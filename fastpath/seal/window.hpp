// Which of the last counters have come: the same as `Window` in nodes/routing/guard.py.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>

namespace cbn::seal {

class Window {
  public:
    static constexpr std::uint64_t SIZE = 4096;  // by how many counters a datagram may have been overtaken

    // Whether it has come, or is so old that nobody knows.
    [[nodiscard]] bool has(std::uint64_t counter) const noexcept {
        if (counter > highest_) return false;
        return highest_ - counter >= SIZE || seen_[counter % SIZE];
    }

    void add(std::uint64_t counter) noexcept {
        if (counter > highest_) {
            const std::uint64_t passed = std::min(counter - highest_, SIZE);
            for (std::uint64_t back = 0; back < passed; ++back) seen_[(counter - back) % SIZE] = false;
            highest_ = counter;
        }
        seen_[counter % SIZE] = true;
    }

  private:
    std::uint64_t highest_ = 0;
    std::bitset<SIZE> seen_;  // by the counter, modulo SIZE
};

}  // namespace cbn::seal
