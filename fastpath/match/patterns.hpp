// Which operands there are to be looked for in a text, and by which tests: small tables for all blocks.
//
// Operands of up to SHORT bytes need no look-up: a text's own bytes are their codes, and each block says which
// it has. Whether a longer one is all of the text is one look-up in the dictionary. For the other tests, a word
// says by the hash of four bytes which lengths there are that begin with them: bit L for length L, bit 63 for
// longer ones. Operands of prefix alone stand in a table of their own, asked at the start only. Operands of
// LONG bytes and more are found by their first bytes and compared one by one.
//
// All tables only gain bits while readers read; a bit too many costs a look-up, never an answer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <string_view>
#include <vector>

#include "match/codes.hpp"
#include "match/dictionary.hpp"
#include "match/terms.hpp"

namespace cbn::fast {

inline constexpr std::uint32_t OPERAND_KIND = 0;

// Which sizes of operands are looked for by which tests, and roughly which pieces of three bytes.
class Uses {
  public:
    static constexpr std::size_t LONGER = SHORT + 1;  // stands for all sizes above SHORT

    void note(std::string_view text, std::uint32_t test) noexcept {
        uses_.fetch_or(1U << (4 * std::min(text.size(), LONGER) + test), std::memory_order_relaxed);
        if (text.size() != SHORT) return;
        const std::uint32_t bit = place(short_bytes<SHORT>(text.data()));
        pieces_[bit / 64].fetch_or(std::uint64_t{1} << bit % 64, std::memory_order_relaxed);
    }

    // Bit 4 * size + test.
    [[nodiscard]] std::uint32_t all() const noexcept { return uses_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool has_piece(std::uint32_t bytes) const noexcept {
        const std::uint32_t bit = place(bytes);
        return (pieces_[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1) != 0;
    }

  private:
    static std::uint32_t place(std::uint32_t bytes) noexcept { return bytes * 0x9E3779B1U >> 17; }

    std::atomic<std::uint32_t> uses_{0};
    std::array<std::atomic<std::uint64_t>, 512> pieces_{};
};

// Of operands longer than SHORT.
class Lengths {
  public:
    explicit Lengths(std::size_t count)
        : words_(std::make_unique<std::atomic<std::uint64_t>[]>(count)), mask_(count - 1) {}

    static constexpr std::size_t LONG = 63;

    void note(std::string_view text) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << std::min(text.size(), LONG);
        words_[place(head_of(text))].fetch_or(bit, std::memory_order_relaxed);
    }

    // The lengths that operands starting like this may have.
    [[nodiscard]] std::uint64_t at(std::uint64_t head) const noexcept {
        return words_[place(head)].load(std::memory_order_relaxed);
    }

    [[nodiscard]] std::size_t count() const noexcept { return mask_ + 1; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof *this + heap_bytes(count() * sizeof(std::uint64_t));
    }

  private:
    [[nodiscard]] std::size_t place(std::uint64_t head) const noexcept {
        return ((head >> 32) * 0x9E3779B97F4A7C15U >> 32) & mask_;
    }

    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
    std::size_t mask_;
};

// Operands of prefix, suffix and substring of LONG bytes and more, by the hash of their first LONG.
struct LongOperands {
    struct Item {
        std::uint64_t stem;
        std::uint32_t operand;
        bool operator<(const Item& other) const noexcept { return stem < other.stem; }
    };
    std::vector<Item> items;

    static std::uint64_t stem_of(const char* text) noexcept {
        return hash_of(text, Lengths::LONG, head_of(text, 8), OPERAND_KIND);
    }
};

// What a reader holds.
struct PatternsView {
    std::shared_ptr<const Uses> uses;
    std::shared_ptr<const Lengths> prefixes, floating;
    std::shared_ptr<const LongOperands> longer;
};

// The writer's side.
class Patterns {
  public:
    [[nodiscard]] PatternsView view() const noexcept { return {uses_, prefixes_, floating_, longer_}; }

