// Reference-counted blocks of bytes, and arrays of them that share what did not change.
//
// The `fast` table is made of these: a commit replaces the blobs it touches and publishes a new array; who
// matches at that moment keeps the old one alive by holding it. What the bytes mean is said elsewhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cbn::fast {

inline constexpr std::uint32_t NONE = 0xFFFFFFFF;

// What the allocator takes for a block beyond what was asked for (glibc: a header, and steps of 16 bytes).
constexpr std::size_t heap_bytes(std::size_t asked) noexcept {
    return asked == 0 ? 0 : (asked + 8 + 15) / 16 * 16;
}

template <class T>
[[nodiscard]] std::size_t heap_bytes(const std::vector<T>& each) noexcept {
    return heap_bytes(each.capacity() * sizeof(T));
}

// Immutable once it is shared.
class Blob {
  public:
    [[nodiscard]] const std::uint8_t* data() const noexcept { return reinterpret_cast<const std::uint8_t*>(this + 1); }
    [[nodiscard]] std::uint8_t* mutable_data() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    friend class BlobRef;
    explicit Blob(std::uint32_t size) noexcept : size_(size) {}

    mutable std::atomic<std::uint32_t> owners_{1};
    std::uint32_t size_;
};

class BlobRef {
  public:
    BlobRef() = default;
    BlobRef(const BlobRef& other) noexcept : blob_(other.blob_) {
        if (blob_ != nullptr) blob_->owners_.fetch_add(1, std::memory_order_relaxed);
    }
    BlobRef(BlobRef&& other) noexcept : blob_(std::exchange(other.blob_, nullptr)) {}
    BlobRef& operator=(BlobRef other) noexcept {
        std::swap(blob_, other.blob_);
        return *this;
    }
    ~BlobRef() {
        if (blob_ == nullptr || blob_->owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        blob_->~Blob();
        ::operator delete(blob_);
    }

    // Of the pieces, one after the other.
    static BlobRef copy_of(std::initializer_list<std::span<const std::uint8_t>> pieces) {
        std::size_t size = 0;
        for (const auto& piece : pieces) size += piece.size();
        if (size > std::numeric_limits<std::uint32_t>::max()) {
            throw std::length_error("more than 4 GiB of filters fall on one attribute");
        }
        BlobRef made;
        made.blob_ = new (::operator new(sizeof(Blob) + size)) Blob(static_cast<std::uint32_t>(size));
        std::uint8_t* out = made.blob_->mutable_data();
        for (const auto& piece : pieces) {
            if (!piece.empty()) std::memcpy(out, piece.data(), piece.size());
            out += piece.size();
        }
        return made;
    }

    [[nodiscard]] const Blob* get() const noexcept { return blob_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return blob_ == nullptr ? 0 : heap_bytes(sizeof(Blob) + blob_->size());
    }

  private:
    Blob* blob_ = nullptr;
};

// An array of blobs whose copy costs one pointer for 64 of them. To change one, copy the array, call `edit`
// once on the copy, then `set`: chunks made since are changed in place, all others are cloned first.
class BlobArray {
  public:
    void edit() { owner_ = std::make_shared<char>(); }

    [[nodiscard]] const Blob* get(std::size_t index) const noexcept {
        const std::size_t chunk = index / CHUNK;
        return chunk < chunks_.size() ? chunks_[chunk]->items[index % CHUNK].get() : nullptr;
    }

    void set(std::size_t index, BlobRef blob) {
        BlobRef& place = own(index / CHUNK).items[index % CHUNK];
        bytes_ += blob.bytes();
        bytes_ -= place.bytes();
        place = std::move(blob);
    }

    [[nodiscard]] std::size_t extent() const noexcept { return chunks_.size() * CHUNK; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return bytes_ + heap_bytes(chunks_) + chunks_.size() * heap_bytes(sizeof(Chunk) + 2 * sizeof(void*));
    }

  private:
    static constexpr std::size_t CHUNK = 64;

    struct Chunk {
        std::shared_ptr<const char> owner;
        std::array<BlobRef, CHUNK> items;
    };

    Chunk& own(std::size_t index) {
        while (chunks_.size() <= index) chunks_.push_back(std::make_shared<Chunk>());
        if (chunks_[index]->owner != owner_) {
            chunks_[index] = std::make_shared<Chunk>(*chunks_[index]);
            chunks_[index]->owner = owner_;
        }
        return *chunks_[index];
    }

    std::vector<std::shared_ptr<Chunk>> chunks_;
    std::shared_ptr<const char> owner_;
    std::size_t bytes_ = 0;
};

}  // namespace cbn::fast
