// Which operands a text begins with, ends with, holds or equals: one pass over the text for all blocks.
//
// By the hash of three bytes, a word says which lengths operands have that begin with them: bit L for length
// L, bit 63 for longer ones. Most positions of a text meet a zero. Each length named is tried by a look-up in
// the dictionary. Operands of `=` and prefix alone stand in a table of their own, asked at the start only.
// Long operands of the other kinds are found by their first bytes and compared one by one.
//
// Both tables only gain bits while readers read; a bit too many costs a look-up, never an answer.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <string_view>
#include <vector>

#include "fast_dictionary.hpp"
#include "fast_terms.hpp"

namespace cbn::fast {

inline constexpr std::uint32_t OPERAND_KIND = 0;

// The tests that depend on the bytes of an operand, as two bits beside its number.
enum : std::uint32_t { EQ_CODE = 0, PREFIX_CODE = 1, SUFFIX_CODE = 2, SUBSTRING_CODE = 3 };

// An operand met in a text and, as bits 1 << *_CODE, the tests it thereby satisfies.
struct Found {
    std::uint32_t operand;
    std::uint32_t tests;
    bool operator<(const Found& other) const noexcept { return operand < other.operand; }
};

class Lengths {
  public:
    explicit Lengths(std::size_t count)
        : words_(std::make_unique<std::atomic<std::uint64_t>[]>(count)), mask_(count - 1) {}

    static constexpr std::size_t LONG = 63;

    void note(std::string_view text) noexcept {
        const std::size_t first = std::min<std::size_t>(text.size(), 3);
        const std::uint64_t bit = std::uint64_t{1} << std::min(text.size(), LONG);
        words_[place(head_of(text) >> (64 - 8 * first), first)].fetch_or(bit, std::memory_order_relaxed);
        if (first < 3) short_.fetch_or(1U << first, std::memory_order_relaxed);
    }

    // The lengths that operands starting like this may have; `head` of a text with `left` bytes to go.
    [[nodiscard]] std::uint64_t at(std::uint64_t head, std::size_t left) const noexcept {
        std::uint64_t bits = left < 3 ? 0 : words_[place(head >> 40, 3)].load(std::memory_order_relaxed);
        const std::uint32_t brief = short_.load(std::memory_order_relaxed);
        if (brief == 0) [[likely]] return bits;
        if ((brief & 2U) != 0 && left >= 1) bits |= words_[place(head >> 56, 1)].load(std::memory_order_relaxed) & 2U;
        if ((brief & 4U) != 0 && left >= 2) bits |= words_[place(head >> 48, 2)].load(std::memory_order_relaxed) & 4U;
        return bits;
    }

    [[nodiscard]] std::size_t count() const noexcept { return mask_ + 1; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof *this + heap_bytes(count() * sizeof(std::uint64_t));
    }

  private:
    [[nodiscard]] std::size_t place(std::uint64_t bytes, std::size_t size) const noexcept {
        const std::uint64_t hash = (bytes | std::uint64_t{size} << 24) * 0x9E3779B97F4A7C15U;
        return (hash >> 32) & mask_;
    }

    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
    std::size_t mask_;
    std::atomic<std::uint32_t> short_{0};
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
    std::shared_ptr<const Lengths> anchored, floating;
    std::shared_ptr<const LongOperands> longer;
};

// Which ends of a text are real: an operand of a prefix constraint, say, has no end of its own.
struct Ends {
    bool start = true;
    bool end = true;
};

// One pass over one text.
class Scan {
  public:
    Scan(const DictionaryView& operands, const PatternsView& patterns, std::vector<Found>& found) noexcept
        : operands_(operands), patterns_(patterns), found_(found) {}

    // Appends what is found, each operand once (E5).
    void run(std::string_view text, Ends ends) {
        text_ = text;
        ends_ = ends;
        followed_.clear();
        begin_ = found_.size();
        if (text.empty()) return empty_text();
        const std::uint64_t head = head_of(text);
        const std::uint64_t anchored = ends.start ? patterns_.anchored->at(head, text.size()) : 0;
        try_lengths(0, head, anchored | patterns_.floating->at(head, text.size()));
        scan_rest();
        if (found_.size() - begin_ > FEW) merge();
    }

