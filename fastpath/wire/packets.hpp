// Framing of a datagram and parsing of each packet type.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "wire/reader.hpp"

namespace cbn::wire {

// The smallest length of each packet type, by its number.
inline constexpr std::size_t MINIMUM[] = {COMMON_SIZE,  MESSAGE_SIZE, HELLO_SIZE,
                                            CONTROL_SIZE, CONTROL_SIZE, SEAL_SIZE};

namespace detail {

// The frame that starts at `at`, or why there is none.
[[nodiscard]] inline Status read_frame(Bytes datagram, std::size_t at, Frame& frame) noexcept {
    Reader in(datagram.subspan(at), at);
    in.require(in.number<std::uint8_t>("version") == VERSION || !in.ok(), Fault::BadVersion, "version", 0);
    const auto type = in.number<std::uint8_t>("packet type");
    in.require(type < std::size(MINIMUM), Fault::BadPacketType, "packet type", 1);
    const auto length = in.number<std::uint16_t>("length");
    if (!in.ok()) return in.status();
    in.require(length >= MINIMUM[type], Fault::TooShort, "length", 2);
    in.require(length <= datagram.size() - at, Fault::Truncated, "length", 2);
    frame = {static_cast<PacketType>(type), static_cast<std::uint32_t>(at), length};
    return in.status();
}

template <typename Sink>
[[nodiscard]] Status each_frame(Bytes datagram, Sink&& sink) {
    if (datagram.empty()) return {Fault::Empty, "datagram", 0};
    for (std::size_t at = 0; at < datagram.size();) {
        Frame frame;
        const Status status = read_frame(datagram, at, frame);
        if (!status.ok()) return status;
        sink(frame);
        at += frame.length;
    }
    return {};
}

}  // namespace detail

// Framing comes first: one bad frame rejects the whole datagram.
[[nodiscard]] inline Status check_framing(Bytes datagram) noexcept {
    return detail::each_frame(datagram, [](const Frame&) {});
}

// As `check_framing`; on success `frames` holds all frames, else none.
[[nodiscard]] inline Status split(Bytes datagram, std::vector<Frame>& frames) {
    frames.clear();
    const Status status = detail::each_frame(datagram, [&](const Frame& frame) { frames.push_back(frame); });
    if (!status.ok()) frames.clear();
    return status;
}

// Walks a datagram that `check_framing` has passed.
class FrameCursor {
  public:
    explicit FrameCursor(Bytes checked) noexcept : datagram_(checked) {}

    [[nodiscard]] bool next(Frame& frame) noexcept {
        if (at_ >= datagram_.size() || !detail::read_frame(datagram_, at_, frame).ok()) return false;
        at_ += frame.length;
        return true;
    }

