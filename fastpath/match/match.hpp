// Matching one message against one published state of the table.
//
// The attributes are walked once, each found by one look-up. Then, cheapest first and only while an interface
// is undecided (FWD 4.3): masks by numbers, masks by order of strings, masks by patterns; the interfaces of
// single constraints; and last the filters of several constraints that an entry leads to, checked in full.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "match/block.hpp"
#include "match/parse.hpp"
#include "match/scan.hpp"
#include "match/store.hpp"
#include "match/index.hpp"

namespace cbn::fast {

// An attribute whose name and type some filter mentions.
struct Seen {
    std::uint32_t key = 0;
    bool text = false;
    bool scanned = false;
    std::uint32_t found = 0, found_end = 0;  // in FastState::found, once scanned
    std::uint64_t number = 0;                // in order; of a string, its head
    std::string_view value{};
    const Blob* block = nullptr;
};

class alignas(APART) FastState : public MatchState {
  public:
    std::vector<Seen> seen;
    std::vector<std::uint32_t> found;          // codes
    std::vector<std::uint32_t> candidates;      // slots
    std::vector<std::uint16_t> place_of_key;    // in `seen`; stale unless the key stands there
    std::vector<std::uint64_t> present;         // keys, by their low 16 bits; clear between messages
    std::vector<std::uint64_t> met;             // interfaces from FOLDED on; clear between messages
    std::array<std::uint64_t, MASK_WORDS + 1> open{};  // interfaces below FOLDED; the last word: all others
};

// The published state. Everything in it is immutable or, as the dictionaries, only grows.
class FastIndex final : public Index {
  public:
    DictionaryView keys, operands;
    PatternsView patterns;
    BlobArray pages, blocks;
    std::array<std::uint64_t, MASK_WORDS> folded{};  // interfaces below FOLDED that have filters
    std::uint32_t known_keys = 0;                    // the dictionary may have more by now
    std::uint32_t extent = 0;                        // one more than the highest interface there has been
    bool far = false;                                // there are interfaces from FOLDED on
    bool repeats = false;                            // one of them has more than one filter
    TableStats figures;

    wire::Status match(const wire::MessageView& message, const Bits* allowed, std::uint32_t except,
                       Scratch& scratch) const override;
    [[nodiscard]] TableStats stats() const override { return figures; }
};

class Matcher {
  public:
    Matcher(const FastIndex& index, const Bits* allowed, std::uint32_t except, Scratch& scratch)
        : index_(index),
          allowed_(allowed),
          except_(except),
          state_(scratch.state<FastState>()),
          matched_(scratch.matched) {
        matched_.clear();
        state_.seen.clear();
        state_.found.clear();
        std::uint64_t any = 0;
        for (std::size_t word = 0; word < MASK_WORDS; ++word) {
            std::uint64_t open = index.folded[word];
            if (allowed != nullptr) open &= allowed->word(word);
            if (except / 64 == word) open &= ~(std::uint64_t{1} << except % 64);
            any |= state_.open[word] = open;
        }
        std::copy_n(state_.open.begin(), MASK_WORDS, wanted_.begin());
        undecided_ = any != 0;
        far_ = index.far && (allowed == nullptr || allowed->extent() > FOLDED);
        state_.open[MASK_WORDS] = far_ ? ~std::uint64_t{0} : 0;
    }

    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    // Leaves the state as it was found, also if memory has run out on the way.
    ~Matcher() {
        if (marked_) unmark_present();
        if (!index_.repeats || !far_) return;
        for (const std::uint32_t interface : matched_) {
            if (interface >= FOLDED) state_.met[interface / 64] = 0;
        }
    }

    // False if the attributes are malformed.
    bool read(const wire::MessageView& message) {
        state_.seen.reserve(std::min<std::size_t>(message.attribute_count, message.attributes.size() / 4) + 1);
        if (index_.blocks.get(0) != nullptr) note(0, Seen{}.number).block = index_.blocks.get(0);
        return walk_attributes(message.attributes, message.attribute_count, *this);
    }

