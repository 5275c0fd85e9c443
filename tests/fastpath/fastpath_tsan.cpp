// The socket loop forwards while others install FIBs, commit tables, send, and read counters and control
// packets, for ThreadSanitizer to watch.
//
//   fastpath_tsan MESSAGES
//
// Prints how many messages came through; ends with 1 if one was forwarded by a mixture of two FIBs.
#include <arpa/inet.h>
#include <poll.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "wire/codec.hpp"
#include "dataplane/dataplane.hpp"

using namespace cbn;

namespace {

constexpr std::uint32_t CLIENT = 7;

std::string message() {
    std::string out;
    wire::begin_packet(out, 1, 0);
    wire::put_u8(out, 64);
    wire::put_u16(out, 0);
    wire::put_u32(out, CLIENT);
    wire::put_u32(out, 0);
    wire::put_u64(out, 1);
    wire::put_u64(out, 2);
    wire::put_u32(out, 0);
    static_cast<void>(wire::seal(out));
    return out;
}

wire::Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

int bound(sockaddr_in& address) {
    const int made = ::socket(AF_INET, SOCK_DGRAM, 0);
    address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(made, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
    if (::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size) != 0) std::abort();
    return made;
}

struct Pair {
    int ours, peer;
    Pair() {
        sockaddr_in here{}, there{};
        ours = bound(here);
        peer = bound(there);
        if (::connect(ours, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0) std::abort();
        if (::connect(peer, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0) std::abort();
    }
    ~Pair() {
        ::close(ours);
        ::close(peer);
    }
};

// Class and only interface are the same number: a mixture of two FIBs would show. Half of the FIBs find the
// interface by the message's destinations.
FibPointer fib_to(std::uint32_t interface, Table& table, bool routed = false) {
    auto fib = std::make_shared<FibData>();
    fib->origin_class = 1;
    fib->clients = {CLIENT, 0, 0};
    fib->max_datagram = {1472, 1472, 1472};
    ClassRule rule;
    rule.out.set(routed ? 0 : interface);
    rule.rewrite = interface;
    rule.routed = routed;
    fib->classes[1] = rule;
    fib->tables.push_back(table.current());
    fib->route = {10, 0, false, {{5, interface}, {6, interface}, {7, interface}}};
    return fib;
}

// What waits at a peer; the number of those that bear another class than its own.
std::size_t mixed(int peer, std::uint32_t own, std::size_t& arrived, std::size_t& routed,
                  std::size_t& sealed) {
    std::uint8_t buffer[2048];
    std::size_t wrong = 0;
    while (true) {
        const ssize_t size = ::recv(peer, buffer, sizeof buffer, MSG_DONTWAIT);
        if (size <= 0) return wrong;
        wire::FrameCursor frames({buffer, static_cast<std::size_t>(size)});
        for (wire::Frame frame; frames.next(frame);) {
            sealed += frame.type == wire::PacketType::Seal;
            if (frame.type != wire::PacketType::Message) continue;
            ++arrived;
            wrong += wire::load<std::uint32_t>(buffer + frame.offset + wire::HEADER_CLASS_AT) != own;
            routed += wire::load<std::uint16_t>(buffer + frame.offset + wire::ROUTE_LENGTH_AT) != 0;
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const std::size_t messages = std::strtoull(arguments[1], nullptr, 10);
    const std::string everything(2, '\0'), packet = message();
    Pair pairs[3];
    // What goes out is sealed, and what comes is not, with keys that change meanwhile.
    const auto seals = std::make_shared<seal::Guards>(3, seal::Mode::Permissive);
    const auto use_key = [&](std::size_t turn) {
        const seal::KeyOf key{static_cast<std::uint16_t>(turn), turn % 2, {static_cast<std::uint8_t>(turn)}};
        for (std::size_t interface = 0; interface < 3; ++interface) seals->at(interface).use(key, {key});
    };
    Loop loop({pairs[0].ours, pairs[1].ours, pairs[2].ours}, 1000, false, seals);
    Table table;
    for (const std::uint32_t interface : {1U, 2U}) table.add(interface, bytes_of(everything));
    table.commit();
    loop.install(fib_to(1, table));
    std::thread forwarding([&] { static_cast<void>(loop.run()); });
    std::atomic<bool> swapped = false;
    std::thread swapping([&] {
        for (std::size_t turn = 0; turn < messages; ++turn) {
            const std::uint64_t id = table.add(2, bytes_of(everything));
            table.commit();
            loop.install(fib_to(1 + turn % 2, table, turn % 4 < 2));
            if (turn % 8 == 0) use_key(turn);
            static_cast<void>(table.remove(id));
        }
        swapped = true;
    });
    std::thread controlling([&] {
        const std::string ack = std::string("\1\4\0\40\0\0\0\0", 8) + std::string(24, '\1');
        for (std::size_t turn = 0; turn < messages; ++turn) {
            static_cast<void>(loop.send(turn % 3, bytes_of(ack)));
            static_cast<void>(::send(pairs[1].peer, ack.data(), ack.size(), MSG_DONTWAIT));
            static_cast<void>(loop.take_control());
            static_cast<void>(loop.count(1, 0) + loop.drops(1));
        }
    });
    std::size_t wrong = 0, arrived = 0, routed = 0, sealed = 0;
    const auto look = [&] {
        return mixed(pairs[1].peer, 1, arrived, routed, sealed) + mixed(pairs[2].peer, 2, arrived, routed, sealed);
    };
    for (std::size_t turn = 0; turn < messages || !swapped; ++turn) {
        static_cast<void>(::send(pairs[0].peer, packet.data(), packet.size(), MSG_DONTWAIT));
        if (turn % 16 == 0) wrong += look();
    }
    swapping.join();
    controlling.join();
    loop.stop();
    forwarding.join();
    wrong += look();
    std::printf("%zu arrived, %zu with destinations, %zu datagrams with seals, %zu mixed\n", arrived, routed, sealed, wrong);
    return arrived > 0 && sealed > 0 && wrong == 0 ? 0 : 1;
}