  private:
    Bytes datagram_;
    std::size_t at_ = 0;
};

// The bytes must be exactly one frame.
[[nodiscard]] inline Status read_single(Bytes packet, Frame& frame) noexcept {
    if (packet.empty()) return {Fault::Empty, "datagram", 0};
    const Status status = detail::read_frame(packet, 0, frame);
    if (status.ok() && frame.length != packet.size()) return {Fault::LeftOver, "packet", frame.length};
    return status;
}

namespace detail {

[[nodiscard]] inline Status check_one(Bytes packet, PacketType type) noexcept {
    Frame frame;
    const Status status = read_single(packet, frame);
    if (status.ok() && frame.type != type) return {Fault::WrongType, "packet type", 1};
    return status;
}

// Checks the flags and cuts the trailer off `body`, which must not reach into the first `fixed` bytes.
[[nodiscard]] inline Status cut_trailer(Bytes packet, std::size_t fixed, std::uint8_t known_flags, Bytes& body,
                                        TrailerView& trailer) noexcept {
    const std::uint8_t flags = packet[4];
    body = packet;
    if (flags & ~known_flags) return {Fault::Reserved, "flags", 4};
    if (!(flags & FLAG_AUTH)) return {};
    const std::size_t size = packet.size();
    if (size < fixed + 4) return {Fault::Truncated, "trailer", fixed};
    const std::size_t tag_size = packet[size - 1];
    if (tag_size == 0) return {Fault::MustNotBeZero, "tag_length", size - 1};
    if (size < fixed + 4 + tag_size) return {Fault::Truncated, "tag", size - 1};
    body = packet.first(size - 4 - tag_size);
    trailer = {packet.subspan(body.size(), tag_size), load<std::uint16_t>(&packet[size - 4]), packet[size - 2]};
    return {};
}

[[nodiscard]] inline Status open_packet(Bytes packet, PacketType type, std::uint8_t known_flags, Bytes& body,
                                        TrailerView& trailer) noexcept {
    const Status status = check_one(packet, type);
    if (!status.ok()) return status;
    return cut_trailer(packet, MINIMUM[static_cast<std::size_t>(type)], known_flags, body, trailer);
}

}  // namespace detail

[[nodiscard]] inline Status validate_pad(Bytes packet) noexcept {
    const Status status = detail::check_one(packet, PacketType::Pad);
    if (!status.ok()) return status;
    const auto odd = std::find_if(packet.begin() + COMMON_SIZE, packet.end(), [](std::uint8_t b) { return b != 0; });
    if (odd == packet.end()) return {};
    return {Fault::MustBeZero, "padding", static_cast<std::size_t>(odd - packet.begin())};
}

namespace detail {

// Cuts a payload, which ends with its length, off what follows a message's route.
inline void cut_payload(const MessageView& message, Reader& in, Bytes& attributes, Bytes& payload) noexcept {
    const std::size_t at = in.at(), left = in.left();
    const Bytes rest = in.bytes(left, "attributes");
    attributes = rest;
    payload = {};
    if (!(message.flags & FLAG_PAYLOAD) || !in.ok()) return;
    in.require(left >= 2, Fault::Truncated, "payload_length", at);
    if (!in.ok()) return;
    const std::size_t size = load<std::uint16_t>(&rest[left - 2]);
    in.require(size != 0, Fault::MustNotBeZero, "payload_length", at + left - 2);
    in.require(size <= left - 2, Fault::Truncated, "payload", at + left - 2);
    if (!in.ok()) return;
    attributes = rest.first(left - 2 - size);
    payload = rest.subspan(attributes.size(), size);
}

}  // namespace detail

// Header, route, payload and trailer. The attributes are only located: see AttributeCursor and validate_message.
[[nodiscard]] inline Status parse_message(Bytes packet, MessageView& out) noexcept {
    Bytes body;
    out.trailer = {};
    constexpr std::uint8_t known = FLAG_AUTH | FLAG_PAYLOAD;
    const Status status = detail::open_packet(packet, PacketType::Message, known, body, out.trailer);
    if (!status.ok()) return status;
    Reader in(body);
    in.bytes(COMMON_SIZE, "common header");
    out.flags = in.number<std::uint8_t>("flags");
    out.hop_limit = in.number<std::uint8_t>("hop_limit");
    out.hop_count = in.number<std::uint8_t>("hop_count");
    in.require(in.number<std::uint8_t>("reserved") == 0, Fault::Reserved, "reserved", 7);
    out.source = in.nonzero<std::uint32_t>("source");
    out.header_class = in.number<std::uint32_t>("header_class");
    out.sequence = in.number63("sequence");
    out.publish_time_ns = in.number63("publish_time_ns");
    const auto route_length = in.number<std::uint16_t>("route_length");
    out.attribute_count = in.number<std::uint16_t>("attribute_count");
    out.route = in.bytes(route_length, "route");
    out.attributes_at = in.at();
    detail::cut_payload(out, in, out.attributes, out.payload);
    out.content = in.since(out.attributes_at);
    return in.status();
}

// Walks a section of attributes and checks it: each attribute, their order, their number.
class AttributeCursor {
  public:
    AttributeCursor() noexcept : AttributeCursor(Bytes{}, 0) {}
    AttributeCursor(Bytes section, std::uint32_t count, std::size_t base = 0) noexcept
        : in_(section, base), left_(count) {}
    explicit AttributeCursor(const MessageView& message) noexcept
        : AttributeCursor(message.attributes, message.attribute_count, message.attributes_at) {}

    [[nodiscard]] bool next(AttributeView& out) noexcept {
        if (left_ == 0) {
            in_.finish("attributes");
            return false;
        }
        --left_;
        const Type type = detail::read_type(in_);
        const std::size_t name_at = in_.at();
        out.name = in_.name("attribute name");
        // A name is never empty, so the first is above the empty one that stands before it.
        in_.require(last_ < out.name, Fault::NotAscending, "attribute name", name_at + 1);
        last_ = out.name;
        if (!in_.ok()) return false;
        out.value = detail::read_value(in_, type);
        return in_.ok();
    }
    [[nodiscard]] const Status& status() const noexcept { return in_.status(); }

  private:
    Reader in_;
    std::uint32_t left_;
    std::string_view last_{};
};

// Walks a section that has been validated before; nothing is checked.
class AttributeWalk {
  public:
    AttributeWalk(Bytes validated, std::uint32_t count) noexcept : at_(validated.data()), left_(count) {}
    explicit AttributeWalk(const MessageView& message) noexcept
        : AttributeWalk(message.attributes, message.attribute_count) {}

    [[nodiscard]] bool next(AttributeView& out) noexcept {
        if (left_ == 0) return false;
        --left_;
        out.value.type = static_cast<Type>(at_[0]);
        out.name = as_text({at_ + 2, at_[1]});
        at_ += 2 + out.name.size();
        read_value(out.value);
        return true;
    }

  private:
    void read_value(ValueView& value) noexcept {
        if (value.type == Type::String) {
            value.text = as_text({at_ + 2, load<std::uint16_t>(at_)});
            at_ += 2 + value.text.size();
        } else if (value.type == Type::Boolean) {
            value.bits = *at_++;
        } else {
            value.bits = load<std::uint64_t>(at_);
            at_ += 8;
        }
    }

