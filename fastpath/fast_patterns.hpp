// Which operands a text begins with, ends with, holds or equals: one pass over the text for all blocks.
//
// Operands of up to SHORT bytes need no look-up: a text's own bytes are their codes, and each block says which
// it has. Whether a longer one is all of the text is one look-up in the dictionary. For the other tests, a word
// says by the hash of four bytes which lengths there are that begin with them: bit L for length L, bit 63 for
// longer ones. Most positions of a text meet a zero. Each length named is tried by a look-up. Operands of
// prefix alone stand in a table of their own, asked at the start only. Operands of LONG bytes and more are found
// by their first bytes and compared one by one.
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

#include "fast_codes.hpp"
#include "fast_dictionary.hpp"
#include "fast_terms.hpp"

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

// Which ends of a text are real: an operand of a prefix constraint, say, has no end of its own.
struct Ends {
    bool start = true;
    bool end = true;
};

// One pass over one text.
class Scan {
  public:
    Scan(const DictionaryView& operands, const PatternsView& patterns, std::vector<std::uint32_t>& found) noexcept
        : operands_(operands), patterns_(patterns), found_(found) {}

    // Appends the codes that the text satisfies, each once (E5).
    void run(std::string_view text, Ends ends) {
        text_ = text;
        ends_ = ends;
        met_ = 0;
        followed_.clear();
        begin_ = found_.size();
        const std::uint32_t uses = patterns_.uses->all();
        tests_ = uses >> 4 * Uses::LONGER;
        if (text.size() > SHORT && tests_ != 0) scan_long();
        find_short<0>(uses);
        find_short<1>(uses);
        find_short<2>(uses);
        find_short<3>(uses);
        if (found_.size() - begin_ > FEW) merge();
    }

  private:
    static constexpr std::size_t FEW = 32, MANY = 4096;

    // --- Up to SHORT bytes --------------------------------------------------------------------------------
    template <std::size_t size>
    void find_short(std::uint32_t uses) {
        const std::uint32_t tests = uses >> 4 * size & 15;
        if (tests == 0 || text_.size() < size) return;
        const char* const last = text_.data() + text_.size() - size;
        const bool whole = text_.size() == size && ends_.start && ends_.end;
        if ((tests >> EQ_CODE & 1) != 0 && whole) put<size>(text_.data(), EQ_CODE);
        if ((tests >> PREFIX_CODE & 1) != 0 && ends_.start) put<size>(text_.data(), PREFIX_CODE);
        if ((tests >> SUFFIX_CODE & 1) != 0 && ends_.end) put<size>(last, SUFFIX_CODE);
        if ((tests >> SUBSTRING_CODE & 1) == 0) return;
        text_.size() > FEW ? find_pieces_of_many<size>() : find_pieces<size>();
    }

    // At most FEW: written straight away, and those that had been there are written over.
    template <std::size_t size>
    void find_pieces() {
        const std::size_t start = found_.size(), places = text_.size() - size + 1;
        found_.resize(start + places);
        std::uint32_t* out = found_.data() + start;
        for (std::size_t at = 0; at < places; ++at) {
            const std::uint32_t code = short_code(short_bytes<size>(text_.data() + at), size, SUBSTRING_CODE);
            const std::uint64_t bit = std::uint64_t{1} << (code >> 26);
            const bool again = (met_ & bit) != 0 && std::find(found_.data() + start, out, code) != out;
            met_ |= bit;
            *out = code;
            out += again ? 0 : 1;
        }
        found_.resize(static_cast<std::size_t>(out - found_.data()));
    }

    template <std::size_t size>
    void find_pieces_of_many() {
        const char* const last = text_.data() + text_.size() - size;
        for (const char* at = text_.data(); at <= last; ++at) {
            if (size < SHORT || patterns_.uses->has_piece(short_bytes<size>(at))) put<size>(at, SUBSTRING_CODE);
        }
    }

    template <std::size_t size>
    void put(const char* at, std::uint32_t test) {
        put(short_code(short_bytes<size>(at), size, test));
    }