    void decide() {
        if (!far_) {
            fold_numbers();
            if (undecided_) fold_text();
        }
        if (undecided_ || far_) visit_blocks();
        collect();
    }

    // --- What walk_attributes calls -----------------------------------------------------------------------
    bool text(std::string_view name, std::uint64_t head, std::string_view value, std::uint64_t value_head) {
        const std::uint32_t key = index_.keys.find(name, static_cast<std::uint32_t>(wire::Type::String), head);
        if (key >= index_.known_keys) return false;
        Seen& seen = note(key, value_head);
        seen.text = true;
        seen.value = value;
        return true;
    }
    bool number(std::string_view name, std::uint64_t head, wire::Type type, std::uint64_t bits) {
        const std::uint32_t key = index_.keys.find(name, static_cast<std::uint32_t>(type), head);
        if (key >= index_.known_keys) return false;
        note(key, ordered(type, bits));
        return true;
    }

  private:
    Seen& note(std::uint32_t key, std::uint64_t number) {
        const Blob* block = index_.blocks.get(key);
        if (block != nullptr) __builtin_prefetch(block);
        Seen& seen = state_.seen.emplace_back();
        seen.key = key;
        seen.number = number;
        seen.block = block;
        return seen;
    }

    // Where much of each block will be read, all of them are asked of memory at once.
    void fetch_blocks() const noexcept {
        constexpr std::size_t line = 64, most = 12;
        for (const Seen& seen : state_.seen) {
            if (seen.block == nullptr) continue;
            const std::uint8_t* data = seen.block->data();
            const std::size_t lines = std::min(seen.block->size() / line, most);
            for (std::size_t each = 1; each <= lines; ++each) __builtin_prefetch(data + each * line);
        }
    }

    // --- Masks --------------------------------------------------------------------------------------------
    void settle(const std::uint64_t* mask, std::uint32_t words) noexcept {
        std::uint64_t any = 0;
        for (std::uint32_t word = 0; word < words; ++word) state_.open[word] &= ~mask[word];
        for (std::size_t word = 0; word < MASK_WORDS; ++word) any |= state_.open[word];
        undecided_ = any != 0;
    }

    void fold(const BlockView& block, Seen& seen) {
        if (block.has(HAS_SEGMENTS)) fold_segments(block, seen);
        if (block.has(HAS_MASK_PATTERNS)) fold_patterns(block, seen);
    }

    void fold_segments(const BlockView& block, const Seen& seen) {
        const SectionView segments = block.segments();
        const std::uint32_t rank =
            seen.text ? segments.rank(seen.value, seen.number, index_.operands) : segments.rank(seen.number);
        settle(segments.mask(rank), block.head().words);
    }

    void fold_patterns(const BlockView& block, Seen& seen) {
        const SectionView section = block.mask_patterns();
        section.each_pattern(scan(seen), [&](std::uint32_t at, std::uint32_t) {
            settle(section.mask(at), block.head().words);
        });
    }

    void fold_numbers() {
        for (const Seen& seen : state_.seen) {
            if (!undecided_) return;
            if (seen.text || seen.block == nullptr) continue;
            const BlockView block(seen.block);
            if (block.has(HAS_SEGMENTS)) fold_segments(block, seen);
        }
    }

    void fold_text() {
        for (const Seen& seen : state_.seen) {
            if (!undecided_) return;
            if (!seen.text || seen.block == nullptr) continue;
            const BlockView block(seen.block);
            if (block.has(HAS_SEGMENTS)) fold_segments(block, seen);
        }
        for (Seen& seen : state_.seen) {
            if (!undecided_) return;
            if (!seen.text || seen.block == nullptr) continue;
            const BlockView block(seen.block);
            if (block.has(HAS_MASK_PATTERNS)) fold_patterns(block, seen);
        }
    }

    // What the value holds of all operands there are; asked for at most once an attribute.
    std::span<const std::uint32_t> scan(Seen& seen) {
        if (!seen.scanned) {
            seen.found = static_cast<std::uint32_t>(state_.found.size());
            Scan(index_.operands, index_.patterns, state_.found).run(seen.value, {});
            seen.found_end = static_cast<std::uint32_t>(state_.found.size());
            seen.scanned = true;
        }
        return std::span(state_.found).subspan(seen.found, seen.found_end - seen.found);
    }

