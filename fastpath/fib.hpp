// The FIB and what a router does with a datagram. The simulator and the data-plane loop both call
// `forward_datagram`: nothing about forwarding is decided elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bits.hpp"
#include "table.hpp"
#include "wire.hpp"

namespace cbn {

enum class Drop : std::uint8_t {
    None = 0,
    Malformed = 1,
    HopLimit = 2,
    UnknownClass = 3,
    WrongInterface = 4,
    SpoofedSource = 5,
    NoFib = 6,
    SendFailed = 7
};
inline constexpr std::size_t DROPS = 8;

// header class -> (interface mask, predicate table, header rewrite)
struct ClassRule {
    Bits accept;
    Bits out;
    std::uint32_t table = 0;
    std::uint32_t rewrite = 0;
};

struct FibData {
    std::uint32_t origin_class = 0;
    std::vector<std::uint32_t> clients;       // id of the client at each interface, 0 for a router
    std::vector<std::uint32_t> max_datagram;  // bytes of UDP payload, by interface
    std::unordered_map<std::uint32_t, ClassRule> classes;
    std::vector<TablePointer> tables;

    [[nodiscard]] bool knows(std::uint32_t interface) const noexcept { return interface < clients.size(); }
    [[nodiscard]] bool is_client(std::uint32_t interface) const noexcept { return clients[interface] != 0; }
    [[nodiscard]] const ClassRule* rule(std::uint32_t header_class) const {
        const auto found = classes.find(header_class);
        return found == classes.end() ? nullptr : &found->second;
    }
};

using FibPointer = std::shared_ptr<const FibData>;

// What is written into every copy of a message; where it goes stands in Scratch::matched.
struct Rewrite {
    std::uint32_t header_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t hop_count = 0;

    void apply(std::uint8_t* packet) const noexcept {
        packet[wire::HOP_LIMIT_AT] = hop_limit;
        packet[wire::HOP_COUNT_AT] = hop_count;
        wire::store(packet + wire::HEADER_CLASS_AT, header_class);
    }
};

namespace detail {

// A client speaks for itself alone and leaves the class to us; a router's class says whose tree it came down,
// and it must come from that tree's upstream interface.
inline Drop admit(const FibData& fib, const wire::MessageView& message, std::uint32_t ingress,
                  const ClassRule*& rule) {
    if (!fib.knows(ingress)) return Drop::WrongInterface;
    const bool from_client = fib.is_client(ingress);
    if (from_client && (message.source != fib.clients[ingress] || message.header_class != 0)) {
        return Drop::SpoofedSource;
    }
    rule = fib.rule(from_client ? fib.origin_class : message.header_class);
    if (rule == nullptr) return Drop::UnknownClass;
    return from_client || rule->accept.test(ingress) ? Drop::None : Drop::WrongInterface;
}

// The last hop is spent: clients still get their copies. True if a router would have had one.
inline bool keep_clients(const FibData& fib, std::vector<std::uint32_t>& interfaces) {
    return std::erase_if(interfaces, [&](std::uint32_t each) { return !fib.is_client(each); }) > 0;
}

}  // namespace detail

// One MESSAGE: where it goes (scratch.matched, ascending) and what is written into the copies. With a drop
// other than None nothing goes anywhere, but for HopLimit, which also says that clients got copies and
// routers should have.
inline Drop forward(const FibData& fib, wire::Bytes packet, std::uint32_t ingress, Scratch& scratch,
                    Rewrite& rewrite) {
    scratch.matched.clear();
    wire::MessageView message;
    if (!wire::parse_message(packet, message).ok()) return Drop::Malformed;
    const ClassRule* rule = nullptr;
    const Drop refused = message.hop_limit == 0 ? Drop::HopLimit : detail::admit(fib, message, ingress, rule);
    if (refused != Drop::None) return wire::validate_attributes(message).ok() ? refused : Drop::Malformed;
    // Matching checks the attributes on its way.
    if (!fib.tables[rule->table]->match(message, &rule->out, ingress, scratch).ok()) {
        scratch.matched.clear();
        return Drop::Malformed;
    }
    std::sort(scratch.matched.begin(), scratch.matched.end());
    rewrite.header_class = rule->rewrite;
    rewrite.hop_limit = static_cast<std::uint8_t>(message.hop_limit - 1);
    rewrite.hop_count = static_cast<std::uint8_t>(message.hop_count + (message.hop_count < 255 ? 1 : 0));
    const bool withheld = rewrite.hop_limit == 0 && detail::keep_clients(fib, scratch.matched);
    return withheld ? Drop::HopLimit : Drop::None;
}

// A whole datagram: framing first, all or nothing, then packet by packet. The sink has
//   void message(Bytes packet)                                 a MESSAGE arrived, whatever becomes of it
//   void output(uint32_t interface, Bytes packet, const Rewrite&)    a copy is to be sent
//   void control(Bytes packet)                                 for the control plane, not yet validated
//   void drop(Drop)                                            counted
template <class Sink>
void forward_datagram(const FibData* fib, wire::Bytes datagram, std::uint32_t ingress, Scratch& scratch,
                      Sink& sink) {
    if (!wire::check_framing(datagram).ok()) return sink.drop(Drop::Malformed);
    wire::FrameCursor frames(datagram);
    for (wire::Frame frame; frames.next(frame);) {
        const wire::Bytes packet = datagram.subspan(frame.offset, frame.length);
        if (frame.type == wire::PacketType::Pad) {
            if (!wire::validate_pad(packet).ok()) sink.drop(Drop::Malformed);
        } else if (frame.type != wire::PacketType::Message) {
            sink.control(packet);
        } else {
            sink.message(packet);
            Rewrite rewrite;
            const Drop drop = fib == nullptr ? Drop::NoFib : forward(*fib, packet, ingress, scratch, rewrite);
            if (fib == nullptr) scratch.matched.clear();
            for (const std::uint32_t interface : scratch.matched) sink.output(interface, packet, rewrite);
            if (drop != Drop::None) sink.drop(drop);
        }
    }
}

}  // namespace cbn
