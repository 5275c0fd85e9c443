// Messages of routed classes over random FIBs, most of their routes hostile, for the sanitizers to watch.
//
//   route_asan SEED ROUNDS
//
// Every input lies in an allocation of just its size. What goes out is compared with a plain reading of the
// route: each destination with a way is in just one copy, on the interface towards it, and each copy is a
// well-formed message. Prints the figures; ends with 1 on a disagreement.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "wire/codec.hpp"
#include "fib/calls.hpp"

using namespace cbn;

namespace {

using Random = std::mt19937_64;

constexpr std::uint32_t CLIENT = 77, NODE = 6, PORTS = 4;  // a client at 0, routers at 1 and 2, a client at 3

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

class Exact {
  public:
    explicit Exact(const std::string& bytes) : size_(bytes.size()), data_(new std::uint8_t[size_ > 0 ? size_ : 1]) {
        if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
    }
    [[nodiscard]] wire::Bytes bytes() const { return {data_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> data_;
};

wire::Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::uint32_t any_router(Random& random) {
    switch (below(random, 8)) {
        case 0: return static_cast<std::uint32_t>(random()) | 1U;
        case 1: return 0xFFFFFFFF;
        default: return static_cast<std::uint32_t>(1 + below(random, 300));
    }
}

std::string any_route(Random& random) {
    std::string out;
    if (random() % 4 == 0) {
        for (std::size_t left = below(random, 12); left > 0; --left) {
            out.push_back(static_cast<char>(random() % 2 ? 0x80 | random() : random()));
        }
        return out;
    }
    std::map<std::uint32_t, bool> routers;
    for (std::size_t left = 1 + below(random, 60); left > 0; --left) routers[any_router(random)] = true;
    if (random() % 2) routers[NODE] = true;
    std::uint32_t before = 0;
    for (const auto& [router, here] : routers) {
        wire::put_destination(out, before, router);
        before = router;
    }
    if (random() % 4 == 0) out[below(random, out.size())] = static_cast<char>(random());
    return out;
}

std::string message(Random& random, const std::string& route, bool from_client) {
    std::string out;
    wire::begin_packet(out, 1, 0);
    wire::put_u8(out, static_cast<std::uint8_t>(below(random, 4)));
    wire::put_u8(out, 255);
    wire::put_u8(out, 0);
    wire::put_u32(out, CLIENT);
    wire::put_u32(out, from_client ? 0 : 1);
    wire::put_u64(out, 1);
    wire::put_u64(out, 2);
    wire::put_u16(out, static_cast<std::uint16_t>(route.size()));
    wire::put_u16(out, 1);
    out += route;
    out += std::string("\2\1a\0\0\0\0\0\0\0\0", 11);
    static_cast<void>(wire::seal(out));
    return out;
}

FibData any_fib(Random& random, const Table& clients, const Table& routers) {
    FibData fib;
    fib.origin_class = 1;
    fib.clients = {CLIENT, 0, 0, CLIENT};
    fib.max_datagram.assign(PORTS, static_cast<std::uint32_t>(below(random, 140)));
    fib.tables = {clients.current(), routers.current()};
    ClassRule rule;
    for (const std::uint32_t port : {1U, 2U}) rule.accept.set(port);
    for (const std::uint32_t port : {0U, 3U}) rule.out.set(port);
    rule.rewrite = 1;
    rule.routed = true;
    fib.classes[1] = rule;
    fib.route.node = NODE;
    fib.route.table = 1;
    fib.route.one_each = random() % 4 == 0;
    std::map<std::uint32_t, std::uint32_t> ways;
    for (std::size_t left = below(random, 300); left > 0; --left) {
        ways[any_router(random)] = static_cast<std::uint32_t>(1 + random() % 2);
    }
    ways.erase(NODE);
    for (const auto& [router, interface] : ways) fib.route.destinations.push_back({router, interface});
    return fib;
}

using Ways = std::map<std::uint32_t, std::uint32_t>;  // destination, interface it left by

struct Figures {
    std::size_t disagreements = 0, copies = 0, destinations = 0, drops = 0;
};

// What a message should lead to, by the route's plain reading; false if it is malformed.
bool expected(const FibData& fib, const std::string& route, bool from_client, Ways& ways) {
    const Ways known = [&] {
        Ways all;
        for (const Destination& each : fib.route.destinations) all[each.router] = each.interface;
        return all;
    }();
    if (from_client) {
        for (std::uint32_t at = 0; at < fib.route.destinations.size() && at < 8; ++at) {
            ways[fib.route.destinations[at].router] = fib.route.destinations[at].interface;
        }
        return true;
    }
    std::uint64_t router = 0;
    std::size_t at = 0;
    while (at < route.size()) {
        std::uint64_t step = 0;
        const std::size_t start = at;
        do {
            if (at == route.size() || at - start == 5) return false;
            step |= std::uint64_t{static_cast<std::uint8_t>(route[at]) & 0x7FU} << 7 * (at - start);
        } while (static_cast<std::uint8_t>(route[at++]) & 0x80);
        if (route[at - 1] == 0 && at - start > 1) return false;
        router += step + 1;
        if (router > 0xFFFFFFFF) return false;
        const auto found = known.find(static_cast<std::uint32_t>(router));
        if (found != known.end()) ways[found->first] = found->second;
    }
    return !route.empty();
}

// The destinations of all copies; false if one is not a message, or a destination comes twice.
bool read(const Outcome& outcome, Ways& ways, Figures& figures) {
    for (const Outcome::Output& output : outcome.outputs) {
        wire::MessageView view;
        if (!wire::validate_message(output.bytes, view).ok()) return false;
        ++figures.copies;
        wire::DestinationCursor cursor(view.route);
        for (std::uint32_t router = 0; cursor.next(router); ++figures.destinations) {
            if (!ways.emplace(router, output.interface).second) return false;
        }
        const bool to_client = output.interface == 0 || output.interface == 3;
        if (!cursor.status().ok() || view.route.empty() != to_client) return false;
    }
    return true;
}

void once(Random& random, const FibData& fib, Figures& figures) {
    const bool from_client = random() % 4 == 0;
    const std::string route = any_route(random), packet = message(random, route, from_client);
    const bool spent = static_cast<std::uint8_t>(packet[5]) < 2;
    const Exact bytes(packet);
    Outcome outcome;
    forward_one(fib, bytes.bytes(), from_client ? 0 : static_cast<std::uint32_t>(1 + random() % 2), outcome);
    figures.drops += outcome.drops.size();
    Ways wanted, found;
    if (!expected(fib, route, from_client, wanted) || spent) wanted.clear();
    if (!read(outcome, found, figures) || found != wanted) ++figures.disagreements;
    std::string damaged = packet;
    damaged[below(random, damaged.size())] = static_cast<char>(random());
    const Exact hostile(damaged + damaged);
    Outcome any;
    forward_for_python(&fib, hostile.bytes(), static_cast<std::uint32_t>(below(random, PORTS + 1)), any);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    Random random(std::strtoull(arguments[1], nullptr, 10));
    const std::string everything(2, '\0');
    Table clients, routers;
    for (const std::uint32_t port : {0U, 3U}) clients.add(port, bytes_of(everything));
    // Positions beyond the destinations there are must not be followed.
    for (const std::uint32_t position : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 500U}) {
        routers.add(position, bytes_of(everything));
    }
    clients.commit();
    routers.commit();
    Figures figures;
    for (std::size_t round = std::strtoull(arguments[2], nullptr, 10); round > 0; --round) {
        const FibData fib = any_fib(random, clients, routers);
        for (int turn = 0; turn < 20; ++turn) once(random, fib, figures);
    }
    std::printf("%zu disagreements, %zu copies, %zu destinations, %zu drops\n", figures.disagreements,
                figures.copies, figures.destinations, figures.drops);
    return figures.disagreements == 0 ? 0 : 1;
}