    // --- Sections -----------------------------------------------------------------------------------------
    // Calls visit(from, to) for runs of items whose test the value satisfies.
    template <class Visit>
    void each_run(const SectionView& section, Seen& seen, Visit&& visit) {
        const Section& head = section.head();
        if (head.kind == Kind::All) return visit(0, head.items);
        if (head.kind == Kind::Pattern) return section.each_pattern(scan(seen), visit);
        const std::uint32_t* starts = section.starts(seen.text);
        const std::uint32_t rank =
            seen.text ? section.rank(seen.value, seen.number, index_.operands) : section.rank(seen.number);
        if (head.kind == Kind::Order) return visit(starts[2 * rank], starts[2 * rank + 1]);
        const bool equal = rank > 0 && (seen.text ? index_.operands.text(section.cuts()[rank - 1] >> 1) == seen.value
                                                  : section.value(rank - 1) == seen.number);
        if (head.kind == Kind::Eq) {
            if (equal) visit(starts[rank - 1], starts[rank]);
            return;
        }
        visit(0, equal ? starts[rank - 1] : head.items);
        if (equal) visit(starts[rank], head.items);
    }

    // All blocks the message touches: interfaces are taken, entries sifted. Where there are so many interfaces that
    // masks do not end it, masks are no stage of their own.
    void visit_blocks() {
        if (far_ && index_.repeats && state_.met.size() * 64 < index_.extent) state_.met.resize(index_.extent / 64 + 1);
        fetch_blocks();
        mark_present();
        const bool plain = allowed_ == nullptr && !index_.repeats;
        for (Seen& seen : state_.seen) {
            if (seen.block == nullptr) continue;
            const BlockView block(seen.block);
            if (far_ && block.masks() > 0) fold(block, seen);
            for (std::uint32_t index = block.masks(); index < block.sections(); ++index) {
                const SectionView section = block.section(index);
                if (section.head().item == Item::Entry) {
                    each_run(section, seen, [&](auto from, auto to) { sift(section.entries(from, to)); });
                } else if (far_) {
                    each_run(section, seen, [&](auto from, auto to) { take(section.interfaces(from, to), plain); });
                }
            }
        }
        // Of runs taken whole, `except` may have been one: it has one filter then, and stands there once.
        if (plain && except_ >= FOLDED && except_ < index_.extent) std::erase(matched_, except_);
        const std::span<const std::uint32_t> slots(state_.candidates.data(), candidates_);
        each_record(index_.pages, slots, [&](std::uint32_t, RecordBytes record) { check(read_record(record)); });
    }

    // --- Interfaces from FOLDED on ------------------------------------------------------------------------
    void take(std::span<const std::uint32_t> run, bool plain) {
        if (!plain) {
            for (const std::uint32_t each : run) take(each);
        } else if (run.size() > 8) {
            matched_.insert(matched_.end(), run.begin(), run.end());
        } else {
            for (const std::uint32_t each : run) matched_.push_back(each);
        }
    }

    void take(std::uint32_t interface) {
        if (interface == except_ || (allowed_ != nullptr && !allowed_->test(interface))) return;
        if (index_.repeats) {
            std::uint64_t& word = state_.met[interface / 64];
            const std::uint64_t bit = std::uint64_t{1} << interface % 64;
            if ((word & bit) != 0) return;
            matched_.push_back(interface);
            word |= bit;
        } else {
            matched_.push_back(interface);
        }
    }

    // --- Filters of several constraints -------------------------------------------------------------------
    void mark_present() {
        const std::size_t extent = index_.known_keys;
        if (state_.place_of_key.size() < extent) state_.place_of_key.resize(extent);
        if (state_.present.size() * 64 < extent) state_.present.resize(std::min<std::size_t>(extent / 64 + 1, 1024));
        marked_ = true;
        for (std::size_t at = 0; at < state_.seen.size(); ++at) {
            const std::uint32_t key = state_.seen[at].key;
            state_.place_of_key[key] = static_cast<std::uint16_t>(at);
            state_.present[(key & 0xFFFF) / 64] |= std::uint64_t{1} << key % 64;
        }
    }

