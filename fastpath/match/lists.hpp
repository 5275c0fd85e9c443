// What only the writer needs: which filters are folded into a block, which lie hidden under it, and how many
// filters each interface has. All of it can be read off the records again (FastEngine::recover).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "match/block.hpp"
#include "match/memory.hpp"
#include "match/terms.hpp"

namespace cbn::fast {

// Slots, as varints of their differences: mostly one byte each, since they come in order.
class SlotList {
  public:
    void append(std::uint32_t slot) {
        const std::int64_t step = std::int64_t{slot} - last_;
        put_varint(bytes_, static_cast<std::uint64_t>(step) << 1 ^ static_cast<std::uint64_t>(step >> 63));
        last_ = slot;
        ++count_;
    }

    template <class Visit>
    void each(Visit&& visit) const {
        std::int64_t slot = 0;
        for (const std::uint8_t* at = bytes_.data(); at != bytes_.data() + bytes_.size();) {
            const std::uint64_t code = get_varint(at);
            slot += static_cast<std::int64_t>(code >> 1 ^ (~(code & 1) + 1));
            visit(static_cast<std::uint32_t>(slot));
        }
    }

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return heap_bytes(bytes_); }
    void trim() {
        if (bytes_.capacity() > bytes_.size() + bytes_.size() / 8 + 64) bytes_.shrink_to_fit();
    }

  private:
    std::vector<std::uint8_t> bytes_;
    std::int64_t last_ = 0;
    std::uint32_t count_ = 0;
};

// The lists of one key. The hidden ones are parted by interface once they are many, since it is the filters
// of one interface that must be looked through when a fold goes. A slot may stand there no longer rightly;
// whoever reads it looks at the record.
struct KeyLists {
    SlotList folds;
    std::vector<SlotList> hidden;
    std::uint32_t stale = 0;

    static constexpr std::size_t PARTS = 32, MANY = 1024;

    [[nodiscard]] SlotList& hidden_of(std::uint32_t interface) {
        if (hidden.empty()) hidden.resize(1);
        return hidden[interface % hidden.size()];
    }
    [[nodiscard]] std::size_t hidden_count() const noexcept {
        std::size_t count = 0;
        for (const SlotList& each : hidden) count += each.count();
        return count;
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = folds.bytes() + heap_bytes(hidden);
        for (const SlotList& each : hidden) total += each.bytes();
        return total;
    }
};

// Filters by interface: a byte each, and a map for the few with many.
class InterfaceCounts {
  public:
    void reserve(std::uint32_t interface) {
        if (counts_.size() <= interface) counts_.resize(interface + 1);
    }

    void up(std::uint32_t interface) {
        reserve(interface);
        std::uint8_t& count = counts_[interface];
        if (count == MANY) {
            ++many_[interface];
        } else if (++count == MANY) {
            many_[interface] = MANY;
        }
        const std::uint32_t now = of(interface);
        populated_ += now == 1;
        if (interface >= FOLDED) {
            far_ += now == 1;
            repeats_ += now == 2;
        }
    }

    void down(std::uint32_t interface) noexcept {
        const std::uint32_t before = of(interface);
        if (before > MANY) {
            --many_.find(interface)->second;
        } else if (counts_[interface]-- == MANY) {
            many_.erase(interface);
        }
        populated_ -= before == 1;
        if (interface >= FOLDED) {
            far_ -= before == 1;
            repeats_ -= before == 2;
        }
    }

    [[nodiscard]] std::uint32_t of(std::uint32_t interface) const noexcept {
        if (interface >= counts_.size()) return 0;
        return counts_[interface] < MANY ? counts_[interface] : many_.find(interface)->second;
    }
    [[nodiscard]] std::uint32_t extent() const noexcept { return static_cast<std::uint32_t>(counts_.size()); }
    [[nodiscard]] std::size_t populated() const noexcept { return populated_; }
    [[nodiscard]] std::size_t far() const noexcept { return far_; }
    [[nodiscard]] std::size_t repeats() const noexcept { return repeats_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return heap_bytes(counts_) + heap_bytes(many_.bucket_count() * sizeof(void*)) + many_.size() * heap_bytes(16);
    }

  private:
    static constexpr std::uint8_t MANY = 255;

    std::vector<std::uint8_t> counts_;
    std::unordered_map<std::uint32_t, std::uint32_t> many_;
    std::size_t populated_ = 0;
    std::size_t far_ = 0;      // populated, from FOLDED on
    std::size_t repeats_ = 0;  // of them, those with more than one filter
};

}  // namespace cbn::fast
