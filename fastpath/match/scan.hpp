// What a text begins with, ends with, holds or equals, as codes: one pass over it for all blocks.
//
// Each length that match/patterns.hpp names at a position is tried by a look-up in the dictionary; most positions
// meet a zero.
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "match/patterns.hpp"

namespace cbn::fast {

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

}  // namespace cbn::fast
