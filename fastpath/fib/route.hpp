// Messages that carry their destinations (RTE 3.4, T5): found at the first router, partitioned by next hop at
// each, taken out where they are reached (E11).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fib/data.hpp"

namespace cbn {

// Where one message goes: parts of its destinations, each in a copy of its own. Memory is kept from one
// message to the next.
class Partition {
  public:
    struct Part {
        std::uint32_t interface = 0;
        std::uint32_t at = 0, size = 0;  // of its destinations in `bytes`
    };

    void clear() noexcept {
        ways_.clear();
        unreachable_ = 0;
    }
    void add(const Destination& each) { ways_.push_back(std::uint64_t{each.interface} << 32 | each.router); }
    void miss() noexcept { ++unreachable_; }
    [[nodiscard]] std::size_t unreachable() const noexcept { return unreachable_; }
    [[nodiscard]] bool empty() const noexcept { return ways_.empty(); }

    // Cuts what was added into parts: by interface, and where a copy of `fixed` bytes besides would be larger
    // than its interface sends; one destination goes in any case.
    void cut(const FibData& fib, std::size_t fixed) {
        parts_.clear();
        bytes_.clear();
        std::sort(ways_.begin(), ways_.end());
        std::uint32_t before = 0;
        for (const std::uint64_t way : ways_) {
            const auto interface = static_cast<std::uint32_t>(way >> 32), router = static_cast<std::uint32_t>(way);
            if (!joins(fib, interface, fixed + wire::destination_size(before, router))) {
                parts_.push_back({interface, static_cast<std::uint32_t>(bytes_.size()), 0});
                before = 0;
            }
            wire::put_destination(bytes_, before, router);
            parts_.back().size = static_cast<std::uint32_t>(bytes_.size()) - parts_.back().at;
            before = router;
        }
    }
    [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
    [[nodiscard]] wire::Bytes destinations(const Part& part) const noexcept {
        return wire::Bytes(bytes_).subspan(part.at, part.size);
    }

  private:
    // Whether the last part can take one more, of so many bytes with all but the part's own.
    [[nodiscard]] bool joins(const FibData& fib, std::uint32_t interface, std::size_t more) const noexcept {
        return !parts_.empty() && !fib.route.one_each && parts_.back().interface == interface &&
               parts_.back().size + more <= std::min<std::size_t>(fib.max_datagram[interface], wire::MAX_PACKET);
    }

    std::vector<std::uint64_t> ways_;  // interface and id of each destination
    std::vector<Part> parts_;
    std::vector<std::uint8_t> bytes_;
    std::size_t unreachable_ = 0;
};

namespace detail {

// W: the routers that want a message one of our clients published.
inline bool match_destinations(const FibData& fib, const wire::MessageView& message, Scratch& scratch,
                               Partition& partition) {
    const RouteRule& route = fib.route;
    if (!fib.tables[route.table]->match(message, nullptr, NOWHERE, scratch).ok()) return false;
    for (const std::uint32_t position : scratch.matched) {
        if (position < route.destinations.size()) partition.add(route.destinations[position]);
    }
    return true;
}

// W as another router wrote it; `ours` if we are in it. False if it is malformed, or empty.
inline bool read_destinations(const RouteRule& route, wire::Bytes bytes, Partition& partition, bool& ours) {
    auto at = route.destinations.begin();
    const auto end = route.destinations.end();
    wire::DestinationCursor cursor(bytes);
    for (std::uint32_t router = 0; cursor.next(router);) {
        at = std::lower_bound(at, end, router, [](const Destination& d, std::uint32_t id) { return d.router < id; });
        if (router == route.node) ours = true;
        else if (at != end && at->router == router) partition.add(*at);
        else partition.miss();
    }
    return cursor.status().ok() && !bytes.empty();
}

}  // namespace detail

// A message of a routed class. Clients are sent it without a route; a destination that no hop is left for, or
// no way leads to, is dropped.
template <class Sink>
void forward_routed(const FibData& fib, const ClassRule& rule, const wire::MessageView& message,
                    wire::Bytes packet, std::uint32_t ingress, Scratch& scratch, Partition& partition, Sink& sink) {
    partition.clear();
    bool ours = fib.is_client(ingress);
    const bool known = ours ? detail::match_destinations(fib, message, scratch, partition)
                            : detail::read_destinations(fib.route, message.route, partition, ours);
    if (!known) return sink.drop(Drop::Malformed);
    scratch.matched.clear();
    const wire::Status sound = ours ? fib.tables[rule.table]->match(message, &rule.out, ingress, scratch)
                                    : wire::validate_attributes(message);
    if (!sound.ok()) return sink.drop(Drop::Malformed);
    std::sort(scratch.matched.begin(), scratch.matched.end());
    RoutedCopy copy{packet, Rewrite(rule, message), message.route.size(), {}};
    for (const std::uint32_t interface : scratch.matched) sink.output(interface, copy);
    if (partition.unreachable() > 0) sink.drop(Drop::Unreachable, partition.unreachable());
    if (partition.empty()) return;
    if (copy.rewrite.hop_limit == 0) return sink.drop(Drop::HopLimit);
    partition.cut(fib, copy.size());
    for (const Partition::Part& part : partition.parts()) {
        copy.route = partition.destinations(part);
        if (copy.size() <= wire::MAX_PACKET) sink.output(part.interface, copy);
        else sink.drop(Drop::SendFailed);
    }
}

}  // namespace cbn
