// Texts by number and numbers by text: names with their types, and the operands of string constraints.
//
// One thread adds while others look up. A reader's view is two pointers: the hash slots, which only gain
// entries until they are replaced by a larger array, and the texts, which only grow. A reader may thus come
// upon a number newer than its table; no filter of its table has it. Numbers of texts out of use are given
// out again only after `purge` has made all anew, which old views do not see.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <string_view>
#include <vector>

#include "match/memory.hpp"
#include "match/text.hpp"

namespace cbn::fast {

class Texts {
  public:
    [[nodiscard]] std::string_view text(std::uint32_t id) const noexcept {
        const Place place = place_of(id);
        return chunks_[place.chunk][place.at];
    }

    void put(std::uint32_t id, std::string_view text) {
        const Place place = place_of(id);
        if (chunks_[place.chunk] == nullptr) {
            chunks_[place.chunk] = std::make_unique<std::string_view[]>(std::size_t{FIRST} << place.chunk);
            bytes_ += heap_bytes((std::size_t{FIRST} << place.chunk) * sizeof(std::string_view));
        }
        chunks_[place.chunk][place.at] = keep(text);
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return sizeof *this + bytes_ + heap_bytes(arenas_); }

  private:
    static constexpr std::uint32_t FIRST = 64;
    static constexpr std::size_t ARENA = 4096;
    struct Place {
        std::uint32_t chunk, at;
    };

    // Chunk c holds 64 * 2^c texts, so that growing moves nothing.
    static Place place_of(std::uint32_t id) noexcept {
        const std::uint64_t shifted = std::uint64_t{id} + FIRST;
        const auto chunk = static_cast<std::uint32_t>(std::bit_width(shifted) - 7);
        return {chunk, static_cast<std::uint32_t>(shifted - (std::uint64_t{FIRST} << chunk))};
    }

    std::string_view keep(std::string_view text) {
        if (text.size() > left_) {
            const std::size_t size = text.size() > ARENA ? text.size() : ARENA;
            arenas_.push_back(std::make_unique<char[]>(size));
            bytes_ += heap_bytes(size);
            left_ = size;
            next_ = arenas_.back().get();
        }
        if (!text.empty()) std::memcpy(next_, text.data(), text.size());
        const std::string_view kept(next_, text.size());
        next_ += text.size();
        left_ -= text.size();
        return kept;
    }

    std::array<std::unique_ptr<std::string_view[]>, 27> chunks_;
    std::vector<std::unique_ptr<char[]>> arenas_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
    std::size_t bytes_ = 0;
};

// Open addressing. A slot is one word that says number, size and kind, and the head of the text.
class Slots {
  public:
    explicit Slots(std::size_t count) : slots_(std::make_unique<Slot[]>(count)), mask_(count - 1) {}

    [[nodiscard]] std::uint32_t find(const Texts& texts, std::string_view text, std::uint32_t kind,
                                     std::uint64_t head) const noexcept {
        const std::uint64_t wanted = tag(text.size(), kind);
        for (std::size_t at = hash_of(text.data(), text.size(), head, kind) & mask_;; at = (at + 1) & mask_) {
            const std::uint64_t meta = slots_[at].meta.load(std::memory_order_acquire);
            if (meta == 0) return NONE;
            if (meta >> 32 != wanted || slots_[at].head.load(std::memory_order_relaxed) != head) continue;
            const auto id = static_cast<std::uint32_t>(meta);
            if (text.size() <= 8 || texts.text(id) == text) return id;
        }
    }

    void insert(std::string_view text, std::uint32_t kind, std::uint32_t id) noexcept {
        const std::uint64_t head = head_of(text);
        std::size_t at = hash_of(text.data(), text.size(), head, kind) & mask_;
        while (slots_[at].meta.load(std::memory_order_relaxed) != 0) at = (at + 1) & mask_;
        slots_[at].head.store(head, std::memory_order_relaxed);
        slots_[at].meta.store(tag(text.size(), kind) << 32 | id, std::memory_order_release);
    }

    [[nodiscard]] std::size_t count() const noexcept { return mask_ + 1; }
    [[nodiscard]] std::size_t bytes() const noexcept { return sizeof *this + heap_bytes(count() * sizeof(Slot)); }

  private:
    struct Slot {
        std::atomic<std::uint64_t> meta{0};
        std::atomic<std::uint64_t> head{0};
    };

