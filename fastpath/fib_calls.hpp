// Matching and forwarding with their results as values, for callers in Python.
#pragma once

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

// The interfaces that match one MESSAGE, in thread_scratch().matched; `allowed` null means all.
inline wire::Status match_packet(const TableIndex& index, wire::Bytes packet, const Bits* allowed) {
    constexpr std::uint32_t nowhere = 0xFFFFFFFF;
    wire::MessageView message;
    const wire::Status status = wire::validate_message(packet, message);
    if (!status.ok()) return status;
    index.match(message.attributes, message.attribute_count, allowed ? *allowed : index.populated(), nowhere,
                thread_scratch());
    return status;
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
