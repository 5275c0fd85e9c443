// One constraint against one value (M2, M3), and what one message needs while it is matched.
//
// The index over many filters lives in table_index.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "bits.hpp"
#include "wire.hpp"

namespace cbn {

// A constraint whose name has been replaced by its number in the table.
struct Constraint {
    std::uint32_t name = 0;
    wire::Op op = wire::Op::Any;
    wire::ValueView value{};
};

template <class T>
inline bool compare(wire::Op op, const T& left, const T& right) noexcept {
    switch (op) {
        case wire::Op::Eq: return left == right;
        case wire::Op::Ne: return left != right;
        case wire::Op::Lt: return left < right;
        case wire::Op::Gt: return left > right;
        case wire::Op::Le: return left <= right;
        case wire::Op::Ge: return left >= right;
        default: return false;
    }
}

// memmem is linear in both lengths whatever they hold; string_view::find is not.
inline bool contains(std::string_view text, std::string_view piece) noexcept {
    return piece.empty() || ::memmem(text.data(), text.size(), piece.data(), piece.size()) != nullptr;
}

// Strings are ordered by bytes: char_traits<char> compares them as unsigned.
inline bool holds_for_text(wire::Op op, std::string_view text, std::string_view operand) noexcept {
    switch (op) {
        case wire::Op::Prefix: return text.starts_with(operand);
        case wire::Op::Suffix: return text.ends_with(operand);
        case wire::Op::Substring: return contains(text, operand);
        default: return compare(op, text, operand);
    }
}

// M3: the types must be equal, nothing is converted.
inline bool holds(const Constraint& constraint, const wire::ValueView& value) noexcept {
    if (constraint.value.type != value.type) return false;
    if (constraint.op == wire::Op::Any) return true;
    switch (value.type) {
        case wire::Type::String: return holds_for_text(constraint.op, value.text, constraint.value.text);
        case wire::Type::Float: return compare(constraint.op, value.number(), constraint.value.number());
        case wire::Type::Boolean: return compare(constraint.op, value.boolean(), constraint.value.boolean());
        case wire::Type::Integer:
        case wire::Type::Time: return compare(constraint.op, value.integer(), constraint.value.integer());
    }
    return false;
}

// What one thread keeps between messages, so that matching allocates nothing once warm.
//
// A slot is valid if it bears the number of the present match: nothing is cleared between messages, and
// one Scratch serves any number of tables in turn.
class Scratch {
  public:
    std::vector<std::uint32_t> matched;  // interfaces, ascending, after a match
    Bits open;                           // interfaces not decided yet
    std::size_t undecided = 0;

    void begin(std::size_t names) {
        if (slots_.size() < names) slots_.resize(names);
        ++match_;
        matched.clear();
        present_.clear();
    }

    void note(std::uint32_t name, const wire::ValueView& value) {
        slots_[name] = {match_, value};
        present_.push_back(name);
    }

    [[nodiscard]] const std::vector<std::uint32_t>& present() const noexcept { return present_; }

    [[nodiscard]] const wire::ValueView* value(std::uint32_t name) const noexcept {
        const Slot& slot = slots_[name];
        return slot.match == match_ ? &slot.value : nullptr;
    }

  private:
    struct Slot {
        std::uint64_t match = 0;
        wire::ValueView value{};
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> present_;
    std::uint64_t match_ = 0;
};

}  // namespace cbn
