// What a FIB holds, why a message may not be forwarded, and what becomes of the bytes of one that is.
//
// What is decided by it stands in fib/fib.hpp and fib/route.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fib/drop.hpp"
#include "fib/gate.hpp"
#include "fib/permits.hpp"
#include "match/bits.hpp"
#include "match/index.hpp"
#include "wire/wire.hpp"

namespace cbn {

// header class -> (interface mask, predicate table, header rewrite)
struct ClassRule {
    Bits accept;
    Bits out;
    std::uint32_t table = 0;
    std::uint32_t rewrite = 0;
    bool routed = false;  // routers by the destinations in the header, clients by `out` and `table`
};

// The rules of header classes. FIBs that differ in their tables alone share them.
class Classes {
  public:
    [[nodiscard]] ClassRule& operator[](std::uint32_t header_class) {
        if (rules_.use_count() > 1) rules_ = std::make_shared<Rules>(*rules_);
        return (*rules_)[header_class];
    }
    // Null if there is none.
    [[nodiscard]] const ClassRule* find(std::uint32_t header_class) const {
        const auto found = rules_->find(header_class);
        return found == rules_->end() ? nullptr : &found->second;
    }
    [[nodiscard]] std::size_t size() const noexcept { return rules_->size(); }

  private:
    using Rules = std::unordered_map<std::uint32_t, ClassRule>;

    std::shared_ptr<Rules> rules_ = std::make_shared<Rules>();
};

struct Destination {
    std::uint32_t router = 0;
    std::uint32_t interface = 0;  // towards it
};

// How messages of routed classes travel (RTE 3.4).
struct RouteRule {
    std::uint32_t node = 0;                 // our own id; 0 if there are no routed classes
    std::uint32_t table = 0;                // its "interfaces" are positions in `destinations`
    bool one_each = false;                  // a copy for every destination, not for every next hop
    std::vector<Destination> destinations;  // by ascending id, without our own
};

struct FibData {
    std::uint32_t origin_class = 0;
    std::vector<std::uint32_t> clients;       // id of the client at each interface, 0 for a router
    std::vector<std::uint32_t> own;           // the ids of our clients, ascending
    std::vector<std::uint32_t> max_datagram;  // bytes of UDP payload, by interface
    Classes classes;
    std::vector<IndexPointer> tables;
    RouteRule route;
    PermitsPointer permits;  // null: the policy permits anything
    GatePointer gate;        // null: clients need not advertise

    [[nodiscard]] bool knows(std::uint32_t interface) const noexcept { return interface < clients.size(); }
    [[nodiscard]] bool is_client(std::uint32_t interface) const noexcept { return clients[interface] != 0; }
    // Whether a message of this source was published here.
    [[nodiscard]] bool published_here(std::uint32_t source) const noexcept {
        return std::binary_search(own.begin(), own.end(), source);
    }
    // Once the interfaces are known.
    void note_own_clients() {
        std::copy_if(clients.begin(), clients.end(), std::back_inserter(own), [](std::uint32_t id) { return id != 0; });
        std::sort(own.begin(), own.end());
    }
    [[nodiscard]] const ClassRule* rule(std::uint32_t header_class) const { return classes.find(header_class); }
};

using FibPointer = std::shared_ptr<const FibData>;

// What is written into every copy of a message.
struct Rewrite {
    std::uint32_t header_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t hop_count = 0;

    Rewrite(const ClassRule& rule, const wire::MessageView& message) noexcept
        : header_class(rule.rewrite),
          hop_limit(static_cast<std::uint8_t>(message.hop_limit - 1)),
          hop_count(static_cast<std::uint8_t>(message.hop_count + (message.hop_count < 255 ? 1 : 0))) {}

    void apply(std::uint8_t* packet) const noexcept {
        packet[wire::HOP_LIMIT_AT] = hop_limit;
        packet[wire::HOP_COUNT_AT] = hop_count;
        wire::store(packet + wire::HEADER_CLASS_AT, header_class);
    }
};

// A message as it is sent on: all bytes but the header stay.
struct Copy {
    wire::Bytes packet;
    Rewrite rewrite;

    [[nodiscard]] std::size_t size() const noexcept { return packet.size(); }
    // Flat: this is where a forwarded message spends itself, and the compiler takes `insert` for too large.
    [[gnu::flatten]] void append_to(std::vector<std::uint8_t>& out) const {
        out.insert(out.end(), packet.begin(), packet.end());
        rewrite.apply(out.data() + out.size() - packet.size());
    }
};

// The same with another route in the place of its own.
struct RoutedCopy {
    wire::Bytes packet;
    Rewrite rewrite;
    std::size_t old_route_size = 0;
    wire::Bytes route;

    [[nodiscard]] std::size_t size() const noexcept { return packet.size() - old_route_size + route.size(); }
    void append_to(std::vector<std::uint8_t>& out) const {
        out.resize(out.size() + size());
        std::uint8_t* const start = out.data() + out.size() - size();
        const wire::Bytes rest = packet.subspan(wire::MESSAGE_SIZE + old_route_size);
        std::uint8_t* const after = std::copy_n(packet.data(), wire::MESSAGE_SIZE, start);
        std::copy(rest.begin(), rest.end(), std::copy(route.begin(), route.end(), after));
        rewrite.apply(start);
        wire::store(start + wire::LENGTH_AT, static_cast<std::uint16_t>(size()));
        wire::store(start + wire::ROUTE_LENGTH_AT, static_cast<std::uint16_t>(route.size()));
    }
};

}  // namespace cbn
