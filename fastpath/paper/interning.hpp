// Numbers for byte strings: equal ones get one number (FWD 4: identical constraints and filters are shared).
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace cbn::paper {

// An open-addressing hash table of views; their bytes must outlive it.
class Interning {
  public:
    // (number, whether it is new). Numbers are given from 0.
    std::pair<std::uint32_t, bool> number(std::string_view text) {
        if (texts_.size() * 4 >= slots_.size() * 3) grow();
        const std::uint64_t hash = hash_of(text);
        std::size_t at = hash & mask();
        for (; slots_[at].number != FREE; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (slot.hash == upper(hash) && texts_[slot.number] == text) return {slot.number, false};
        }
        const std::uint32_t fresh = size();
        if (fresh == FREE) throw std::length_error("the table is full: 4,294,967,295 distinct filters or constraints");
        texts_.push_back(text);
        slots_[at] = {upper(hash), fresh};
        return {fresh, true};
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(texts_.size()); }
    [[nodiscard]] std::string_view text(std::uint32_t number) const noexcept { return texts_[number]; }

  private:
    static constexpr std::uint32_t FREE = 0xFFFFFFFF;
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t number = FREE;
    };

    [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }

    static std::uint32_t upper(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

    static std::uint64_t hash_of(std::string_view text) noexcept {
        const std::uint64_t mixed = std::hash<std::string_view>{}(text) * 0x9E3779B97F4A7C15U;
        return mixed ^ (mixed >> 32);
    }

    void grow() {
        std::vector<Slot> wider(slots_.empty() ? 64 : slots_.size() * 2);
        slots_.swap(wider);
        for (std::uint32_t number = 0; number < size(); ++number) {
            const std::uint64_t hash = hash_of(texts_[number]);
            std::size_t at = hash & mask();
            while (slots_[at].number != FREE) at = (at + 1) & mask();
            slots_[at] = {upper(hash), number};
        }
    }

    std::vector<std::string_view> texts_;
    std::vector<Slot> slots_;
};

}  // namespace cbn::paper
