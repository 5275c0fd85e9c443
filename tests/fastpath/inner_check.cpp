// The socket loop with an interface to the control plane, while FIBs are swapped and packets are taken by
// other threads, for the sanitizers to watch.
//
//   inner_check SEED DATAGRAMS
//
// Every message that the loop received must come to the control plane, or be counted as an overflow. Prints
// the figures; ends with 1 if one is unaccounted for, or arrives as something else.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "dataplane/dataplane.hpp"
#include "wire/codec.hpp"

using namespace cbn;

namespace {

constexpr std::uint32_t CLIENT = 7, INNER = 2;
constexpr std::size_t QUEUE = 64;

[[noreturn]] void fail(const char* what) {
    std::printf("%s\n", what);
    std::exit(1);
}

int bound(sockaddr_in& address) {
    const int made = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(made, reinterpret_cast<sockaddr*>(&address), size) < 0) fail("bind");
    if (::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size) < 0) fail("getsockname");
    return made;
}

// Our end and the peer's.
std::pair<int, int> link() {
    sockaddr_in here{}, there{};
    const int ours = bound(here), peer = bound(there);
    if (::connect(ours, reinterpret_cast<sockaddr*>(&there), sizeof there) < 0) fail("connect");
    if (::connect(peer, reinterpret_cast<sockaddr*>(&here), sizeof here) < 0) fail("connect");
    return {ours, peer};
}

std::string message(std::uint64_t sequence, std::size_t padding) {
    std::string out;
    wire::begin_packet(out, 1, padding > 0 ? 2 : 0);
    for (const int byte : {9, 0, 0}) wire::put_u8(out, static_cast<std::uint8_t>(byte));
    wire::put_u32(out, CLIENT);
    wire::put_u32(out, 0);
    wire::put_u64(out, sequence);
    wire::put_u64(out, 1);
    wire::put_u16(out, 0);
    wire::put_u16(out, 0);
    if (padding > 0) {
        out.append(padding, 'x');
        wire::put_u16(out, static_cast<std::uint16_t>(padding));
    }
    static_cast<void>(wire::seal(out));
    return out;
}

FibPointer fib(std::mt19937_64& random) {
    Table table;
    const std::string everything(2, '\0');
    const wire::Bytes filter{reinterpret_cast<const std::uint8_t*>(everything.data()), everything.size()};
    for (const std::uint32_t interface : {1U, INNER}) static_cast<void>(table.add(interface, filter));
    table.commit();
    auto made = std::make_shared<FibData>();
    made->origin_class = 1;
    made->clients = {CLIENT, 0, 99};
    made->max_datagram = {1472, 1472, random() % 2 ? 65535U : 100U};
    made->note_own_clients();
    made->tables.push_back(table.current());
    ClassRule rule;
    rule.out.set(1);
    rule.out.set(INNER);
    made->classes[1] = rule;
    return made;
}

struct Taken {
    std::atomic<bool> over{false};
    std::size_t messages = 0;
};

void take(Loop& loop, Taken& taken) {
    while (true) {
        const bool last = taken.over.load();
        for (const auto& [interface, packet] : loop.take_control()) {
            wire::MessageView view;
            const wire::Bytes bytes{reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size()};
            if (interface != INNER || !wire::validate_message(bytes, view).ok()) fail("what is taken is no message");
            if (view.hop_count != 1 || view.header_class != 0) fail("a message was not rewritten");
            ++taken.messages;
        }
        if (last) return;
        pollfd waiting{loop.control_descriptor(), POLLIN, 0};
        ::poll(&waiting, 1, 1);
    }
}

void drain(int descriptor) {
    char bytes[65536];
    while (::recv(descriptor, bytes, sizeof bytes, 0) >= 0) {
    }
}

}  // namespace

int main(int count, char** given) {
    if (count != 3) fail("inner_check SEED DATAGRAMS");
    std::mt19937_64 random(std::strtoull(given[1], nullptr, 10));
    const auto [first, client] = link();
    const auto [second, router] = link();
    Loop loop({first, second}, QUEUE, true, nullptr);
    loop.install(fib(random));
    Taken taken;
    std::thread forwarding([&] { if (loop.run() != 0) fail("the loop cannot go on"); });
    std::thread taking([&] { take(loop, taken); });
    std::uint64_t sequence = 0;
    const auto counted = [&](Count what) { return loop.count(0, static_cast<std::size_t>(what)); };
    for (std::uint64_t left = std::strtoull(given[2], nullptr, 10); left > 0; --left) {
        std::string datagram;
        for (std::size_t more = 1 + random() % 6; more > 0; --more) datagram += message(++sequence, random() % 60);
        while (::send(client, datagram.data(), datagram.size(), 0) < 0) ::poll(nullptr, 0, 1);
        if (random() % 64 == 0) loop.install(fib(random));
        if (random() % 16 == 0) drain(router);
        while (sequence - counted(Count::RxMessages) > 200) ::poll(nullptr, 0, 1);
    }
    while (counted(Count::RxMessages) < sequence) ::poll(nullptr, 0, 1);
    loop.stop();
    forwarding.join();
    taken.over = true;
    taking.join();
    const auto inside = loop.inner_count(static_cast<std::size_t>(Count::RxMessages));
    const auto lost = loop.inner_count(static_cast<std::size_t>(Count::ControlOverflows));
    if (inside != taken.messages || inside + lost != sequence) fail("a message is unaccounted for");
    std::printf("%llu messages, %llu taken, %llu overflows\n", static_cast<unsigned long long>(sequence),
                static_cast<unsigned long long>(inside), static_cast<unsigned long long>(lost));
    for (const int each : {first, client, second, router}) ::close(each);
}
