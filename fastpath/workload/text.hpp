// Reads the text format of workloads into encoded filters and MESSAGEs, piece by piece as the file comes.
//
// One record a line, fields parted by spaces; see docs/benchmarks.md. What is wrong is a TextError that names the
// line, what was found and what was expected. Nothing is allocated for what a count promises.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "workload/encode.hpp"

namespace cbn::workload {

inline constexpr std::size_t MAX_LINE = std::size_t{1} << 25;
inline constexpr std::uint64_t MAX_PARTS = 65'535;
inline constexpr std::uint64_t MAX_INTERFACE = (1U << 24) - 1;

// Becomes a ValueError in Python; begins with the number of the line, counted from 1.
class TextError : public std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// Printable, and short.
inline std::string quoted(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string out = "'";
    for (const char letter : text.substr(0, most)) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(letter));
        if (letter >= ' ' && letter <= '~') out.push_back(letter);
        else out.append(escaped);
    }
    return out.append(text.size() > most ? "...'" : "'");
}

// The fields of one line, one after the other.
class Fields {
  public:
    Fields(std::string_view line, std::size_t number) noexcept : rest_(line), number_(number) {}

    [[noreturn]] void fail(const std::string& what) const { throw TextError(std::to_string(number_) + ": " + what); }

    std::string_view next(const char* expected) {
        skip_spaces();
        if (rest_.empty()) fail(std::string("the line ends; expected ") + expected);
        const std::size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view field = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return field;
    }

    void letter(std::string_view wanted, const char* expected) {
        const std::string_view field = next(expected);
        if (field != wanted) fail("found " + quoted(field) + "; expected " + expected);
    }

    template <class T>
    T number(const char* expected, T low, T high) {
        const std::string_view field = next(expected);
        T value{};
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        const bool whole = error == std::errc{} && end == field.data() + field.size();
        if (!whole || value < low || value > high) {
            fail("found " + quoted(field) + "; expected " + expected + ", " + std::to_string(low) + " to " +
                 std::to_string(high));
        }
        return value;
    }
    std::int64_t integer(const char* expected) {
        using Limits = std::numeric_limits<std::int64_t>;
        return number<std::int64_t>(expected, Limits::min(), Limits::max());
    }

    std::string_view text(const char* expected, std::size_t most) {
        const std::string_view field = next(expected);
        if (field.size() > most) {
            fail(std::string(expected) + " has " + std::to_string(field.size()) + " bytes; expected at most " +
                 std::to_string(most));
        }
        check_characters(field, expected);
        return field;
    }

    void end() {
        skip_spaces();
        if (!rest_.empty()) fail("found " + quoted(rest_) + " after the last field; expected the end of the line");
    }

  private:
    void skip_spaces() noexcept {
        while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    }

    // A tab or a carriage return would become part of a value unseen.
    void check_characters(std::string_view field, const char* expected) const {
        const bool control = std::ranges::any_of(field, [](char c) { return static_cast<unsigned char>(c) < ' '; });
        if (control) fail(std::string(expected) + " " + quoted(field) + " holds a control character; fields are "
                          "parted by spaces, lines by line feeds");
        const wire::Bytes bytes{reinterpret_cast<const std::uint8_t*>(field.data()), field.size()};
        if (!wire::valid_utf8(bytes)) fail(std::string(expected) + " " + quoted(field) + " is not valid UTF-8");
    }

    std::string_view rest_;
    std::size_t number_;
};

// Cuts what it is fed into lines; `Sink::line(fields, number)` gets each.
template <class Sink>
class LineReader {
  public:
    void feed(std::string_view data, Sink& sink) {
        while (!data.empty()) {
            const std::size_t end = data.find('\n');
            const std::size_t size = std::min(end, data.size());
            if (tail_.size() + size > MAX_LINE) Fields({}, lines_ + 1).fail("the line has more than 32 MiB");
            if (end == std::string_view::npos) {
                tail_.append(data);
                return;
            }
            take(data.substr(0, size), sink);
            data.remove_prefix(size + 1);
        }
    }

    // The last line may do without its line feed.
    void finish(Sink& sink) {
        if (!tail_.empty()) take({}, sink);
    }

  private:
    void take(std::string_view rest, Sink& sink) {
        Fields fields(rest, ++lines_);
        if (!tail_.empty()) fields = Fields(tail_.append(rest), lines_);
        sink.line(fields, lines_);
        tail_.clear();
    }

