// The cold store: every filter's record once, reached by its slot.
//
// Records stand in pages of 256 slots, immutable, and in a page in groups of 16 behind their lengths, so that
// a record is found by one sum of bytes. A record says what its filter is and where it is filed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "match/memory.hpp"

namespace cbn::fast {

using RecordBytes = std::span<const std::uint8_t>;

// Reads one page. A page is narrow if every record has less than 256 bytes; a wide one has u32 for u8 and u16.
class PageView {
  public:
    static constexpr std::uint32_t SLOTS = 256, GROUP = 16;
    static constexpr std::size_t NARROW_HEAD = 2 + 2 * GROUP, WIDE_HEAD = 4 + 4 * GROUP;

    PageView() = default;
    explicit PageView(const Blob* page) noexcept : data_(page == nullptr ? nullptr : page->data()) {}

    [[nodiscard]] RecordBytes record(std::uint32_t at) const noexcept {
        if (data_ == nullptr) return {};
        if (data_[0] != 0) [[unlikely]] return wide_record(at);
        const std::uint8_t* group = data_ + group_at(at);
        return {group + GROUP + sum_before(group, at % GROUP), group[at % GROUP]};
    }

    // Asks memory for what `record` will read first.
    void fetch_lengths(std::uint32_t at) const noexcept {
        if (data_ != nullptr && data_[0] == 0) __builtin_prefetch(data_ + group_at(at));
    }

  private:
    [[nodiscard]] std::size_t group_at(std::uint32_t at) const noexcept {
        std::uint16_t offset;
        std::memcpy(&offset, data_ + 2 + 2 * (at / GROUP), sizeof offset);
        return offset;
    }

    static std::size_t sum_before(const std::uint8_t* lengths, std::uint32_t count) noexcept {
#if defined(__SSE2__)
        alignas(16) static constexpr std::uint8_t keep[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                              255, 255, 255, 255, 255, 255, 255, 255};
        const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lengths));
        const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(keep + 16 - count));
        const __m128i sums = _mm_sad_epu8(_mm_and_si128(all, mask), _mm_setzero_si128());
        return static_cast<std::size_t>(_mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_srli_si128(sums, 8)));
#else
        std::size_t sum = 0;
        for (std::uint32_t at = 0; at < count; ++at) sum += lengths[at];
        return sum;
#endif
    }

    [[nodiscard]] RecordBytes wide_record(std::uint32_t at) const noexcept {
        std::uint32_t offset, lengths[GROUP];
        std::memcpy(&offset, data_ + 4 + 4 * (at / GROUP), sizeof offset);
        std::memcpy(lengths, data_ + offset, sizeof lengths);
        std::size_t start = offset + sizeof lengths;
        for (std::uint32_t before = 0; before < at % GROUP; ++before) start += lengths[before];
        return {data_ + start, lengths[at % GROUP]};
    }

    const std::uint8_t* data_ = nullptr;
};

inline RecordBytes record_at(const BlobArray& pages, std::uint32_t slot) noexcept {
    return PageView(pages.get(slot / PageView::SLOTS)).record(slot % PageView::SLOTS);
}

// Calls visit(slot, record) for each. Records lie anywhere: memory is asked for a batch of them, in three steps,
// before any is read.
template <class Visit>
void each_record(const BlobArray& pages, std::span<const std::uint32_t> slots, Visit&& visit) {
    constexpr std::size_t most = 32;
    std::array<PageView, most> views;
    std::array<RecordBytes, most> records;
    for (; !slots.empty(); slots = slots.subspan(std::min(most, slots.size()))) {
        const std::size_t count = std::min(most, slots.size());
        for (std::size_t at = 0; at < count; ++at) {
            const Blob* page = pages.get(slots[at] / PageView::SLOTS);
            __builtin_prefetch(page);
            views[at] = PageView(page);
        }
        for (std::size_t at = 0; at < count; ++at) views[at].fetch_lengths(slots[at] % PageView::SLOTS);
        for (std::size_t at = 0; at < count; ++at) {
            records[at] = views[at].record(slots[at] % PageView::SLOTS);
            __builtin_prefetch(records[at].data());
        }
        for (std::size_t at = 0; at < count; ++at) visit(slots[at], records[at]);
    }
}

// Makes one page from its 256 records. Keeps its buffer from one to the next.
class PageBuilder {
  public:
    std::array<RecordBytes, PageView::SLOTS> records;

    void load(const Blob* page) noexcept {
        for (std::uint32_t at = 0; at < PageView::SLOTS; ++at) records[at] = PageView(page).record(at);
    }

    // The records may point into the page that this replaces.
    BlobRef build() {
        bool wide = false;
        for (const RecordBytes& record : records) wide = wide || record.size() > 255;
        wide ? write<std::uint32_t, std::uint32_t>(4) : write<std::uint8_t, std::uint16_t>(2);
        bytes_[0] = wide ? 1 : 0;
        return BlobRef::copy_of({bytes_});
    }

  private:
    template <class Length, class Offset>
    void write(std::size_t head) {
        constexpr std::uint32_t group_size = PageView::GROUP;
        bytes_.assign(head + group_size * sizeof(Offset), 0);
        for (std::uint32_t group = 0; group < PageView::SLOTS / group_size; ++group) {
            const auto offset = static_cast<Offset>(bytes_.size());
            std::memcpy(&bytes_[head + group * sizeof(Offset)], &offset, sizeof offset);
            Length lengths[group_size];
            for (std::uint32_t at = 0; at < group_size; ++at) {
                lengths[at] = static_cast<Length>(records[group * group_size + at].size());
            }
            append(reinterpret_cast<const std::uint8_t*>(lengths), sizeof lengths);
            for (std::uint32_t at = 0; at < group_size; ++at) {
                const RecordBytes& record = records[group * group_size + at];
                append(record.data(), record.size());
            }
        }
    }

    void append(const std::uint8_t* data, std::size_t size) { bytes_.insert(bytes_.end(), data, data + size); }

    std::vector<std::uint8_t> bytes_;
};

}  // namespace cbn::fast
