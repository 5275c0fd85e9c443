// Packets on their way out, gathered into datagrams by interface.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fib/data.hpp"

namespace cbn {

// Messages for one interface are bundled up to its datagram size; a larger one goes alone. Memory is kept
// from one batch to the next.
class Outbox {
  public:
    static constexpr std::uint32_t DEFAULT_MAX = 1472;  // Ethernet's 1500 less IPv4 and UDP headers

    struct Datagram {
        std::size_t at = 0;
        std::size_t size = 0;
        std::uint32_t packets = 0;
    };

    struct Lane {
        std::vector<std::uint8_t> bytes;
        std::vector<Datagram> datagrams;
        std::size_t room = 0;  // for a seal, at the end of each datagram

        // Nothing comes to the last datagram any more.
        void end() {
            bytes.resize(bytes.size() + room);
            datagrams.back().size += room;
        }
    };

    // `copy` is a Copy or a RoutedCopy. Behind `max_bytes`, datagrams have `room` for a seal.
    template <class C>
    void add(std::uint32_t interface, const C& copy, std::uint32_t max_bytes, std::size_t room = 0) {
        if (interface >= lanes_.size()) lanes_.resize(interface + 1);
        Lane& lane = lanes_[interface];
        const bool first = lane.datagrams.empty();
        if (first) {
            used_.push_back(interface);
            lane.room = room;
        }
        if (first || lane.datagrams.back().size + copy.size() > max_bytes) {
            if (!first) lane.end();
            lane.datagrams.push_back({lane.bytes.size(), 0, 0});
        }
        copy.append_to(lane.bytes);
        lane.datagrams.back().size += copy.size();
        ++lane.datagrams.back().packets;
    }

    // Calls visit(interface, lane) for each interface with datagrams, ascending, and forgets them.
    template <class Visit>
    void drain(Visit&& visit) {
        std::sort(used_.begin(), used_.end());
        for (const std::uint32_t interface : used_) {
            Lane& lane = lanes_[interface];
            lane.end();
            visit(interface, lane);
            lane.bytes.clear();
            lane.datagrams.clear();
        }
        used_.clear();
    }

  private:
    std::vector<Lane> lanes_;
    std::vector<std::uint32_t> used_;
};

}  // namespace cbn
