// Matching and forwarding with their results as values, for callers in Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fib/fib.hpp"
#include "fib/outbox.hpp"

namespace cbn {

// One workspace a thread: it grows with the largest table and is never freed before the thread ends.
inline Workspace& thread_workspace() {
    thread_local Workspace workspace;
    return workspace;
}

inline Scratch& thread_scratch() { return thread_workspace().scratch; }

// The interfaces that match one MESSAGE, in thread_scratch().matched, in any order; `allowed` null means all.
inline wire::Status match_packet(const Index& index, wire::Bytes packet, const Bits* allowed) {
    wire::MessageView message;
    const wire::Status status = wire::parse_message(packet, message);
    return status.ok() ? index.match(message, allowed, NOWHERE, thread_scratch()) : status;
}

// What many packets led to: how many interfaces each, and all of them in a row, ascending for each packet.
struct Matches {
    std::vector<std::size_t> counts;
    std::vector<std::uint32_t> interfaces;
};

// Stops at the first packet that is malformed: matches.counts.size() says which.
inline wire::Status match_packets(const Index& index, const std::vector<wire::Bytes>& packets, const Bits* allowed,
                                  Matches& matches) {
    std::vector<std::uint32_t>& found = thread_scratch().matched;
    for (const wire::Bytes packet : packets) {
        const wire::Status status = match_packet(index, packet, allowed);
        if (!status.ok()) return status;
        std::sort(found.begin(), found.end());
        matches.counts.push_back(found.size());
        matches.interfaces.insert(matches.interfaces.end(), found.begin(), found.end());
    }
    return {};
}

// What one packet or one datagram led to. `control` points into the datagram.
struct Outcome {
    struct Output {
        std::uint32_t interface = 0;
        std::vector<std::uint8_t> bytes;
    };
    std::vector<wire::Bytes> control;
    std::vector<Output> outputs;
    std::vector<std::uint8_t> drops;

    void drop(Drop reason, std::size_t count = 1) {
        drops.insert(drops.end(), count, static_cast<std::uint8_t>(reason));
    }
};

// Copies one by one.
struct PacketSink {
    Outcome& outcome;

    void drop(Drop reason, std::size_t count = 1) { outcome.drop(reason, count); }
    template <class C>
    void output(std::uint32_t interface, const C& copy) {
        outcome.outputs.push_back({interface, {}});
        copy.append_to(outcome.outputs.back().bytes);
    }
};

// Copies bundled into datagrams.
class DatagramSink {
  public:
    DatagramSink(const FibData* fib, Outcome& outcome) : fib_(fib), outcome_(outcome) {}

    void message(wire::Bytes) const noexcept {}
    void control(wire::Bytes packet) { outcome_.control.push_back(packet); }
    void drop(Drop reason, std::size_t count = 1) { outcome_.drop(reason, count); }
    template <class C>
    void output(std::uint32_t interface, const C& copy) {
        outbox_.add(interface, copy, fib_->max_datagram[interface]);
    }

    void finish() {
        outbox_.drain([this](std::uint32_t interface, const Outbox::Lane& lane) {
            for (const Outbox::Datagram& each : lane.datagrams) {
                const auto first = lane.bytes.begin() + static_cast<std::ptrdiff_t>(each.at);
                outcome_.outputs.push_back({interface, {first, first + static_cast<std::ptrdiff_t>(each.size)}});
            }
        });
    }

  private:
    const FibData* fib_;
    Outcome& outcome_;
    Outbox outbox_;
};

// `fib` null: as before the first is installed.
inline void forward_for_python(const FibData* fib, wire::Bytes datagram, std::uint32_t ingress,
                               Outcome& outcome) {
    DatagramSink sink(fib, outcome);
    forward_datagram(fib, datagram, ingress, thread_workspace(), sink);
    sink.finish();
}

inline void forward_one(const FibData& fib, wire::Bytes packet, std::uint32_t ingress, Outcome& outcome) {
    PacketSink sink{outcome};
    forward(fib, packet, ingress, thread_workspace(), sink);
}

// How many packets of a datagram are messages; none if it is not well framed.
inline std::size_t count_messages(wire::Bytes datagram) noexcept {
    if (!wire::check_framing(datagram).ok()) return 0;
    std::size_t count = 0;
    wire::FrameCursor frames(datagram);
    for (wire::Frame frame; frames.next(frame);) count += frame.type == wire::PacketType::Message;
    return count;
}

}  // namespace cbn