    // From now on `operand` is looked for. The same may be said again.
    void note(const Dictionary& operands, std::uint32_t operand, Test test) {
        const std::uint8_t use = use_of(test);
        if (use == 0) return;
        if (roles_.size() <= operand) roles_.resize(operands.extent());
        const std::uint8_t before = roles_[operand];
        if ((before & use) == use) return;
        const std::string_view text = operands.text(operand);
        const bool more = (before & COUNTED) == 0 && text.size() > SHORT && test != Test::Eq;
        if (more && 4 * (noted_ + 1) > prefixes_->count() && prefixes_->count() < MOST) {
            remake(operands, 2 * prefixes_->count());
        }
        enter(text, operand, use, {*uses_, *prefixes_, *floating_, fresh_});
        noted_ += more;
        roles_[operand] = static_cast<std::uint8_t>(before | use | (more ? COUNTED : 0));
    }

    // Makes what has been noted part of the next view.
    void settle() {
        if (fresh_.empty()) return;
        auto larger = std::make_shared<LongOperands>();
        larger->items.reserve(longer_->items.size() + fresh_.size());
        larger->items = longer_->items;
        larger->items.insert(larger->items.end(), fresh_.begin(), fresh_.end());
        std::sort(larger->items.begin(), larger->items.end());
        longer_ = std::move(larger);
        fresh_.clear();
    }

    // To be called when a number is about to stand for another text; bits it left behind do no harm.
    void forget(std::uint32_t operand) noexcept {
        if (operand >= roles_.size()) return;
        noted_ -= (roles_[operand] & COUNTED) != 0;
        roles_[operand] = 0;
    }

    // Drops what was forgotten.
    void rebuild(const Dictionary& operands) {
        remake(operands, std::min(MOST, std::bit_ceil(std::size_t{1024} + 4 * noted_)));
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        return heap_bytes(sizeof(Uses)) + prefixes_->bytes() + floating_->bytes() + heap_bytes(longer_->items) +
               heap_bytes(roles_);
    }

  private:
    static constexpr std::size_t MOST = std::size_t{1} << 16;  // words: more would fall out of the cache
    static constexpr std::uint8_t COUNTED = 1 << 4;  // beside 1 << *_CODE, in roles

    struct Tables {
        Uses& uses;
        Lengths& prefixes;
        Lengths& floating;
        std::vector<LongOperands::Item>& longer;
    };

    static std::uint8_t use_of(Test test) noexcept {
        if (test == Test::Eq) return 1 << EQ_CODE;
        if (test == Test::Prefix) return 1 << PREFIX_CODE;
        if (test == Test::Suffix) return 1 << SUFFIX_CODE;
        return test == Test::Substring ? 1 << SUBSTRING_CODE : 0;
    }

    static void enter(std::string_view text, std::uint32_t operand, unsigned uses, const Tables& tables) {
        constexpr unsigned prefix = 1 << PREFIX_CODE, floating = 3 << SUFFIX_CODE;
        if (text.size() > SHORT && (uses & prefix) != 0) tables.prefixes.note(text);
        if (text.size() > SHORT && (uses & floating) != 0) tables.floating.note(text);
        if (text.size() >= Lengths::LONG && (uses & (prefix | floating)) != 0) {
            tables.longer.push_back({LongOperands::stem_of(text.data()), operand});
        }
        for (std::uint32_t test = EQ_CODE; test <= SUBSTRING_CODE; ++test) {
            if ((uses >> test & 1) != 0) tables.uses.note(text, test);
        }
    }

    void remake(const Dictionary& operands, std::size_t count) {
        auto uses = std::make_shared<Uses>();
        auto prefixes = std::make_shared<Lengths>(count);
        auto floating = std::make_shared<Lengths>(count);
        std::vector<LongOperands::Item> longer;
        const Tables tables{*uses, *prefixes, *floating, longer};
        for (std::uint32_t id = 0; id < roles_.size(); ++id) {
            if (roles_[id] != 0) enter(operands.text(id), id, roles_[id], tables);
        }
        longer_ = std::make_shared<LongOperands>();
        uses_ = std::move(uses);
        prefixes_ = std::move(prefixes);
        floating_ = std::move(floating);
        fresh_ = std::move(longer);
    }

    std::shared_ptr<Uses> uses_ = std::make_shared<Uses>();
    std::shared_ptr<Lengths> prefixes_ = std::make_shared<Lengths>(1024);
    std::shared_ptr<Lengths> floating_ = std::make_shared<Lengths>(1024);
    std::shared_ptr<LongOperands> longer_ = std::make_shared<LongOperands>();
    std::vector<LongOperands::Item> fresh_;  // not in longer_ yet
    std::vector<std::uint8_t> roles_;
    std::size_t noted_ = 0;
};

}  // namespace cbn::fast
