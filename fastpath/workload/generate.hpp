// Filters and messages by the parameters of FWD Table 1 (F7), as lines of text. See docs/benchmarks.md for the
// format; workload/text.hpp reads it.
//
// Names, words, shares of the interfaces, filters and messages each have chance of their own: more messages
// leave the filters as they are, and the first messages stay the first.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"
#include "workload/words.hpp"

namespace cbn::workload {

inline constexpr std::string_view INTEGER_OPS[] = {"=", "<", ">", "!=", "<=", ">="};
inline constexpr std::string_view STRING_OPS[] = {"=", "^", "$", "*", "<", ">", "!="};
inline constexpr std::size_t PREFIX = 1, SUFFIX = 2, SUBSTRING = 3;  // places in STRING_OPS

struct Recipe {
    std::uint64_t seed = 1;
    std::uint32_t interfaces = 0;
    Range<std::uint64_t> filters_per_interface;
    std::uint64_t filters = 0;  // if not 0: so many in all, dealt out evenly, in place of a range
    Range<std::uint64_t> constraints;
    Range<std::uint64_t> attributes;
    Range<std::int64_t> integers;
    std::size_t words = 0;
    std::size_t piece = 0;  // letters in the operand of prefix, suffix and substring; 0: the whole word
    Weighted names;         // as many as it has weights
    Weighted types;         // string, integer
    Weighted string_ops;    // as in STRING_OPS
    Weighted integer_ops;   // as in INTEGER_OPS
};

template <class T>
inline void append_number(std::string& out, T value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

class Generator {
  public:
    explicit Generator(const Recipe& recipe)
        : recipe_(recipe),
          names_(make_words(recipe.names.size(), Random(recipe.seed, "names"))),
          words_(make_words(recipe.words, Random(recipe.seed, "words"))),
          filter_chance_(recipe.seed, "filters"),
          message_chance_(recipe.seed, "messages"),
          last_use_(recipe.names.size()) {
        if (recipe.filters == 0) draw_shares();
        else deal_shares();
    }

    [[nodiscard]] std::uint64_t filters() const noexcept { return total_; }

    // Appends up to `most` lines; how many there were. The interfaces take turns until each has had its share.
    std::size_t filters(std::size_t most, std::string& out) {
        std::size_t written = 0;
        for (; written < most && given_ < total_; ++written, ++given_) append_filter(next_interface(), out);
        return written;
    }

    void messages(std::size_t count, std::string& out) {
        for (; count > 0; --count) append_message(out);
    }

  private:
    void draw_shares() {
        Random random(recipe_.seed, "shares");
        for (std::uint32_t i = 0; i < recipe_.interfaces; ++i) {
            left_.push_back(random.in(recipe_.filters_per_interface));
            total_ += left_.back();
        }
    }
    void deal_shares() {
        total_ = recipe_.filters;
        left_.assign(recipe_.interfaces, total_ / recipe_.interfaces);
        for (std::uint64_t i = 0; i < total_ % recipe_.interfaces; ++i) ++left_[i];
    }

    std::uint32_t next_interface() noexcept {
        while (left_[turn_] == 0) advance();
        --left_[turn_];
        const std::uint32_t interface = turn_;
        advance();
        return interface;
    }
    void advance() noexcept { turn_ = turn_ + 1 == recipe_.interfaces ? 0 : turn_ + 1; }

    void append_filter(std::uint32_t interface, std::string& out) {
        std::uint64_t count = filter_chance_.in(recipe_.constraints);
        out.append("f ");
        append_number(out, interface);
        out.push_back(' ');
        append_number(out, count);
        for (; count > 0; --count) append_constraint(out);
        out.push_back('\n');
    }

    void append_constraint(std::string& out) {
        Random& random = filter_chance_;
        out.push_back(' ');
        out.append(names_[recipe_.names.draw(random)]);
        if (recipe_.types.draw(random) == 0) {
            const std::size_t op = recipe_.string_ops.draw(random);
            out.append(" s").append(STRING_OPS[op]).push_back(' ');
            out.append(operand(op, words_[random.below(words_.size())]));
        } else {
            out.append(" i").append(INTEGER_OPS[recipe_.integer_ops.draw(random)]).push_back(' ');
            append_number(out, random.in(recipe_.integers));
        }
    }

    // The part of a word that an operator is given.
    std::string_view operand(std::size_t op, std::string_view word) noexcept {
        if (recipe_.piece == 0 || op < PREFIX || op > SUBSTRING || word.size() <= recipe_.piece) return word;
        const std::size_t room = word.size() - recipe_.piece;
        const std::size_t at = op == PREFIX ? 0 : op == SUFFIX ? room : filter_chance_.below(room + 1);
        return word.substr(at, recipe_.piece);
    }

    void append_message(std::string& out) {
        std::uint64_t count = message_chance_.in(recipe_.attributes);
        ++message_;
        out.append("m ");
        append_number(out, count);
        for (; count > 0; --count) append_attribute(out);
        out.push_back('\n');
    }

    void append_attribute(std::string& out) {
        Random& random = message_chance_;
        out.push_back(' ');
        out.append(unused_name());
        if (recipe_.types.draw(random) == 0) {
            out.append(" s ").append(words_[random.below(words_.size())]);
        } else {
            out.append(" i ");
            append_number(out, random.in(recipe_.integers));
        }
    }

    // M1: a name occurs once in a message.
    std::string_view unused_name() {
        const auto unused = [this](std::size_t name) { return last_use_[name] != message_; };
        const std::size_t name = recipe_.names.draw_among(message_chance_, unused);
        last_use_[name] = message_;
        return names_[name];
    }

    Recipe recipe_;
    std::vector<std::string> names_;
    std::vector<std::string> words_;
    Random filter_chance_;
    Random message_chance_;
    std::vector<std::uint64_t> left_;      // by interface: filters it is still to get
    std::vector<std::uint64_t> last_use_;  // by name: the message that had it last, counted from 1
    std::uint64_t total_ = 0;
    std::uint64_t given_ = 0;
    std::uint64_t message_ = 0;
    std::uint32_t turn_ = 0;
};

}  // namespace cbn::workload
