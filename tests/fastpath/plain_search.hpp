// The plainest matching there is, for harnesses to compare with: every constraint against every attribute.
// It shares nothing with the engines but the reading of bytes.
#pragma once

#include <string_view>

#include "wire/wire.hpp"

namespace cbn::test {

template <class T>
bool compare(wire::Op op, const T& left, const T& right) {
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

inline bool holds_for_text(wire::Op op, std::string_view text, std::string_view operand) {
    switch (op) {
        case wire::Op::Prefix: return text.substr(0, operand.size()) == operand;
        case wire::Op::Suffix: return text.size() >= operand.size() && text.substr(text.size() - operand.size()) == operand;
        case wire::Op::Substring: return text.find(operand) != std::string_view::npos;
        default: return compare(op, text.compare(operand), 0);
    }
}

// M2, M3.
inline bool holds(wire::Op op, const wire::ValueView& operand, const wire::ValueView& value) {
    if (operand.type != value.type) return false;
    if (op == wire::Op::Any) return true;
    switch (value.type) {
        case wire::Type::String: return holds_for_text(op, value.text, operand.text);
        case wire::Type::Float: return compare(op, value.number(), operand.number());
        case wire::Type::Boolean: return compare(op, value.boolean(), operand.boolean());
        default: return compare(op, value.integer(), operand.integer());
    }
}

// M4: of a filter and a message that have been validated.
inline bool matches(wire::Bytes filter, const wire::MessageView& message) {
    wire::ConstraintCursor constraints(filter);
    for (wire::ConstraintView each; constraints.next(each); each = {}) {
        bool held = false;
        wire::AttributeWalk walk(message);
        for (wire::AttributeView attribute; walk.next(attribute); attribute = {}) {
            held = held || (attribute.name == each.name && holds(each.op, each.value, attribute.value));
        }
        if (!held) return false;
    }
    return true;
}

}  // namespace cbn::test
