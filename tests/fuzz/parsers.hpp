// What must hold of the parsers of wire/wire.hpp, whatever the bytes; shared by all harnesses that give them bytes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "wire/codec.hpp"

namespace cbn::test {

using namespace cbn::wire;

[[noreturn]] inline void fail(const std::string& what, Bytes data) {
    std::printf("%s: ", what.c_str());
    for (const std::uint8_t byte : data) std::printf("%02x", byte);
    std::printf("\n");
    std::abort();
}

inline void require(bool condition, const char* what, Bytes data) {
    if (!condition) fail(what, data);
}

inline std::string encoded(const AttributeView& attribute) {
    std::string out;
    put_u8(out, static_cast<std::uint8_t>(attribute.value.type));
    put_name(out, attribute.name);
    switch (attribute.value.type) {
        case Type::String: put_string_value(out, attribute.value.text); break;
        case Type::Boolean: put_u8(out, attribute.value.boolean()); break;
        case Type::Float: put_float_value(out, attribute.value.number()); break;
        case Type::Integer:
        case Type::Time: put_u64(out, static_cast<std::uint64_t>(attribute.value.integer())); break;
    }
    return out;
}

// The attributes of a valid message, walked unchecked and written again, are the bytes they came from.
inline void write_attributes_again(Bytes packet) {
    MessageView message;
    if (!parse_message(packet, message).ok()) return;
    AttributeWalk walk(message);
    std::vector<Named> attributes;
    for (AttributeView attribute; walk.next(attribute);) {
        attributes.emplace_back(attribute.name, encoded(attribute));
    }
    require(attributes.size() == message.attribute_count, "the walk loses attributes", packet);
    std::string section;
    require(put_sorted(section, attributes) == nullptr, "a valid message has a name twice", packet);
    require(section == as_text(message.attributes), "attributes change when written again", packet);
}

inline void run_framing(Bytes data) {
    std::vector<Frame> frames;
    const Status status = split(data, frames);
    require(status.ok() == check_framing(data).ok(), "split and check_framing differ", data);
    require(status.ok() != frames.empty(), "frames without a verdict", data);
    FrameCursor cursor(data);
    std::size_t found = 0;
    for (Frame frame; status.ok() && cursor.next(frame); ++found) {
        const Bytes packet = data.subspan(frame.offset, frame.length);
        if (validate_packet(packet).ok()) write_attributes_again(packet);
    }
    require(found == frames.size(), "the cursor finds other frames than split", data);
}

// All parsers on the same bytes, whatever they are.
inline void run_all_parsers(Bytes data) {
    MessageView message;
    HelloView hello;
    ControlView control;
    SealView seal;
    std::size_t size = 0;
    for (const Status& status :
         {validate_pad(data), validate_message(data, message), parse_hello(data, hello), parse_control(data, control),
          parse_ack(data, control), parse_seal(data, seal), validate_filter(data), check_filter(data, size), validate_predicate(data),
          validate_payload(1, data), validate_payload(2, data), validate_payload(3, data), validate_payload(4, data),
          validate_payload(5, data), validate_payload(6, data), validate_payload(9, data), validate_payload(12, data),
          validate_payload(14, data)}) {
        require(status.offset <= data.size(), "a fault past the end", data);
        require(status.ok() || status.field[0] != '\0', "a fault without a field", data);
    }
}

}  // namespace cbn::test
