// A constraint as the `fast` table keeps it, and a filter as a short string of bytes.
//
// Numbers of every type become unsigned integers of the same order, and all that compares becomes one of
// four tests: x = v, x != v, x < v, x >= v. A string has a next one, itself and a NUL, so that the same holds
// for strings: x <= v is "x below the next of v". Nothing here knows where a filter is filed.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "match/text.hpp"
#include "wire/wire.hpp"

namespace cbn::fast {

inline constexpr std::uint64_t SIGN = std::uint64_t{1} << 63;

enum class Test : std::uint8_t {
    Any,
    Eq,
    Ne,
    Below,
    AtLeast,
    Prefix,
    Suffix,
    Substring,
    BelowNext,    // of strings: x <= v
    AtLeastNext,  // of strings: x > v
    Never
};

// `value` is a number in order or, for strings, the operand's number in the dictionary.
struct Term {
    std::uint32_t key = 0;
    Test test = Test::Any;
    std::uint64_t value = 0;
};

inline bool is_text(std::uint32_t type) noexcept { return type == static_cast<std::uint32_t>(wire::Type::String); }

// The order of integers, times, floats (NaN and -0.0 do not occur) and booleans as that of u64.
inline std::uint64_t ordered(wire::Type type, std::uint64_t bits) noexcept {
    switch (type) {
        case wire::Type::Boolean: return bits;
        case wire::Type::Float: return (bits & SIGN) != 0 ? ~bits : bits | SIGN;
        default: return bits ^ SIGN;
    }
}

// A constraint on a number. Float bounds may fall on codes that no float has; nothing lies between.
inline Term number_term(std::uint32_t key, wire::Op op, wire::Type type, std::uint64_t bits) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t value = ordered(type, bits);
    switch (op) {
        case wire::Op::Eq: return {key, Test::Eq, value};
        case wire::Op::Ne:
            if (type == wire::Type::Boolean) return {key, Test::Eq, 1 - value};
            return {key, Test::Ne, value};
        case wire::Op::Lt: return value == 0 ? Term{key, Test::Never, 0} : Term{key, Test::Below, value};
        case wire::Op::Ge: return {key, Test::AtLeast, value};
        case wire::Op::Le: return value == most ? Term{key, Test::Any, 0} : Term{key, Test::Below, value + 1};
        case wire::Op::Gt: return value == most ? Term{key, Test::Never, 0} : Term{key, Test::AtLeast, value + 1};
        default: return {key, Test::Any, 0};
    }
}

// A constraint on strings; `operand` is the number of `text`. Every string begins with, ends with and holds "".
inline Term text_term(std::uint32_t key, wire::Op op, std::string_view text, std::uint32_t operand) noexcept {
    switch (op) {
        case wire::Op::Eq: return {key, Test::Eq, operand};
        case wire::Op::Ne: return {key, Test::Ne, operand};
        case wire::Op::Lt: return text.empty() ? Term{key, Test::Never, 0} : Term{key, Test::Below, operand};
        case wire::Op::Ge: return text.empty() ? Term{key, Test::Any, 0} : Term{key, Test::AtLeast, operand};
        case wire::Op::Le: return {key, Test::BelowNext, operand};
        case wire::Op::Gt: return {key, Test::AtLeastNext, operand};
        case wire::Op::Any: return {key, Test::Any, 0};
        default: break;
    }
    if (text.empty()) return {key, Test::Any, 0};
    if (op == wire::Op::Prefix) return {key, Test::Prefix, operand};
    return {key, op == wire::Op::Suffix ? Test::Suffix : Test::Substring, operand};
}

// Whether the term's value is an operand in the dictionary (and counts as a use of it).
inline bool has_operand(const Term& term, bool text) noexcept {
    return text && term.test != Test::Any && term.test != Test::Never;
}

inline bool holds_number(Test test, std::uint64_t x, std::uint64_t value) noexcept {
    switch (test) {
        case Test::Any: return true;
        case Test::Eq: return x == value;
        case Test::Ne: return x != value;
        case Test::Below: return x < value;
        case Test::AtLeast: return x >= value;
        default: return false;
    }
}

inline bool holds_text(Test test, std::string_view x, std::string_view operand) noexcept {
    switch (test) {
        case Test::Any: return true;
        case Test::Eq: return x == operand;
        case Test::Ne: return x != operand;
        case Test::Below: return x < operand;
        case Test::AtLeast: return x >= operand;
        case Test::BelowNext: return x <= operand;
        case Test::AtLeastNext: return x > operand;
        case Test::Prefix: return x.starts_with(operand);
        case Test::Suffix: return x.ends_with(operand);
        case Test::Substring: return contains(x, operand);
        case Test::Never: return false;
    }
    return false;
}

