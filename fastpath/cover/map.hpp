// A hash map from non-zero 64-bit numbers to 32-bit ones that only grows.
#pragma once

#include <cstdint>
#include <vector>

namespace cbn::cover {

inline constexpr std::uint32_t NONE = ~std::uint32_t{0};

class NumberMap {
  public:
    [[nodiscard]] std::uint32_t find(std::uint64_t key) const noexcept {
        if (slots_.empty()) return NONE;
        const Slot& slot = slots_[place(key)];
        return slot.key == key ? slot.value : NONE;
    }

    // The value of the key, which becomes `value` if it is new.
    std::uint32_t insert(std::uint64_t key, std::uint32_t value) {
        if (used_ * 2 >= slots_.size()) grow();
        Slot& slot = slots_[place(key)];
        if (slot.key == key) return slot.value;
        slot = {key, value};
        ++used_;
        return value;
    }

    void clear() noexcept {
        slots_.clear();
        used_ = 0;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

  private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = 0;
    };

    // Where the key is, or the free place where it would be.
    [[nodiscard]] std::size_t place(std::uint64_t key) const noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(key * 0x9E37'79B9'7F4A'7C15 >> 20) & mask;
        while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.key != 0) slots_[place(slot.key)] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace cbn::cover