  private:
    static constexpr std::size_t FEW = 16, MANY = 4096;

    // Only `=` holds for an empty operand here: see text_term.
    void empty_text() {
        const std::uint32_t operand = operands_.find({}, OPERAND_KIND, 0);
        if (operand != NONE && ends_.start && ends_.end) found_.push_back({operand, 1U << EQ_CODE});
    }

    void scan_rest() {
        const char* bytes = text_.data();
        const std::size_t size = text_.size();
        std::size_t at = 1;
        for (; at + 8 <= size; ++at) visit(at, head_within(bytes + at, 8));
        std::uint64_t head = head_of(bytes + at, size - std::min(at, size));
        for (; at < size; ++at, head <<= 8) visit(at, head);
    }

    void visit(std::size_t at, std::uint64_t head) {
        const std::uint64_t lengths = patterns_.floating->at(head, text_.size() - at);
        if (lengths != 0) try_lengths(at, head, lengths);
    }

    void try_lengths(std::size_t at, std::uint64_t head, std::uint64_t lengths) {
        const std::size_t left = text_.size() - at;
        if (lengths >> Lengths::LONG != 0 && left >= Lengths::LONG) try_long(at);
        lengths &= left >= Lengths::LONG ? ~(std::uint64_t{1} << Lengths::LONG) : (std::uint64_t{2} << left) - 1;
        for (; lengths != 0; lengths &= lengths - 1) {
            const auto size = static_cast<std::size_t>(std::countr_zero(lengths));
            const std::uint64_t own = size >= 8 ? head : head & (~std::uint64_t{0} << (64 - 8 * size));
            const std::uint32_t operand = operands_.find(text_.substr(at, size), OPERAND_KIND, own);
            if (operand != NONE) meet(operand, at == 0, size == left);
        }
    }

    // Each stem is followed up once a text, for all of the text: what repeats itself takes no longer for it.
    void try_long(std::size_t at) {
        const std::uint64_t stem = LongOperands::stem_of(text_.data() + at);
        if (at == 0 && ends_.start && ends_.end) {
            const std::uint32_t whole = operands_.find(text_, OPERAND_KIND, head_of(text_));
            if (whole != NONE) meet(whole, true, true);
        }
        const auto& items = patterns_.longer->items;
        auto item = std::lower_bound(items.begin(), items.end(), LongOperands::Item{stem, 0});
        if (item == items.end() || item->stem != stem) return;
        if (std::find(followed_.begin(), followed_.end(), stem) != followed_.end()) return;
        followed_.push_back(stem);
        for (; item != items.end() && item->stem == stem; ++item) {
            const std::string_view operand = operands_.text(item->operand);
            if (!contains(text_.substr(at), operand)) continue;
            meet(item->operand, text_.starts_with(operand), text_.ends_with(operand));
        }
    }

    // At the start or the end of the text, or neither, or both: as of bytes, whatever the ends are worth.
    void meet(std::uint32_t operand, bool start, bool end) {
        start = start && ends_.start;
        end = end && ends_.end;
        const std::uint32_t tests = 1U << SUBSTRING_CODE | (start ? 1U << PREFIX_CODE : 0U) |
                                    (end ? 1U << SUFFIX_CODE : 0U) | (start && end ? 1U << EQ_CODE : 0U);
        const std::size_t first = std::min(begin_ + FEW, found_.size());
        for (std::size_t at = begin_; at < first; ++at) {
            if (found_[at].operand == operand) {
                found_[at].tests |= tests;
                return;
            }
        }
        found_.push_back({operand, tests});
        if (found_.size() - begin_ >= limit_) {
            merge();
            limit_ = std::max(MANY, 2 * (found_.size() - begin_));
        }
    }

