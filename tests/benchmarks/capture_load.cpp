// Sends frames over several packet sockets at an even rate, a millisecond's worth at a time.
//
//     capture_load FRAMES_A_SECOND SECONDS FRAME_BYTES SOCKET...
//
// The sockets are inherited descriptors, bound to their interfaces; the rate is of all together. Says how many
// were sent, how many were refused, and what processor time that took, softirqs of the receiving ends with it.
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr std::int64_t SECOND_NS = 1'000'000'000;
constexpr std::int64_t TICK_NS = 1'000'000;
constexpr unsigned BATCH = 64;

std::int64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND_NS + time.tv_nsec;
}

// How many of `wanted` frames were taken.
std::int64_t send_some(int socket, std::int64_t wanted, iovec& frame) {
    mmsghdr headers[BATCH]{};
    for (mmsghdr& header : headers) {
        header.msg_hdr.msg_iov = &frame;
        header.msg_hdr.msg_iovlen = 1;
    }
    std::int64_t taken = 0;
    while (taken < wanted) {
        const auto part = static_cast<unsigned>(std::min<std::int64_t>(wanted - taken, BATCH));
        const int sent = ::sendmmsg(socket, headers, part, 0);
        if (sent <= 0) break;
        taken += sent;
    }
    return taken;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) return 2;
    const std::int64_t rate = std::atoll(arguments[1]), seconds = std::atoll(arguments[2]);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::atoi(arguments[3])), 0xAA);
    bytes[0] = bytes[6] = 2;
    bytes[12] = 0x88;  // an EtherType for experiments
    bytes[13] = 0xB5;
    iovec frame{bytes.data(), bytes.size()};
    std::vector<int> sockets;
    for (int at = 4; at < count; ++at) sockets.push_back(std::atoi(arguments[at]));

    const std::int64_t start_ns = now_ns(), end_ns = start_ns + seconds * SECOND_NS;
    std::int64_t due = 0, sent = 0, refused = 0;
    std::size_t next = 0;
    for (std::int64_t tick_ns = start_ns; tick_ns < end_ns; tick_ns += TICK_NS) {
        const timespec until{tick_ns / SECOND_NS, tick_ns % SECOND_NS};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        const std::int64_t total = (tick_ns - start_ns + TICK_NS) / TICK_NS * rate / 1000;
        const std::int64_t pieces = std::min<std::int64_t>(static_cast<std::int64_t>(sockets.size()), total - due);
        for (std::int64_t piece = pieces; piece > 0; --piece) {
            const std::int64_t wanted = (total - due) / piece;
            const std::int64_t taken = send_some(sockets[next++ % sockets.size()], wanted, frame);
            sent += taken;
            refused += wanted - taken;
            due += wanted;
        }
    }
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const double cpu_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    const double took_s = 1e-9 * static_cast<double>(now_ns() - start_ns);
    std::printf("{\"sent\": %ld, \"refused\": %ld, \"cpu_s\": %.3f, \"took_s\": %.3f}\n", static_cast<long>(sent),
                static_cast<long>(refused), cpu_s, took_s);
}