    // --- More than SHORT bytes ----------------------------------------------------------------------------
    void scan_long() {
        constexpr std::uint32_t prefix = 1U << PREFIX_CODE, floating = 1U << SUFFIX_CODE | 1U << SUBSTRING_CODE;
        const std::uint64_t head = head_of(text_);
        const std::uint32_t whole = operands_.find(text_, OPERAND_KIND, head);
        if (whole != NONE) {
            if ((tests_ >> EQ_CODE & 1) != 0 && ends_.start && ends_.end) put(long_code(whole, EQ_CODE));
            meet(whole, true, true);
        }
        std::uint64_t lengths = 0;
        if ((tests_ & prefix) != 0 && ends_.start) lengths = patterns_.prefixes->at(head);
        if ((tests_ & floating) != 0) lengths |= patterns_.floating->at(head);
        if (lengths != 0) try_lengths(0, head, lengths);
        if ((tests_ & floating) != 0) scan_rest();
    }

    void scan_rest() {
        const char* bytes = text_.data();
        const std::size_t size = text_.size();
        std::size_t at = 1;
        for (; at + 8 <= size; ++at) visit(at, head_within(bytes + at, 8));
        std::uint64_t head = head_of(bytes + at, size - std::min(at, size));
        for (; at + SHORT < size; ++at, head <<= 8) visit(at, head);
    }

    void visit(std::size_t at, std::uint64_t head) {
        const std::uint64_t lengths = patterns_.floating->at(head);
        if (lengths != 0) [[unlikely]] try_lengths(at, head, lengths);
    }

    void try_lengths(std::size_t at, std::uint64_t head, std::uint64_t lengths) {
        const std::size_t left = text_.size() - at;
        if (lengths >> Lengths::LONG != 0 && left >= Lengths::LONG) try_long(at);
        lengths &= left >= Lengths::LONG ? ~(std::uint64_t{1} << Lengths::LONG) : (std::uint64_t{2} << left) - 1;
        if (at == 0 && left < Lengths::LONG) lengths &= ~(std::uint64_t{1} << left);  // all of it is known
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
        if ((tests_ >> SUBSTRING_CODE & 1) != 0) put(long_code(operand, SUBSTRING_CODE));
        if ((tests_ >> PREFIX_CODE & 1) != 0 && start && ends_.start) put(long_code(operand, PREFIX_CODE));
        if ((tests_ >> SUFFIX_CODE & 1) != 0 && end && ends_.end) put(long_code(operand, SUFFIX_CODE));
    }

    // Once each, as long as they are few: `met_` says what may have been put before.
    void put(std::uint32_t code) {
        const std::uint64_t bit = std::uint64_t{1} << (code >> 26);
        if ((met_ & bit) != 0) [[unlikely]] {
            const auto first = found_.begin() + static_cast<std::ptrdiff_t>(begin_);
            const auto last = first + static_cast<std::ptrdiff_t>(std::min(FEW, found_.size() - begin_));
            if (std::find(first, last, code) != last) return;
        }
        met_ |= bit;
        found_.push_back(code);
        if (found_.size() - begin_ >= limit_) [[unlikely]] {
            merge();
            limit_ = std::max(MANY, 2 * (found_.size() - begin_));
        }
    }

    void merge() {
        const auto first = found_.begin() + static_cast<std::ptrdiff_t>(begin_);
        std::sort(first, found_.end());
        found_.erase(std::unique(first, found_.end()), found_.end());
    }

    const DictionaryView& operands_;
    const PatternsView& patterns_;
    std::vector<std::uint32_t>& found_;
    std::string_view text_{};
    Ends ends_{};
    std::uint32_t tests_ = 0;  // that longer operands are looked for by
    std::vector<std::uint64_t> followed_;  // stems
    std::uint64_t met_ = 0;
    std::size_t begin_ = 0;
    std::size_t limit_ = MANY;
};

// The writer's side.
class Patterns {
  public:
    [[nodiscard]] PatternsView view() const noexcept { return {uses_, prefixes_, floating_, longer_}; }

    // From now on `operand` is looked for. May be told the same again.
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

    // To be told when a number is about to bear another text; bits it left behind do no harm.
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
        return heap_bytes(sizeof(Uses)) + prefixes_->bytes() + floating_->bytes() + heap_bytes(longer_->items) + heap_bytes(roles_);
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
