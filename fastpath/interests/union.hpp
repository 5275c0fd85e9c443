// The union of predicates that come and go, at the cost of what changed.
//
// It counts, filter by filter, how many of the predicates have it. What it gives out is the union, reduced by
// covering (D2) while that has few filters, and as it is while it has many: to reduce is to look at all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cover/reduce.hpp"
#include "interests/predicate.hpp"

namespace cbn::interests {

class Union {
  public:
    Union(PoolPointer pool, std::size_t reduced_max) : pool_(std::move(pool)), reduced_max_(reduced_max) {}
    Union(const Union&) = delete;
    Union& operator=(const Union&) = delete;
    ~Union() {
        slots_.each_key([&](std::uint32_t id) { pool_->release(id); });
    }

    void add(const Predicate& predicate) {
        predicate.ids().each_key([&](std::uint32_t id) {
            Slot& slot = at(id);
            if (slot.count++ == 0) ++counted_;
            touched_.push_back(id);
        });
    }

    // All of it must have been added before; else nothing is done, and this is false.
    [[nodiscard]] bool remove(const Predicate& predicate) {
        bool known = true;
        predicate.ids().each_key([&](std::uint32_t id) {
            const Slot* slot = slots_.find(id);
            known = known && slot != nullptr && slot->count != 0;
        });
        if (!known) return false;
        predicate.ids().each_key([&](std::uint32_t id) {
            if (--slots_.find(id)->count == 0) --counted_;
            touched_.push_back(id);
        });
        return true;
    }

    // Calls take(id) and put(id) for what has gone from the result and come into it since it was settled last.
    template <class Take, class Put>
    bool settle(Take&& take, Put&& put) {
        if (touched_.empty()) return false;
        const bool small = counted_ <= reduced_max_;
        std::vector<std::uint32_t> gone, come;
        if (small && stays_whole()) {
            compare_touched(gone, come);
        } else if (small) {
            compare_reduced(gone, come);
        } else if (reduced_) {
            slots_.each([&](std::uint32_t id, Slot& slot) { note(id, slot, slot.count != 0, gone, come); });
        } else {
            compare_touched(gone, come);
        }
        reduced_ = small;
        whole_ = whole_ && small;
        for (const std::uint32_t id : gone) take(id);
        for (const std::uint32_t id : come) put(id);
        tidy(gone);
        return !gone.empty() || !come.empty();
    }

    [[nodiscard]] std::size_t size() const noexcept { return given_; }
    [[nodiscard]] bool idle() const noexcept { return slots_.size() == 0 && touched_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof *this + slots_.bytes() + touched_.capacity() * sizeof(std::uint32_t);
    }

  private:
    // A filter stands here, and is held, while it is counted or given out.
    struct Slot {
        std::uint32_t count : 31 = 0;
        std::uint32_t given : 1 = 0;
    };
    using Ids = std::vector<std::uint32_t>;
    static constexpr std::size_t FEW = 16;

    Slot& at(std::uint32_t id) {
        const auto [slot, fresh] = slots_.insert(id);
        if (fresh) pool_->hold(id);
        return *slot;
    }

    void note(std::uint32_t id, Slot& slot, bool wanted, Ids& gone, Ids& come) {
        if (wanted == static_cast<bool>(slot.given)) return;
        slot.given = wanted ? 1 : 0;
        given_ += wanted ? 1 : static_cast<std::size_t>(-1);
        (wanted ? come : gone).push_back(id);
    }

    // Whether nothing is redundant, as nothing was, and the few filters that came are not either.
    [[nodiscard]] bool stays_whole() {
        if (!whole_ || touched_.size() > FEW) return false;
        if (std::none_of(touched_.begin(), touched_.end(), [&](std::uint32_t id) { return is_fresh(id); })) return true;
        std::vector<cover::Known> held, fresh;
        slots_.each([&](std::uint32_t id, const Slot& slot) {
            if (slot.count != 0) (slot.given != 0 ? held : fresh).push_back({pool_->filter(id), &pool_->form(id)});
        });
        return cover::stays_reduced(held, fresh);
    }

    // Whether it is counted, and was not given out.
    [[nodiscard]] bool is_fresh(std::uint32_t id) {
        const Slot* slot = slots_.find(id);
        return slot != nullptr && slot->count != 0 && slot->given == 0;
    }

    void compare_touched(Ids& gone, Ids& come) {
        for (const std::uint32_t id : touched_) {
            if (Slot* slot = slots_.find(id)) note(id, *slot, slot->count != 0, gone, come);
        }
    }

    void compare_reduced(Ids& gone, Ids& come) {
        Predicate whole(pool_), wanted(pool_);
        slots_.each([&](std::uint32_t id, Slot& slot) {
            if (slot.count != 0) whole.put(id);
        });
        const std::string encoded = whole.encoded();
        std::string reduced;
        if (!cover::reduce(as_bytes(encoded), reduced).ok() || !wanted.read(as_bytes(reduced)).ok()) {
            throw std::logic_error("a union of valid filters is no valid predicate");
        }
        wanted.ids().each_key([&](std::uint32_t id) {
            at(id);
            touched_.push_back(id);
        });
        whole_ = true;
        slots_.each([&](std::uint32_t id, Slot& slot) {
            note(id, slot, wanted.has(id), gone, come);
            whole_ = whole_ && (slot.given != 0) == (slot.count != 0);
        });
    }

    [[nodiscard]] static wire::Bytes as_bytes(const std::string& text) noexcept {
        return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
    }

    void tidy(const Ids& gone) {
        for (const std::uint32_t id : gone) drop_unused(id);
        for (const std::uint32_t id : touched_) drop_unused(id);
        Ids().swap(touched_);
        slots_.trim();
    }
    void drop_unused(std::uint32_t id) {
        const Slot* slot = slots_.find(id);
        if (slot == nullptr || slot->count != 0 || slot->given != 0) return;
        slots_.erase(id);
        pool_->release(id);
    }

    PoolPointer pool_;
    std::size_t reduced_max_;
    IdMap<Slot> slots_;
    Ids touched_;  // whose count has changed since it was settled
    std::size_t counted_ = 0, given_ = 0;
    bool reduced_ = true;
    bool whole_ = true;  // what was given out last is all that was counted then, and reduced
};

}  // namespace cbn::interests