    static std::uint64_t tag(std::size_t size, std::uint32_t kind) noexcept {
        return std::uint64_t{1} << 31 | std::uint64_t{kind} << 16 | size;
    }

    std::unique_ptr<Slot[]> slots_;
    std::size_t mask_;
};

// What a reader holds.
struct DictionaryView {
    std::shared_ptr<const Slots> slots;
    std::shared_ptr<const Texts> texts;

    [[nodiscard]] std::uint32_t find(std::string_view text, std::uint32_t kind, std::uint64_t head) const noexcept {
        return slots->find(*texts, text, kind, head);
    }
    [[nodiscard]] std::string_view text(std::uint32_t id) const noexcept { return texts->text(id); }
};

// The writer's side: gives out numbers and counts their uses.
class Dictionary {
  public:
    [[nodiscard]] DictionaryView view() const noexcept { return {slots_, texts_}; }
    [[nodiscard]] std::string_view text(std::uint32_t id) const noexcept { return texts_->text(id); }
    [[nodiscard]] std::uint32_t uses(std::uint32_t id) const noexcept { return entries_[id].uses; }
    [[nodiscard]] std::uint32_t kind(std::uint32_t id) const noexcept { return entries_[id].kind; }
    [[nodiscard]] std::size_t extent() const noexcept { return entries_.size(); }
    [[nodiscard]] std::size_t live() const noexcept { return live_; }

    // The number of a text, a new one if need be; its uses stay as they are.
    std::uint32_t intern(std::string_view text, std::uint32_t kind) {
        const std::uint32_t known = slots_->find(*texts_, text, kind, head_of(text));
        if (known != NONE) return known;
        if ((taken_ + 1) * 2 > slots_->count()) grow();
        if (free_.empty()) {
            free_.reserve(1);
            entries_.push_back({0, kind});
            free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
        }
        const std::uint32_t id = free_.back();
        texts_->put(id, text);
        free_.pop_back();
        entries_[id] = {0, kind};
        slots_->insert(texts_->text(id), kind, id);
        ++taken_;
        return id;
    }

    void hold(std::uint32_t id) noexcept { live_ += entries_[id].uses++ == 0; }
    void release(std::uint32_t id) noexcept { live_ -= --entries_[id].uses == 0; }

    // Whether forgetting what is out of use pays: more than half is, and not a trifle.
    [[nodiscard]] bool stale() const noexcept { return taken_ > 2 * live_ + 1024; }

    // Forgets all texts without a use. Numbers in use stay; `void forgotten(id)` is called for the others. All or
    // nothing: if memory runs out, nothing has changed.
    template <class Forgotten>
    void purge(Forgotten&& forgotten) {
        Dictionary fresh;
        fresh.slots_ = std::make_shared<Slots>(std::bit_ceil(std::size_t{64} + 2 * live_));
        fresh.entries_ = entries_;
        fresh.live_ = fresh.taken_ = live_;
        fresh.free_.reserve(entries_.size() - live_);
        for (auto id = static_cast<std::uint32_t>(entries_.size()); id-- > 0;) {
            if (entries_[id].uses == 0) {
                fresh.free_.push_back(id);
                continue;
            }
            fresh.texts_->put(id, texts_->text(id));
            fresh.slots_->insert(fresh.texts_->text(id), entries_[id].kind, id);
        }
        for (const std::uint32_t id : fresh.free_) forgotten(id);
        *this = std::move(fresh);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        return slots_->bytes() + texts_->bytes() + heap_bytes(entries_) + heap_bytes(free_);
    }

  private:
    struct Entry {
        std::uint32_t uses;
        std::uint32_t kind;
    };

    void grow() {
        auto larger = std::make_shared<Slots>(2 * slots_->count());
        std::vector<bool> vacant(entries_.size());
        for (const std::uint32_t id : free_) vacant[id] = true;
        for (std::uint32_t id = 0; id < entries_.size(); ++id) {
            if (!vacant[id]) larger->insert(texts_->text(id), entries_[id].kind, id);
        }
        slots_ = std::move(larger);
    }

    std::shared_ptr<Slots> slots_ = std::make_shared<Slots>(64);
    std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
    std::size_t taken_ = 0;  // texts in the slots
    std::size_t live_ = 0;   // of them, those with a use
};

}  // namespace cbn::fast
