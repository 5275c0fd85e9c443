// Records on their way into the cold store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "match/store.hpp"

namespace cbn::fast {

// Records that wait for a commit. They stay where they are put and may be changed there.
class Staging {
  public:
    std::uint8_t* put(const std::vector<std::uint8_t>& record) {
        if (record.size() > left_) {
            const std::size_t size = record.size() > CHUNK ? record.size() : CHUNK;
            chunks_.push_back(std::make_unique<std::uint8_t[]>(size));
            next_ = chunks_.back().get();
            left_ = size;
        }
        std::memcpy(next_, record.data(), record.size());
        next_ += record.size();
        left_ -= record.size();
        return next_ - record.size();
    }

  private:
    static constexpr std::size_t CHUNK = 1 << 16;
    std::vector<std::unique_ptr<std::uint8_t[]>> chunks_;
    std::uint8_t* next_ = nullptr;
    std::size_t left_ = 0;
};

// A record that is to stand at a slot.
struct Placed {
    std::uint32_t slot = 0;
    std::uint32_t size = 0;
    std::uint8_t* bytes = nullptr;
    bool operator<(const Placed& other) const noexcept { return slot < other.slot; }
};

// Puts records into pages, each page rebuilt once. Both lists ascend; where both name a slot, `over` counts.
inline void write_records(BlobArray& pages, std::span<const Placed> placed, std::span<const Placed> over) {
    PageBuilder builder;
    const auto put = [&](std::span<const Placed>& from, std::uint32_t page) {
        for (; !from.empty() && from[0].slot / PageView::SLOTS == page; from = from.subspan(1)) {
            builder.records[from[0].slot % PageView::SLOTS] = {from[0].bytes, from[0].size};
        }
    };
    while (!placed.empty() || !over.empty()) {
        const std::uint32_t page =
            std::min(placed.empty() ? NONE : placed[0].slot, over.empty() ? NONE : over[0].slot) / PageView::SLOTS;
        builder.load(pages.get(page));
        put(placed, page);
        put(over, page);
        pages.set(page, builder.build());
    }
}

}  // namespace cbn::fast
