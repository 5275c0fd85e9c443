// The `fast` engine: takes filters in and out and publishes FastIndexes. The theory is in
// docs/matching-engine.md; what a commit does is in match/commit.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "match/lists.hpp"
#include "match/match.hpp"
#include "match/records.hpp"

namespace cbn::fast {

class FastEngine final : public Engine {
  public:
    FastEngine() {
        hold_universal();
        current_ = publish(std::make_shared<FastIndex>());
    }

    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) override;
    bool remove(std::uint64_t id) override;
    IndexPointer commit() override;

  private:
    friend class Commit;

    static constexpr unsigned GENERATION_SHIFT = 32;

    // Key 0 stands for "whatever the message": empty filters are filed there.
    void hold_universal() {
        keys_.hold(keys_.intern({}, 0));
        lists_.resize(1);
    }

    void read_filter(wire::Bytes filter);
    void hold_all() noexcept;
    template <class Each>
    void each_use(const RecordView& record, Each&& each) const noexcept;
    void release(const RecordView& record) noexcept;
    void purge();
    void recover();
    std::shared_ptr<const FastIndex> publish(std::shared_ptr<FastIndex> next) const;
    [[nodiscard]] std::size_t bytes() const noexcept;
    [[nodiscard]] bool text_key(std::uint32_t key) const noexcept { return is_text(keys_.kind(key)); }
    [[nodiscard]] RecordView committed(std::uint32_t slot) const noexcept {
        return read_record(record_at(current_->pages, slot));
    }

    Dictionary keys_, operands_;
    Patterns patterns_;
    std::vector<KeyLists> lists_;  // by key
    std::size_t lists_bytes_ = 0;
    InterfaceCounts counts_;
    bool lists_valid_ = true;
    bool published_ = false;  // once at least
    std::shared_ptr<const FastIndex> current_;

    std::vector<bool> live_;           // by slot: added and not removed, committed or not
    std::vector<std::uint32_t> free_;  // slots to be given out again
    Staging staging_;
    std::vector<Placed> added_;
    std::vector<std::uint32_t> removed_;  // committed slots
    std::vector<Term> terms_;             // of the filter in hand
    std::vector<std::uint8_t> record_;
    std::size_t filters_ = 0, constraints_ = 0;  // committed
};

}  // namespace cbn::fast

#include "match/commit.hpp"

namespace cbn::fast {

inline void FastEngine::read_filter(wire::Bytes filter) {
    terms_.clear();
    wire::ConstraintCursor cursor(filter);
    for (wire::ConstraintView view; cursor.next(view); view = {}) {
        const auto kind = static_cast<std::uint32_t>(view.value.type);
        const std::uint32_t key = keys_.intern(view.name, kind);
        if (lists_.size() <= key) lists_.resize(key + 1);
        if (!is_text(kind)) {
            terms_.push_back(number_term(key, view.op, view.value.type, view.value.bits));
            continue;
        }
        Term term = text_term(key, view.op, view.value.text, 0);
        if (has_operand(term, true)) {
            const std::uint32_t operand = operands_.intern(view.value.text, OPERAND_KIND);
            patterns_.note(operands_, operand, term.test);
            term.value = operand;
        }
        terms_.push_back(term);
    }
}

inline void FastEngine::hold_all() noexcept {
    for (const Term& term : terms_) {
        keys_.hold(term.key);
        if (has_operand(term, text_key(term.key))) operands_.hold(static_cast<std::uint32_t>(term.value));
    }
}

inline std::uint64_t FastEngine::add(std::uint32_t interface, wire::Bytes filter) {
    read_filter(filter);
    const bool reused = !free_.empty();
    const auto slot = reused ? free_.back() : static_cast<std::uint32_t>(live_.size());
    const std::uint32_t generation = reused ? committed(slot).generation : 0;
    record_.clear();
    put_record_head(record_, Filing::Vacant, interface, generation);
    for (const Term& term : terms_) put_term(record_, term, text_key(term.key));
    if (added_.size() == added_.capacity()) added_.reserve(added_.size() + added_.size() / 2 + 64);
    std::uint8_t* const bytes = staging_.put(record_);
    if (!reused) live_.push_back(false);
    // From here on nothing can fail.
    added_.push_back({slot, static_cast<std::uint32_t>(record_.size()), bytes});
    live_[slot] = true;
    if (reused) free_.pop_back();
    hold_all();
    return std::uint64_t{generation} << GENERATION_SHIFT | slot;
}

inline bool FastEngine::remove(std::uint64_t id) {
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= live_.size() || !live_[slot]) return false;
    const RecordView record = committed(slot);
    if (record.generation != id >> GENERATION_SHIFT) return false;
    if (record.filing != Filing::Vacant) removed_.push_back(slot);
    live_[slot] = false;
    return true;
}

