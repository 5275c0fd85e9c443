// Sends datagrams over several UDP sockets at an even rate, receives them at others, and says how long they took.
//
//     wire_load PACKETS_A_SECOND SECONDS PAYLOAD_BYTES SENDER:RECEIVER...
//
// The numbers are inherited descriptors of connected sockets; the rate is of each pair. 0: as fast as it goes,
// without a pause. Each datagram holds its number and the time just before it was sent; the kernel stamps arrivals.
#include <linux/sock_diag.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t SECOND_NS = 1'000'000'000;
constexpr std::int64_t QUIET_NS = 1'500'000'000;

struct Stamp {
    std::int64_t number;
    std::int64_t sent_ns;
};

std::int64_t now_ns(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time.tv_sec * SECOND_NS + time.tv_nsec;
}

std::vector<int> senders, receivers;
std::atomic<std::int64_t> sent{0}, refused{0};
std::atomic<bool> over{false};

void send_all(std::int64_t rate, std::int64_t seconds, std::size_t size) {
    std::vector<char> payload(size, 'x');
    const auto pairs = static_cast<std::int64_t>(senders.size());
    const std::int64_t start_ns = now_ns(CLOCK_MONOTONIC), end_ns = start_ns + seconds * SECOND_NS;
    for (std::int64_t number = 0;; ++number) {
        std::int64_t time_ns = now_ns(CLOCK_MONOTONIC);
        if (rate > 0) {
            const std::int64_t due_ns = start_ns + number * SECOND_NS / (rate * pairs);
            if (due_ns >= end_ns) break;
            if (due_ns > time_ns) {
                const timespec due{due_ns / SECOND_NS, due_ns % SECOND_NS};
                ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
            }
        } else if (time_ns >= end_ns) {
            break;
        }
        const Stamp stamp{number, now_ns(CLOCK_REALTIME)};
        std::memcpy(payload.data(), &stamp, sizeof stamp);
        if (::send(senders[static_cast<std::size_t>(number % pairs)], payload.data(), size, 0) > 0) ++sent;
        else ++refused;
    }
    over = true;
}

std::vector<std::int64_t> receive_all(std::size_t size) {
    std::vector<std::int64_t> took;
    took.reserve(1 << 22);
    const int epoll = ::epoll_create1(0);
    for (const int each : receivers) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = each;
        ::epoll_ctl(epoll, EPOLL_CTL_ADD, each, &event);
    }
    constexpr unsigned BATCH = 64;
    std::vector<char> memory(BATCH * size);
    alignas(cmsghdr) static char ancillary[BATCH][CMSG_SPACE(sizeof(timespec))];
    std::int64_t quiet_since_ns = now_ns(CLOCK_MONOTONIC);
    while (!over || now_ns(CLOCK_MONOTONIC) - quiet_since_ns < QUIET_NS) {
        epoll_event ready[64];
        const int count = ::epoll_wait(epoll, ready, 64, 100);
        for (int at = 0; at < count; ++at) {
            iovec parts[BATCH];
            mmsghdr headers[BATCH]{};
            for (unsigned i = 0; i < BATCH; ++i) {
                parts[i] = {memory.data() + i * size, size};
                headers[i].msg_hdr = {nullptr, 0, &parts[i], 1, ancillary[i], sizeof ancillary[i], 0};
            }
            const int got = ::recvmmsg(ready[at].data.fd, headers, BATCH, MSG_DONTWAIT, nullptr);
            for (int i = 0; i < got; ++i) {
                Stamp stamp{};
                std::memcpy(&stamp, parts[i].iov_base, sizeof stamp);
                timespec arrived{};
                const cmsghdr* first = CMSG_FIRSTHDR(&headers[i].msg_hdr);
                if (first != nullptr) std::memcpy(&arrived, CMSG_DATA(first), sizeof arrived);
                took.push_back(arrived.tv_sec * SECOND_NS + arrived.tv_nsec - stamp.sent_ns);
            }
            if (got > 0) quiet_since_ns = now_ns(CLOCK_MONOTONIC);
        }
    }
    return took;
}

// Datagrams that came to the receivers' sockets while these had no room: this program did not read fast enough.
unsigned long unread() {
    unsigned long sum = 0;
    for (const int each : receivers) {
        std::uint32_t figures[SK_MEMINFO_VARS]{};
        socklen_t size = sizeof figures;
        if (::getsockopt(each, SOL_SOCKET, SO_MEMINFO, figures, &size) == 0) sum += figures[SK_MEMINFO_DROPS];
    }
    return sum;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) return 2;
    const std::int64_t rate = std::atoll(arguments[1]), seconds = std::atoll(arguments[2]);
    const auto size = static_cast<std::size_t>(std::max(std::atoi(arguments[3]), 16));
    for (int at = 4; at < count; ++at) {
        const std::string pair = arguments[at];
        const auto colon = pair.find(':');
        senders.push_back(std::atoi(pair.substr(0, colon).c_str()));
        receivers.push_back(std::atoi(pair.substr(colon + 1).c_str()));
    }
    std::vector<std::int64_t> took;
    std::thread receiver([&] { took = receive_all(size); });
    send_all(rate, seconds, size);
    receiver.join();
    std::sort(took.begin(), took.end());
    const auto at = [&](double share) {
        return took.empty() ? 0 : took[static_cast<std::size_t>(share * static_cast<double>(took.size() - 1))];
    };
    std::printf("{\"sent\": %ld, \"refused\": %ld, \"received\": %zu, \"unread\": %lu, \"min_ns\": %ld, \"p50_ns\": %ld, "
                "\"p90_ns\": %ld, \"p99_ns\": %ld, \"max_ns\": %ld}\n",
                static_cast<long>(sent.load()), static_cast<long>(refused.load()), took.size(), unread(),
                static_cast<long>(at(0)), static_cast<long>(at(0.5)), static_cast<long>(at(0.9)), static_cast<long>(at(0.99)),
                static_cast<long>(at(1)));
}
