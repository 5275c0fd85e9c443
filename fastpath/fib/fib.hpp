// What a router does with a datagram. The simulator and the data-plane loop both call `forward_datagram`:
// nothing about forwarding is decided elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fib/data.hpp"
#include "fib/route.hpp"
#include "fib/table.hpp"
#include "wire/wire.hpp"

namespace cbn {

// One thread's memory for forwarding. It serves any number of FIBs in turn.
struct Workspace {
    Scratch scratch;
    Partition partition;
    std::vector<std::uint32_t> satisfied;  // by the gate
};

namespace detail {

// A client may send in its own name alone and leaves the class to us; a router's class says whose tree it came down,
// and it must come from that tree's upstream interface. What was published here has been where it can go from
// here: if it comes back, routers disagree about the network, and a rewritten header (iPSF) cannot tell.
inline Drop admit(const FibData& fib, const wire::MessageView& message, std::uint32_t ingress,
                  const ClassRule*& rule) {
    if (!fib.knows(ingress)) return Drop::WrongInterface;
    const bool from_client = fib.is_client(ingress);
    if (from_client && (message.source != fib.clients[ingress] || message.header_class != 0)) {
        return Drop::SpoofedSource;
    }
    rule = fib.rule(from_client ? fib.origin_class : message.header_class);
    if (rule == nullptr) return Drop::UnknownClass;
    if (from_client) return Drop::None;
    if (!rule->accept.test(ingress)) return Drop::WrongInterface;
    return fib.published_here(message.source) ? Drop::Returned : Drop::None;
}

// Whether the policy permits a client to publish this, and if so, whether it has advertised it where it has to.
inline Drop pass_gate(const FibData& fib, const wire::MessageView& message, std::uint32_t ingress, Workspace& work) {
    if (!fib.is_client(ingress)) return Drop::None;
    bool admitted = true;
    if (fib.permits != nullptr) {
        if (!fib.permits->permits(ingress, message, work.scratch, admitted).ok()) return Drop::Malformed;
        if (!admitted) return Drop::NotPermitted;
    }
    if (fib.gate == nullptr) return Drop::None;
    if (!fib.gate->admits(ingress, message, work.satisfied, admitted).ok()) return Drop::Malformed;
    return admitted ? Drop::None : Drop::Unadvertised;
}

// The last hop is spent: clients still get their copies. True if a router would have had one.
inline bool keep_clients(const FibData& fib, std::vector<std::uint32_t>& interfaces) {
    return std::erase_if(interfaces, [&](std::uint32_t each) { return !fib.is_client(each); }) > 0;
}

}  // namespace detail

// One MESSAGE. The sink has
//   void output(uint32_t interface, const C& copy)    a copy is to be sent: a Copy or a RoutedCopy
//   void drop(Drop, size_t count = 1)                 counted; also if only some copies could not be
// By interface, copies for clients and (of a class that is not routed) for routers come ascending.
template <class Sink>
void forward(const FibData& fib, wire::Bytes packet, std::uint32_t ingress, Workspace& work, Sink& sink) {
    wire::MessageView message;
    if (!wire::parse_message(packet, message).ok()) return sink.drop(Drop::Malformed);
    const ClassRule* rule = nullptr;
    const Drop refused = message.hop_limit == 0 ? Drop::HopLimit : detail::admit(fib, message, ingress, rule);
    if (refused != Drop::None) {
        return sink.drop(wire::validate_attributes(message).ok() ? refused : Drop::Malformed);
    }
    const Drop closed = detail::pass_gate(fib, message, ingress, work);
    if (closed != Drop::None) return sink.drop(closed);
    if (rule->routed) [[unlikely]] {
        return forward_routed(fib, *rule, message, packet, ingress, work.scratch, work.partition, sink);
    }
    // Matching checks the attributes on its way.
    if (!fib.tables[rule->table]->match(message, &rule->out, ingress, work.scratch).ok()) {
        return sink.drop(Drop::Malformed);
    }
    std::vector<std::uint32_t>& matched = work.scratch.matched;
    std::sort(matched.begin(), matched.end());
    const Copy copy{packet, Rewrite(*rule, message)};
    const bool withheld = copy.rewrite.hop_limit == 0 && detail::keep_clients(fib, matched);
    for (const std::uint32_t interface : matched) sink.output(interface, copy);
    if (withheld) sink.drop(Drop::HopLimit);
}

// A whole datagram: framing first, all or nothing, then packet by packet. The sink of `forward` has besides
//   void message(Bytes packet)    a MESSAGE arrived, whatever becomes of it
//   void control(Bytes packet)    for the control plane, not yet validated
// Without a FIB (null) messages are dropped, and so are they all where there is a reason to refuse them.
template <class Sink>
void forward_datagram(const FibData* fib, wire::Bytes datagram, std::uint32_t ingress, Workspace& work,
                      Sink& sink, Drop refused = Drop::None) {
    if (!wire::check_framing(datagram).ok()) return sink.drop(Drop::Malformed);
    wire::FrameCursor frames(datagram);
    for (wire::Frame frame; frames.next(frame);) {
        const wire::Bytes packet = datagram.subspan(frame.offset, frame.length);
        if (frame.type == wire::PacketType::Pad || frame.type == wire::PacketType::Seal) {
            if (!wire::validate_packet(packet).ok()) sink.drop(Drop::Malformed);
        } else if (frame.type != wire::PacketType::Message) {
            sink.control(packet);
        } else {
            sink.message(packet);
            if (refused != Drop::None) sink.drop(refused);
            else if (fib != nullptr) forward(*fib, packet, ingress, work, sink);
            else sink.drop(Drop::NoFib);
        }
    }
}

}  // namespace cbn
