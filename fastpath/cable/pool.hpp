// Frames on their way: where their bytes are kept, and which of them is due next. Bounded, and nothing is
// allocated a frame.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace cbn::cable {

// Slots of one size. The last one given back is the next one taken: memory is touched only as far as it is needed.
class Pool {
  public:
    static constexpr std::uint32_t NONE = ~std::uint32_t{0};

    Pool(std::size_t slot_bytes, std::size_t memory_bytes)
        : slot_bytes_((slot_bytes + 63) / 64 * 64), slots_(std::max<std::size_t>(memory_bytes / slot_bytes_, 2)) {
        void* memory = ::mmap(nullptr, slot_bytes_ * slots_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        memory_ = static_cast<std::uint8_t*>(memory);
        free_.reserve(1024);
    }
    ~Pool() { ::munmap(memory_, slot_bytes_ * slots_); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    [[nodiscard]] std::uint32_t take() noexcept {
        if (!free_.empty()) {
            const std::uint32_t slot = free_.back();
            free_.pop_back();
            return slot;
        }
        return fresh_ < slots_ ? static_cast<std::uint32_t>(fresh_++) : NONE;
    }
    void give(std::uint32_t slot) { free_.push_back(slot); }

    [[nodiscard]] std::uint8_t* bytes(std::uint32_t slot) const noexcept { return memory_ + slot * slot_bytes_; }
    [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
    [[nodiscard]] std::size_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t taken() const noexcept { return fresh_ - free_.size(); }

  private:
    std::size_t slot_bytes_;
    std::size_t slots_;
    std::uint8_t* memory_ = nullptr;
    std::size_t fresh_ = 0;
    std::vector<std::uint32_t> free_;
};

// A frame and when it is to be handed over.
struct Flight {
    std::int64_t due_ns = 0;
    std::uint64_t sequence = 0;  // of two that are due at once, the first read goes first
    std::int64_t waited_ns = 0;  // how long it may have waited in the tap before it was read
    std::uint32_t slot = Pool::NONE;
    std::uint32_t size = 0;
    std::uint32_t way = 0;
    std::uint32_t life = 0;  // of the way when it was taken: a link that is cut loses all of its life

    [[nodiscard]] bool after(const Flight& other) const noexcept {
        return due_ns != other.due_ns ? due_ns > other.due_ns : sequence > other.sequence;
    }
};

class Departures {
  public:
    void add(Flight flight) {
        flight.sequence = sequence_++;
        heap_.push_back(flight);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] std::int64_t next_due_ns() const noexcept { return heap_.front().due_ns; }
    Flight pop() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Flight first = heap_.back();
        heap_.pop_back();
        return first;
    }

  private:
    static bool later(const Flight& one, const Flight& other) noexcept { return one.after(other); }

    std::vector<Flight> heap_;
    std::uint64_t sequence_ = 0;
};

}  // namespace cbn::cable
