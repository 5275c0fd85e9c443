// Every filter that somebody holds, once, by a 32-bit id.
//
// A filter is canonical bytes in one piece of memory with its digest, its size and the number of those who
// hold it; it goes when nobody does. Ids of filters that are gone are given out again.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cover/form.hpp"
#include "interests/digest.hpp"
#include "interests/map.hpp"

namespace cbn::interests {

class Pool {
  public:
    // The id of these bytes, held once more. They must be a valid filter.
    std::uint32_t intern(wire::Bytes filter) {
        const Digest digest = digest_of(filter);
        if ((live_ + 1) * 2 > slots_.size()) resize(slots_.empty() ? 64 : slots_.size() * 2);
        std::uint32_t& slot = slots_[place(digest, filter)];
        if (slot == NONE) slot = make(filter, digest);
        hold(slot);
        return slot;
    }

    void hold(std::uint32_t id) noexcept { ++head(id).holders; }
    void release(std::uint32_t id) noexcept {
        if (--head(id).holders == 0) forget(id);
    }

    [[nodiscard]] wire::Bytes filter(std::uint32_t id) const noexcept {
        return {blocks_[id].get() + sizeof(Head), head(id).size};
    }
    [[nodiscard]] const Digest& digest(std::uint32_t id) const noexcept { return head(id).digest; }
    [[nodiscard]] std::uint64_t constraints(std::uint32_t id) const noexcept {
        return wire::load<std::uint16_t>(filter(id).data());
    }
    // What the filter lets through, read when it is first asked for.
    [[nodiscard]] const cover::Form& form(std::uint32_t id) {
        std::unique_ptr<cover::Form>& known = forms_[id];
        if (!known) {
            known = std::make_unique<cover::Form>();
            static_cast<void>(cover::read_form(filter(id), *known));
        }
        return *known;
    }
    [[nodiscard]] std::size_t size() const noexcept { return live_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return blocks_.capacity() * sizeof(Block) + (slots_.capacity() + free_.capacity()) * sizeof(std::uint32_t) +
               block_bytes_;
    }

  private:
    struct Head {
        Digest digest;
        std::uint32_t holders = 0;
        std::uint32_t size = 0;
    };
    using Block = std::unique_ptr<std::uint8_t[]>;

    static constexpr std::size_t CHUNK = 16, CHUNK_HEAD = 8;  // of the allocator, for saying what we weigh

    [[nodiscard]] Head& head(std::uint32_t id) const noexcept { return *reinterpret_cast<Head*>(blocks_[id].get()); }
    [[nodiscard]] static std::size_t weight(std::size_t size) noexcept {
        return (size + sizeof(Head) + CHUNK_HEAD + CHUNK - 1) / CHUNK * CHUNK;
    }

    [[nodiscard]] std::size_t home(const Digest& digest) const noexcept { return digest.high & (slots_.size() - 1); }
    [[nodiscard]] std::size_t place(const Digest& digest, wire::Bytes filter) const noexcept {
        std::size_t at = home(digest);
        while (slots_[at] != NONE && !is(slots_[at], digest, filter)) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    [[nodiscard]] bool is(std::uint32_t id, const Digest& digest, wire::Bytes bytes) const noexcept {
        return head(id).digest == digest && wire::as_text(filter(id)) == wire::as_text(bytes);
    }

    std::uint32_t make(wire::Bytes filter, const Digest& digest) {
        Block block(new std::uint8_t[sizeof(Head) + filter.size()]);
        new (block.get()) Head{digest, 0, static_cast<std::uint32_t>(filter.size())};
        std::memcpy(block.get() + sizeof(Head), filter.data(), filter.size());
        if (free_.empty()) {
            blocks_.push_back(nullptr);
            if (free_.capacity() < blocks_.capacity()) free_.reserve(blocks_.capacity());  // forget cannot fail
            free_.push_back(static_cast<std::uint32_t>(blocks_.size() - 1));
        }
        const std::uint32_t id = free_.back();
        free_.pop_back();
        blocks_[id] = std::move(block);
        block_bytes_ += weight(filter.size());
        ++live_;
        return id;
    }

    void forget(std::uint32_t id) noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t hole = place(digest(id), filter(id));
        for (std::size_t at = (hole + 1) & mask; slots_[at] != NONE; at = (at + 1) & mask) {
            if (((at - home(digest(slots_[at]))) & mask) >= ((at - hole) & mask)) {
                slots_[hole] = slots_[at];
                hole = at;
            }
        }
        slots_[hole] = NONE;
        block_bytes_ -= weight(head(id).size);
        forms_.erase(id);
        blocks_[id].reset();
        free_.push_back(id);
        --live_;
    }

    void resize(std::size_t size) {
        const std::vector<std::uint32_t> old = std::exchange(slots_, std::vector<std::uint32_t>(size, NONE));
        for (const std::uint32_t id : old) {
            if (id == NONE) continue;
            std::size_t at = home(digest(id));
            while (slots_[at] != NONE) at = (at + 1) & (size - 1);
            slots_[at] = id;
        }
    }

    std::vector<Block> blocks_;          // by id
    std::vector<std::uint32_t> free_;    // ids nobody has
    std::vector<std::uint32_t> slots_;   // ids by digest
    std::unordered_map<std::uint32_t, std::unique_ptr<cover::Form>> forms_;  // of those asked for
    std::size_t live_ = 0, block_bytes_ = 0;
};

using PoolPointer = std::shared_ptr<Pool>;

}  // namespace cbn::interests