// --- Bytes -------------------------------------------------------------------------------------------------

inline void put_varint(std::vector<std::uint8_t>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
    out.push_back(static_cast<std::uint8_t>(value));
}

inline std::uint64_t get_varint(const std::uint8_t*& at) noexcept {
    std::uint64_t value = *at++;
    if (value < 0x80) [[likely]] return value;
    value &= 0x7F;
    for (unsigned shift = 7;; shift += 7) {
        const std::uint64_t byte = *at++;
        value |= (byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
}

// Small numbers of either sign become small codes; of booleans and operands too, in their own way.
inline std::uint64_t code_of(std::uint64_t value, bool text) noexcept {
    if (text) return value;
    const std::uint64_t plain = value ^ SIGN;
    return plain << 1 ^ (plain >> 63 != 0 ? ~std::uint64_t{0} : 0);
}

inline std::uint64_t value_of(std::uint64_t code, bool text) noexcept {
    if (text) return code;
    return (code >> 1 ^ ((code & 1) != 0 ? ~std::uint64_t{0} : 0)) ^ SIGN;
}

// key, then four bits of test and twelve of value if that is enough for it, else the value on its own.
inline void put_term(std::vector<std::uint8_t>& out, const Term& term, bool text) {
    const std::uint64_t code = code_of(term.value, text);
    const auto test = static_cast<std::uint8_t>(static_cast<unsigned>(term.test) << 4);
    put_varint(out, term.key);
    if (code < 0xF00) {
        out.push_back(static_cast<std::uint8_t>(test | code >> 8));
        out.push_back(static_cast<std::uint8_t>(code));
    } else {
        out.push_back(static_cast<std::uint8_t>(test | 0xF));
        put_varint(out, code);
    }
}

// As it stands in the bytes: `code` is to be read by `value_of`.
struct CodedTerm {
    std::uint32_t key;
    Test test;
    std::uint64_t code;
};

inline CodedTerm get_term(const std::uint8_t*& at) noexcept {
    CodedTerm term;
    term.key = static_cast<std::uint32_t>(get_varint(at));
    const std::uint8_t first = *at++;
    term.test = static_cast<Test>(first >> 4);
    term.code = (first & 0xF) != 0xF ? std::uint64_t{first & 0xFU} << 8 | *at++ : get_varint(at);
    return term;
}

// Where a filter is to be found besides its record.
enum class Filing : std::uint8_t {
    Vacant,  // no filter; the record holds the slot's next generation alone
    Fold,    // one constraint, folded into masks of the first term's block
    Direct,  // one constraint, the interface stands in the first term's block
    Posted,  // an entry in the first term's block leads to this record
    Hidden,  // every message that satisfies the first term reaches the interface anyway
    Never    // no message matches
};

// The head of a record: [filing and a flag, interface, generation if flagged], terms to the end.
struct RecordView {
    Filing filing = Filing::Vacant;
    std::uint32_t interface = 0;
    std::uint32_t generation = 0;
    const std::uint8_t* terms = nullptr;
    const std::uint8_t* end = nullptr;
};

inline RecordView read_record(std::span<const std::uint8_t> bytes) noexcept {
    RecordView view;
    if (bytes.empty()) return view;
    const std::uint8_t* at = bytes.data();
    const std::uint8_t head = *at++;
    view.filing = static_cast<Filing>(head & 0x7F);
    view.interface = static_cast<std::uint32_t>(get_varint(at));
    if ((head & 0x80) != 0) view.generation = static_cast<std::uint32_t>(get_varint(at));
    view.terms = at;
    view.end = bytes.data() + bytes.size();
    return view;
}

inline void put_record_head(std::vector<std::uint8_t>& out, Filing filing, std::uint32_t interface,
                            std::uint32_t generation) {
    out.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(filing) | (generation != 0 ? 0x80U : 0U)));
    put_varint(out, interface);
    if (generation != 0) put_varint(out, generation);
}

// A record's first term, its value as coded; of an empty filter, that which any message satisfies.
inline Term first_term(const RecordView& record) noexcept {
    if (record.terms == record.end) return {};
    const std::uint8_t* at = record.terms;
    const CodedTerm coded = get_term(at);
    return {coded.key, coded.test, coded.code};
}

}  // namespace cbn::fast
