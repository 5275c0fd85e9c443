// A hash map from 32-bit ids to small values, and the set that is the map to nothing.
//
// Open addressing with deletion by shifting back, so that no place is ever wasted on what is gone. Keys are ids
// the pool gave out, dense and not chosen by anyone outside: a multiplication spreads them well enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cbn::interests {

inline constexpr std::uint32_t NONE = ~std::uint32_t{0};

struct Nothing {};

template <class Value>
class IdMap {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return used_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

    [[nodiscard]] Value* find(std::uint32_t key) noexcept {
        if (slots_.empty()) return nullptr;
        Slot& slot = slots_[place(key)];
        return slot.key == key ? &slot.value : nullptr;
    }
    [[nodiscard]] bool has(std::uint32_t key) const noexcept {
        return !slots_.empty() && slots_[place(key)].key == key;
    }

    // The value of the key, made if it was not there; whether it was made.
    std::pair<Value*, bool> insert(std::uint32_t key) {
        if ((used_ + 1) * 4 > slots_.size() * 3) resize(slots_.empty() ? SMALLEST : slots_.size() * 2);
        Slot& slot = slots_[place(key)];
        const bool fresh = slot.key == NONE;
        if (fresh) {
            slot.key = key;
            ++used_;
        }
        return {&slot.value, fresh};
    }

    bool erase(std::uint32_t key) noexcept {
        if (!has(key)) return false;
        std::size_t hole = place(key);
        for (std::size_t at = next(hole); slots_[at].key != NONE; at = next(at)) {
            // What stands at `at` may move into the hole unless its home lies behind the hole.
            if (((at - home(slots_[at].key)) & mask()) >= ((at - hole) & mask())) {
                slots_[hole] = slots_[at];
                hole = at;
            }
        }
        slots_[hole] = Slot{};
        --used_;
        return true;
    }

    // Gives memory back after much was erased.
    void trim() {
        std::size_t size = slots_.size();
        while (size > SMALLEST && used_ * 4 < size) size /= 2;
        if (size != slots_.size()) resize(size);
    }

    // Calls each(key, value), in an order that depends on what was done before alone.
    template <class Each>
    void each(Each&& each) {
        for (Slot& slot : slots_) {
            if (slot.key != NONE) each(slot.key, slot.value);
        }
    }
    template <class Each>
    void each_key(Each&& each) const {
        for (const Slot& slot : slots_) {
            if (slot.key != NONE) each(slot.key);
        }
    }

  private:
    static constexpr std::size_t SMALLEST = 4;

    struct Slot {
        std::uint32_t key = NONE;
        [[no_unique_address]] Value value{};
    };

    [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
    [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
    [[nodiscard]] std::size_t home(std::uint32_t key) const noexcept {
        return static_cast<std::size_t>(std::uint64_t{key} * 0x9E37'79B9'7F4A'7C15 >> 24) & mask();
    }
    // Where the key is, or the free place where it would be.
    [[nodiscard]] std::size_t place(std::uint32_t key) const noexcept {
        std::size_t at = home(key);
        while (slots_[at].key != NONE && slots_[at].key != key) at = next(at);
        return at;
    }
    void resize(std::size_t size) {
        std::vector<Slot> old(size);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.key != NONE) slots_[place(slot.key)] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

using IdSet = IdMap<Nothing>;

}  // namespace cbn::interests