// Calls each(dictionary, number) for each use the record makes of a name or an operand.
template <class Each>
void FastEngine::each_use(const RecordView& record, Each&& each) const noexcept {
    for (const std::uint8_t* at = record.terms; at < record.end;) {
        const CodedTerm coded = get_term(at);
        const Term term{coded.key, coded.test, coded.code};
        each(false, term.key);
        if (has_operand(term, text_key(term.key))) each(true, static_cast<std::uint32_t>(term.value));
    }
}

inline void FastEngine::release(const RecordView& record) noexcept {
    each_use(record, [&](bool operand, std::uint32_t id) { operand ? operands_.release(id) : keys_.release(id); });
}

// Names and operands out of use make room, once they are more than those in use.
inline void FastEngine::purge() {
    if (operands_.stale()) {
        operands_.purge([&](std::uint32_t id) noexcept { patterns_.forget(id); });
        patterns_.rebuild(operands_);
    }
    if (!keys_.stale()) return;
    keys_.purge([&](std::uint32_t id) noexcept {
        if (id >= lists_.size()) return;
        lists_bytes_ -= lists_[id].bytes();
        lists_[id] = {};
    });
}

// What a commit left half done when memory ran out is read off the records of the table that stands.
inline void FastEngine::recover() {
    std::vector<KeyLists> lists(lists_.size());
    InterfaceCounts counts;
    for (std::uint32_t slot = 0; slot < live_.size(); ++slot) {
        const RecordView record = committed(slot);
        if (record.filing == Filing::Vacant) continue;
        counts.up(record.interface);
        const Term first = first_term(record);
        if (record.filing == Filing::Fold) lists[first.key].folds.append(slot);
        if (record.filing == Filing::Hidden) lists[first.key].hidden_of(record.interface).append(slot);
    }
    lists_bytes_ = 0;
    for (const KeyLists& each : lists) lists_bytes_ += each.bytes();
    lists_ = std::move(lists);
    counts_ = std::move(counts);
    lists_valid_ = true;
}

inline std::size_t FastEngine::bytes() const noexcept {
    return sizeof *this + keys_.bytes() + operands_.bytes() + patterns_.bytes() + lists_bytes_ + heap_bytes(lists_) +
           counts_.bytes() + heap_bytes(live_.capacity() / 8) + heap_bytes(free_);
}

// Fills in what follows from the writer's state.
inline std::shared_ptr<const FastIndex> FastEngine::publish(std::shared_ptr<FastIndex> next) const {
    next->keys = keys_.view();
    next->operands = operands_.view();
    next->patterns = patterns_.view();
    for (std::uint32_t each = 0; each < FOLDED; ++each) {
        if (counts_.of(each) != 0) next->folded[each / 64] |= std::uint64_t{1} << each % 64;
    }
    next->known_keys = static_cast<std::uint32_t>(keys_.extent());
    next->extent = counts_.extent();
    next->far = counts_.far() != 0;
    next->repeats = counts_.repeats() != 0;
    next->figures = {filters_, constraints_, counts_.populated(), keys_.live() - 1,
                     bytes() + heap_bytes(sizeof(FastIndex)) + next->pages.bytes() + next->blocks.bytes()};
    return next;
}

inline IndexPointer FastEngine::commit() {
    if (added_.empty() && removed_.empty() && published_) return nullptr;
    purge();
    if (!lists_valid_) recover();
    lists_valid_ = false;
    Commit(*this).run();
    lists_valid_ = published_ = true;
    return current_;
}

}  // namespace cbn::fast
