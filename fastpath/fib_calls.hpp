// Matching and forwarding with their results as values, for callers in Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fib.hpp"
#include "outbox.hpp"

namespace cbn {

// One scratch a thread: it grows with the largest table and is never freed before the thread ends.
inline Scratch& thread_scratch() {
    thread_local Scratch scratch;
    return scratch;
}

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

// What one datagram led to. `control` points into the datagram, `datagrams` into `bytes`.
struct Outcome {
    struct Output {
        std::uint32_t interface = 0;
        std::vector<std::uint8_t> bytes;
    };
    std::vector<wire::Bytes> control;
    std::vector<Output> outputs;
    std::vector<std::uint8_t> drops;
};

class OutcomeSink {
  public:
    OutcomeSink(const FibData& fib, Outcome& outcome) : fib_(fib), outcome_(outcome) {}

    void message(wire::Bytes) const noexcept {}
    void control(wire::Bytes packet) { outcome_.control.push_back(packet); }
    void drop(Drop reason) { outcome_.drops.push_back(static_cast<std::uint8_t>(reason)); }
    void output(std::uint32_t interface, wire::Bytes packet, const Rewrite& rewrite) {
        outbox_.add(interface, packet, rewrite, fib_.max_datagram[interface]);
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
    const FibData& fib_;
    Outcome& outcome_;
    Outbox outbox_;
};

inline void forward_for_python(const FibData& fib, wire::Bytes datagram, std::uint32_t ingress,
                               Outcome& outcome) {
    OutcomeSink sink(fib, outcome);
    forward_datagram(&fib, datagram, ingress, thread_scratch(), sink);
    sink.finish();
}

inline std::uint8_t forward_one(const FibData& fib, wire::Bytes packet, std::uint32_t ingress, Rewrite& rewrite) {
    return static_cast<std::uint8_t>(forward(fib, packet, ingress, thread_scratch(), rewrite));
}

}  // namespace cbn
