// A predicate: a set of a pool's filters, with its digest and its sizes kept up to date.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/codec.hpp"
#include "interests/pool.hpp"

namespace cbn::interests {

class Predicate {
  public:
    explicit Predicate(PoolPointer pool) : pool_(std::move(pool)) {}
    Predicate(const Predicate&) = delete;
    Predicate& operator=(const Predicate&) = delete;
    ~Predicate() { clear(); }

    [[nodiscard]] const PoolPointer& pool() const noexcept { return pool_; }
    [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
    [[nodiscard]] std::uint64_t constraints() const noexcept { return constraints_; }
    [[nodiscard]] std::uint64_t encoded_bytes() const noexcept { return 4 + filter_bytes_; }
    [[nodiscard]] const Digest& digest() const noexcept { return digest_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return sizeof *this + ids_.bytes(); }
    [[nodiscard]] const IdSet& ids() const noexcept { return ids_; }
    [[nodiscard]] bool has(std::uint32_t id) const noexcept { return ids_.has(id); }

    // Adds all filters of an encoded predicate; with a fault, some of them.
    [[nodiscard]] wire::Status read(wire::Bytes encoded, std::size_t base = 0) {
        wire::FilterCursor cursor(encoded, base);
        for (wire::Bytes filter; cursor.next(filter);) {
            const std::uint32_t id = pool_->intern(filter);
            put(id);
            pool_->release(id);
        }
        return cursor.status();
    }

    bool put(std::uint32_t id) {
        if (!ids_.insert(id).second) return false;
        pool_->hold(id);
        digest_ += pool_->digest(id);
        constraints_ += pool_->constraints(id);
        filter_bytes_ += pool_->filter(id).size();
        return true;
    }
    bool take(std::uint32_t id) noexcept {
        if (!ids_.erase(id)) return false;
        digest_ -= pool_->digest(id);
        constraints_ -= pool_->constraints(id);
        filter_bytes_ -= pool_->filter(id).size();
        pool_->release(id);
        return true;
    }

    // Whether all of `removed` is here and nothing of `added`: then the change fits and can be taken back.
    [[nodiscard]] bool fits(const Predicate& removed, const Predicate& added) const noexcept {
        bool fits = true;
        removed.ids_.each_key([&](std::uint32_t id) { fits = fits && has(id); });
        added.ids_.each_key([&](std::uint32_t id) { fits = fits && !has(id); });
        return fits;
    }
    void change(const Predicate& removed, const Predicate& added) {
        added.ids_.each_key([&](std::uint32_t id) { put(id); });
        removed.ids_.each_key([&](std::uint32_t id) { take(id); });
        ids_.trim();
    }

    // Puts what is here and not in `other` into `into`.
    void minus(const Predicate& other, Predicate& into) const {
        ids_.each_key([&](std::uint32_t id) {
            if (!other.has(id)) into.put(id);
        });
    }

    [[nodiscard]] std::vector<std::string_view> filters() const {
        std::vector<std::string_view> filters;
        filters.reserve(size());
        ids_.each_key([&](std::uint32_t id) { filters.push_back(wire::as_text(pool_->filter(id))); });
        std::sort(filters.begin(), filters.end());
        return filters;
    }
    // The canonical bytes, after `head`.
    [[nodiscard]] std::string encoded(std::string_view head = {}) const {
        std::string out;
        out.reserve(head.size() + encoded_bytes());
        out.append(head);
        wire::put_u32(out, static_cast<std::uint32_t>(size()));
        for (const std::string_view filter : filters()) out.append(filter);
        return out;
    }

  private:
    void clear() noexcept {
        ids_.each_key([&](std::uint32_t id) { pool_->release(id); });
    }

    PoolPointer pool_;
    IdSet ids_;
    Digest digest_;
    std::uint64_t constraints_ = 0, filter_bytes_ = 0;
};

}  // namespace cbn::interests