    void merge() {
        const auto first = found_.begin() + static_cast<std::ptrdiff_t>(begin_);
        std::sort(first, found_.end());
        auto last = first;
        for (auto each = first + 1; each != found_.end(); ++each) {
            if (each->operand == last->operand) {
                last->tests |= each->tests;
            } else {
                *++last = *each;
            }
        }
        found_.erase(last + 1, found_.end());
    }

    const DictionaryView& operands_;
    const PatternsView& patterns_;
    std::vector<Found>& found_;
    std::string_view text_{};
    Ends ends_{};
    std::vector<std::uint64_t> followed_;  // stems
    std::size_t begin_ = 0;
    std::size_t limit_ = MANY;
};

// The writer's side.
class Patterns {
  public:
    [[nodiscard]] PatternsView view() const noexcept { return {anchored_, floating_, longer_}; }

    // From now on `operand` is looked for. May be told the same again.
    void note(const Dictionary& operands, std::uint32_t operand, Test test) {
        const std::uint8_t use = use_of(test);
        if (use == 0) return;
        if (roles_.size() <= operand) roles_.resize(operands.extent());
        const std::uint8_t before = roles_[operand];
        if ((before & use) == use) return;
        if (before == 0 && 4 * (noted_ + 1) > anchored_->count() && anchored_->count() < MOST) {
            remake(operands, 2 * anchored_->count());
        }
        enter(operands.text(operand), operand, use, *anchored_, *floating_, fresh_);
        noted_ += before == 0;
        roles_[operand] = static_cast<std::uint8_t>(before | use);
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

    // To be told when a number is about to bear another text; bits it left behind do no harm.
    void forget(std::uint32_t operand) noexcept {
        if (operand >= roles_.size() || roles_[operand] == 0) return;
        roles_[operand] = 0;
        --noted_;
    }

    // Drops what was forgotten.
    void rebuild(const Dictionary& operands) {
        remake(operands, std::min(MOST, std::bit_ceil(std::size_t{1024} + 4 * noted_)));
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        return anchored_->bytes() + floating_->bytes() + heap_bytes(longer_->items) + heap_bytes(roles_);
    }

  private:
    static constexpr std::size_t MOST = std::size_t{1} << 16;  // words: more would fall out of the cache
    static constexpr std::uint8_t EQUAL = 1, PREFIX = 2, FLOATING = 4;

    static std::uint8_t use_of(Test test) noexcept {
        if (test == Test::Eq) return EQUAL;
        if (test == Test::Prefix) return PREFIX;
        return test == Test::Suffix || test == Test::Substring ? FLOATING : 0;
    }

    static void enter(std::string_view text, std::uint32_t operand, std::uint8_t use, Lengths& anchored,
                      Lengths& floating, std::vector<LongOperands::Item>& longer) {
        if (text.empty()) return;
        if (text.size() >= Lengths::LONG && (use & (PREFIX | FLOATING)) != 0) {
            longer.push_back({LongOperands::stem_of(text.data()), operand});
        }
        if ((use & (EQUAL | PREFIX)) != 0) anchored.note(text);
        if ((use & FLOATING) != 0) floating.note(text);
    }

    void remake(const Dictionary& operands, std::size_t count) {
        auto anchored = std::make_shared<Lengths>(count);
        auto floating = std::make_shared<Lengths>(count);
        std::vector<LongOperands::Item> longer;
        for (std::uint32_t id = 0; id < roles_.size(); ++id) {
            if (roles_[id] != 0) enter(operands.text(id), id, roles_[id], *anchored, *floating, longer);
        }
        longer_ = std::make_shared<LongOperands>();
        anchored_ = std::move(anchored);
        floating_ = std::move(floating);
        fresh_ = std::move(longer);
    }

    std::shared_ptr<Lengths> anchored_ = std::make_shared<Lengths>(1024);
    std::shared_ptr<Lengths> floating_ = std::make_shared<Lengths>(1024);
    std::shared_ptr<LongOperands> longer_ = std::make_shared<LongOperands>();
    std::vector<LongOperands::Item> fresh_;  // not in longer_ yet
    std::vector<std::uint8_t> roles_;
    std::size_t noted_ = 0;
};

}  // namespace cbn::fast