    std::string tail_;
    std::size_t lines_ = 0;
};

struct Operator {
    wire::Type type;
    wire::Op op;
};

inline Operator read_operator(Fields& fields) {
    using enum wire::Op;
    struct Entry {
        std::string_view text;
        Operator meaning;
    };
    constexpr wire::Type i = wire::Type::Integer, s = wire::Type::String;
    static constexpr Entry entries[] = {{"i=", {i, Eq}},  {"i<", {i, Lt}},     {"i>", {i, Gt}},     {"i!=", {i, Ne}},
                                        {"i<=", {i, Le}}, {"i>=", {i, Ge}},    {"s=", {s, Eq}},     {"s^", {s, Prefix}},
                                        {"s$", {s, Suffix}}, {"s*", {s, Substring}}, {"s<", {s, Lt}}, {"s>", {s, Gt}},
                                        {"s!=", {s, Ne}}};
    const std::string_view found = fields.next("an operator");
    for (const Entry& entry : entries) {
        if (entry.text == found) return entry.meaning;
    }
    fields.fail("found " + quoted(found) +
                "; expected an operator: i= i< i> i!= i<= i>= s= s^ s$ s* s< s> s!= (^ prefix, $ suffix, * substring)");
}

// f <interface> <k> (<name> <op> <value>)*k
class FilterReader {
  public:
    void feed(wire::Bytes data) { lines_.feed(wire::as_text(data), *this); }
    void finish() {
        lines_.finish(*this);
        list.filters.trim();
        list.interfaces.shrink_to_fit();
    }

    void line(Fields fields, std::size_t) {
        fields.letter("f", "f, as in: f <interface> <k> (<name> <op> <value>)*k");
        const auto interface = fields.number<std::uint64_t>("an interface", 0, MAX_INTERFACE);
        const auto count = fields.number<std::uint64_t>("a number of constraints", 0, MAX_PARTS);
        parts_.clear();
        for (std::uint64_t left = count; left > 0; --left) read_constraint(fields);
        fields.end();
        parts_.write_filter(list.filters.open());
        list.filters.close();
        list.interfaces.push_back(static_cast<std::uint32_t>(interface));
        list.constraints += count;
    }

    FilterList list;

  private:
    void read_constraint(Fields& fields) {
        const std::string_view name = fields.text("a constraint's name", wire::MAX_NAME);
        const Operator op = read_operator(fields);
        parts_.begin_constraint(op.type, op.op, name);
        if (op.type == wire::Type::String) parts_.end_with(fields.text("a string", wire::MAX_STRING));
        else parts_.end_with(fields.integer("an integer"));
    }

    LineReader<FilterReader> lines_;
    Parts parts_;
};

// m <k> (<name> i|s <value>)*k
class MessageReader {
  public:
    void feed(wire::Bytes data) { lines_.feed(wire::as_text(data), *this); }
    void finish() {
        lines_.finish(*this);
        list.packets.trim();
    }

    void line(Fields fields, std::size_t number) {
        fields.letter("m", "m, as in: m <k> (<name> i|s <value>)*k");
        const auto count = fields.number<std::uint64_t>("a number of attributes", 0, MAX_PARTS);
        parts_.clear();
        for (std::uint64_t left = count; left > 0; --left) read_attribute(fields);
        fields.end();
        std::string& out = list.packets.open();
        const std::size_t start = out.size();
        begin_message(out, number, count);
        const std::string_view twice = parts_.write_attributes(out);
        if (!twice.empty()) fields.fail("the name " + quoted(twice) + " occurs twice; expected each once in a message");
        if (!finish_message(out, start)) fields.fail("the message takes more than a packet's 65,535 bytes");
        list.packets.close();
    }

    MessageList list;

  private:
    void read_attribute(Fields& fields) {
        const std::string_view name = fields.text("an attribute's name", wire::MAX_NAME);
        const std::string_view type = fields.next("a type: i or s");
        if (type == "s") {
            parts_.begin_attribute(wire::Type::String, name);
            parts_.end_with(fields.text("a string", wire::MAX_STRING));
        } else if (type == "i") {
            parts_.begin_attribute(wire::Type::Integer, name);
            parts_.end_with(fields.integer("an integer"));
        } else {
            fields.fail("found " + quoted(type) + "; expected a type: i or s");
        }
    }

    LineReader<MessageReader> lines_;
    Parts parts_;
};

}  // namespace cbn::workload