    void unmark_present() noexcept {
        for (const Seen& seen : state_.seen) state_.present[(seen.key & 0xFFFF) / 64] = 0;
    }

    [[nodiscard]] bool still_open(std::uint32_t interface) const noexcept {
        if (interface >= FOLDED) return far_;
        return (state_.open[interface / 64] >> interface % 64 & 1) != 0;
    }

    // Whether an entry is worth its record is hard to foresee: every slot is written, and the good ones stay.
    void sift(std::span<const std::uint64_t> entries) {
        if (candidates_ + entries.size() > state_.candidates.size()) {
            state_.candidates.resize(2 * (candidates_ + entries.size()));
        }
        const std::uint64_t* const present = state_.present.data();
        const std::uint64_t* const open = state_.open.data();
        std::uint32_t* const out = state_.candidates.data();
        std::size_t count = candidates_;
        for (const std::uint64_t entry : entries) {
            const std::uint64_t second = entry >> 32 & 0xFFFF, near = entry >> 48;
            out[count] = static_cast<std::uint32_t>(entry);
            count += present[second / 64] >> second % 64 & open[std::min(near / 64, MASK_WORDS)] >> near % 64 & 1;
        }
        candidates_ = count;
    }

    void check(const RecordView& record) {
        if (!still_open(record.interface) || !holds(record)) return;
        if (record.interface >= FOLDED) return take(record.interface);
        state_.open[record.interface / 64] &= ~(std::uint64_t{1} << record.interface % 64);
    }

    // M4: a conjunction. The first term led here and holds.
    [[nodiscard]] bool holds(const RecordView& record) const noexcept {
        const std::uint8_t* at = record.terms;
        get_term(at);
        while (at < record.end) {
            const CodedTerm term = get_term(at);
            const std::size_t place = term.key < state_.place_of_key.size() ? state_.place_of_key[term.key] : 0;
            if (place >= state_.seen.size()) return false;
            const Seen& seen = state_.seen[place];
            if (seen.key != term.key) return false;
            if (!(seen.text ? text_holds(term, seen) : number_holds(term, seen))) return false;
        }
        return true;
    }

    [[nodiscard]] static bool number_holds(const CodedTerm& term, const Seen& seen) noexcept {
        return holds_number(term.test, seen.number, value_of(term.code, false));
    }

    [[nodiscard]] bool text_holds(const CodedTerm& term, const Seen& seen) const noexcept {
        if (term.test == Test::Any || term.test == Test::Never) return term.test == Test::Any;
        return holds_text(term.test, seen.value, index_.operands.text(static_cast<std::uint32_t>(term.code)));
    }

    // --- The answer ---------------------------------------------------------------------------------------
    void collect() {
        for (std::uint32_t word = 0; word < MASK_WORDS; ++word) {
            for (std::uint64_t bits = wanted_[word] & ~state_.open[word]; bits != 0; bits &= bits - 1) {
                matched_.push_back(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
    }

    const FastIndex& index_;
    const Bits* allowed_;
    std::uint32_t except_;
    FastState& state_;
    std::vector<std::uint32_t>& matched_;
    std::array<std::uint64_t, MASK_WORDS> wanted_{};
    bool undecided_ = false;
    std::size_t candidates_ = 0;  // in state_.candidates
    bool far_ = false;
    bool marked_ = false;
};

inline wire::Status FastIndex::match(const wire::MessageView& message, const Bits* allowed, std::uint32_t except,
                                     Scratch& scratch) const {
    Matcher matcher(*this, allowed, except, scratch);
    if (matcher.read(message)) {
        matcher.decide();
        return {};
    }
    scratch.matched.clear();
    return wire::validate_attributes(message);
}

}  // namespace cbn::fast
