// Sealing and looking at seals with whole datagrams as values, for callers in Python.
#pragma once

#include <cstdint>
#include <string>

#include "seal/guard.hpp"

namespace cbn::seal {

// A datagram as it is to be sent: with a seal, if it has a message and there is a key. What is no datagram has none.
inline std::string sealed(Guard& guard, wire::Bytes datagram) {
    std::string out(wire::as_text(datagram));
    if (!guard.seals() || !wire::check_framing(datagram).ok()) return out;
    bool has_message = false;
    wire::FrameCursor frames(datagram);
    for (wire::Frame frame; frames.next(frame);) has_message |= frame.type == wire::PacketType::Message;
    if (!has_message) return out;
    out.resize(out.size() + wire::SEAL_SIZE);
    guard.seal({reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    return out;
}

// A datagram without its messages.
inline std::string without_messages(wire::Bytes datagram) {
    std::string out;
    wire::FrameCursor frames(datagram);
    for (wire::Frame frame; frames.next(frame);) {
        if (frame.type != wire::PacketType::Message) out.append(wire::as_text(datagram.subspan(frame.offset, frame.length)));
    }
    return out;
}

struct Opened {
    Verdict verdict;
    std::string left;  // of a datagram whose messages are refused
};

inline Opened opened(Guard& guard, wire::Bytes datagram) {
    Opened out{guard.check(datagram), {}};
    if (out.verdict.refused) out.left = without_messages(datagram);
    return out;
}

[[nodiscard]] inline std::uint8_t reason_of(const Opened& opened) noexcept {
    return static_cast<std::uint8_t>(opened.verdict.reason);
}

}  // namespace cbn::seal