    const std::uint8_t* at_;
    std::uint32_t left_;
};

[[nodiscard]] inline Status validate_attributes(const MessageView& message) noexcept {
    AttributeCursor cursor(message);
    for (AttributeView attribute; cursor.next(attribute);) {
    }
    return cursor.status();
}

[[nodiscard]] inline Status validate_message(Bytes packet, MessageView& out) noexcept {
    const Status status = parse_message(packet, out);
    return status.ok() ? validate_attributes(out) : status;
}

[[nodiscard]] inline Status validate_message(Bytes packet) noexcept {
    MessageView message;
    return validate_message(packet, message);
}

[[nodiscard]] inline Status parse_hello(Bytes packet, HelloView& out) noexcept {
    Bytes body;
    out.trailer = {};
    const Status status = detail::open_packet(packet, PacketType::Hello, FLAG_AUTH, body, out.trailer);
    if (!status.ok()) return status;
    Reader in(body);
    in.bytes(COMMON_SIZE, "common header");
    out.flags = in.number<std::uint8_t>("flags");
    out.role = in.number<std::uint8_t>("role");
    in.require(out.role == 1 || out.role == 2, Fault::BadRole, "role", 5);
    out.hold_time_ms = in.nonzero<std::uint16_t>("hold_time_ms");
    out.node = in.nonzero<std::uint32_t>("node");
    out.seen_node = in.number<std::uint32_t>("seen_node");
    out.incarnation = in.nonzero<std::uint64_t>("incarnation");
    out.seen_incarnation = in.number<std::uint64_t>("seen_incarnation");
    in.require((out.seen_node == 0) == (out.seen_incarnation == 0), Fault::HalfSeen, "seen_incarnation", 24);
    in.finish("HELLO");
    return in.status();
}

namespace detail {

inline void read_control(Reader& in, ControlView& out) noexcept {
    in.bytes(COMMON_SIZE, "common header");
    out.flags = in.number<std::uint8_t>("flags");
    out.kind = in.number<std::uint8_t>("kind");
    out.window = in.number<std::uint16_t>("window");
    out.incarnation = in.nonzero<std::uint64_t>("incarnation");
    out.peer_incarnation = in.nonzero<std::uint64_t>("peer_incarnation");
    out.sequence = in.number<std::uint32_t>("sequence");
    out.ack = in.number<std::uint32_t>("ack");
}

}  // namespace detail

[[nodiscard]] inline Status parse_control(Bytes packet, ControlView& out) noexcept {
    constexpr std::uint8_t flags = FLAG_AUTH | FLAG_FIRST | FLAG_LAST;
    Bytes body;
    out.trailer = {};
    const Status status = detail::open_packet(packet, PacketType::Control, flags, body, out.trailer);
    if (!status.ok()) return status;
    Reader in(body);
    detail::read_control(in, out);
    in.require(out.kind != 0, Fault::MustNotBeZero, "kind", 5);
    in.require(out.sequence != 0, Fault::MustNotBeZero, "sequence", 24);
    out.fragment = in.bytes(in.left(), "fragment");
    return in.status();
}

[[nodiscard]] inline Status parse_ack(Bytes packet, ControlView& out) noexcept {
    Bytes body;
    out.trailer = {};
    const Status status = detail::open_packet(packet, PacketType::Ack, FLAG_AUTH, body, out.trailer);
    if (!status.ok()) return status;
    Reader in(body);
    detail::read_control(in, out);
    in.require(out.kind == 0, Fault::MustBeZero, "kind", 5);
    in.require(out.sequence == 0, Fault::MustBeZero, "sequence", 24);
    in.finish("ACK");
    out.fragment = {};
    return in.status();
}

[[nodiscard]] inline Status parse_seal(Bytes packet, SealView& out) noexcept {
    const Status status = detail::check_one(packet, PacketType::Seal);
    if (!status.ok()) return status;
    Reader in(packet);
    in.bytes(COMMON_SIZE, "common header");
    in.require(in.number<std::uint8_t>("flags") == 0, Fault::Reserved, "flags", 4);
    out.algorithm = in.number<std::uint8_t>("algorithm");
    out.key_id = in.number<std::uint16_t>("key_id");
    out.session = in.number<std::uint64_t>("session");
    out.counter = in.number<std::uint64_t>("counter");
    out.mac = in.bytes(SEAL_MAC_SIZE, "mac");
    in.finish("SEAL");
    return in.status();
}

// One whole packet of any type.
[[nodiscard]] inline Status validate_packet(Bytes packet) noexcept {
    Frame frame;
    const Status status = read_single(packet, frame);
    if (!status.ok()) return status;
    HelloView hello;
    ControlView control;
    SealView seal;
    switch (frame.type) {
        case PacketType::Pad: return validate_pad(packet);
        case PacketType::Message: return validate_message(packet);
        case PacketType::Hello: return parse_hello(packet, hello);
        case PacketType::Control: return parse_control(packet, control);
        case PacketType::Ack: return parse_ack(packet, control);
        case PacketType::Seal: return parse_seal(packet, seal);
    }
    return {Fault::BadPacketType, "packet type", 1};
}

}  // namespace cbn::wire
