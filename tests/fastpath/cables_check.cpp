// Links carry random frames under random impairments that change, are cut and repaired while frames are on their way,
// for the sanitizers to watch.
//
//   cables_check SEED ROUNDS
//
// Prints how many frames were sent, arrived, were lost, changed and overran; ends with 1 if any is unaccounted for.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "cable/cables.hpp"

using namespace cbn::cable;

namespace {

constexpr std::size_t LINKS = 4;
constexpr std::size_t FRAME_BYTES = 300;
constexpr std::size_t SLOTS = 64;

struct Pair {
    int ours, inner;
    Pair() {
        std::array<int, 2> made{};
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, made.data()) != 0) std::abort();
        ours = made[0];
        inner = made[1];
    }
    ~Pair() {
        ::close(ours);
        ::close(inner);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
};

class Chooser {
  public:
    explicit Chooser(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
    double share() { return std::array{0.0, 0.0, 0.1, 0.5, 1.0}[below(5)]; }

    Impairment impairment() {
        Impairment does;
        does.delay_ns = static_cast<std::int64_t>(below(3) * below(1'000'000));
        does.jitter_ns = static_cast<std::int64_t>(below(2) * below(1'000'000));
        does.shape = static_cast<Shape>(below(3));
        does.correlation = share();
        does.loss = share();
        does.burst = static_cast<double>(below(2) * (1 + below(5)));
        does.duplicate = share();
        does.reorder = share();
        does.corrupt = share();
        does.rate_bps = static_cast<std::int64_t>(below(3) * below(1'000'000'000));
        does.queue_packets = static_cast<std::int64_t>(below(6)) - 1;
        does.queue_bytes = static_cast<std::int64_t>(below(2) * 2'000) - 1;
        return does;
    }

  private:
    std::mt19937_64 engine_;
};

std::uint64_t drain(int descriptor) {
    std::array<char, 1024> buffer{};
    std::uint64_t count = 0;
    while (::recv(descriptor, buffer.data(), buffer.size(), 0) > 0) ++count;
    return count;
}

}  // namespace

int main(int count, char** arguments) {
    const std::uint64_t seed = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1;
    const long rounds = count > 2 ? std::atol(arguments[2]) : 1000;
    Chooser choose(seed);
    std::array<Pair, LINKS> a, b;
    Cables cables(FRAME_BYTES, SLOTS * 320, 32, 1);
    for (std::size_t link = 0; link < LINKS; ++link) {
        cables.join(a[link].inner, b[link].inner, choose.below(~0ULL), choose.below(~0ULL));
        cables.impair(link, choose.impairment(), choose.impairment());
    }
    std::thread loop([&] {
        if (cables.run() != 0) std::abort();
    });
    std::atomic<bool> over{false};
    std::thread meddler([&, other = Chooser(seed + 1)]() mutable {
        while (!over) {
            const std::size_t link = other.below(LINKS);
            switch (other.below(4)) {
                case 0: cables.cut(link); break;
                case 1: cables.repair(link); break;
                case 2: cables.impair(link, other.impairment(), other.impairment()); break;
                default: static_cast<void>(cables.account(2 * link)); break;
            }
            std::this_thread::yield();
        }
    });
    std::uint64_t sent = 0, arrived = 0;
    std::array<char, 2 * FRAME_BYTES> frame{};
    for (long round = 0; round < rounds; ++round) {
        const std::size_t link = choose.below(LINKS), size = 1 + choose.below(FRAME_BYTES + 20);
        if (::send(choose.below(2) == 0 ? a[link].ours : b[link].ours, frame.data(), size, 0) > 0) ++sent;
        if (round % 7 == 0) arrived += drain(a[link].ours) + drain(b[link].ours);
    }
    over = true;
    meddler.join();
    for (std::size_t link = 0; link < LINKS; ++link) cables.impair(link, {}, {});
    Counts all;
    for (int patience = 0; patience < 30'000; ++patience) {
        for (std::size_t link = 0; link < LINKS; ++link) arrived += drain(a[link].ours) + drain(b[link].ours);
        all = {};
        for (std::size_t way = 0; way < 2 * LINKS; ++way) {
            const Counts one = cables.account(way).counts;
            all.frames += one.frames;
            all.delivered += one.delivered;
            all.duplicated += one.duplicated;
            all.corrupted += one.corrupted;
            all.lost += one.lost + one.lost_queue + one.lost_down;
            all.overruns += one.overruns;
            all.underway += one.underway;
        }
        if (all.frames == sent && all.underway == 0) break;
        ::usleep(1000);
    }
    cables.stop();
    loop.join();
    for (std::size_t link = 0; link < LINKS; ++link) arrived += drain(a[link].ours) + drain(b[link].ours);
    std::printf("%lu sent, %lu arrived, %lu lost, %lu changed, %lu overran\n", sent, arrived, all.lost,
                all.duplicated + all.corrupted, all.overruns);
    const bool whole = all.frames == sent && all.underway == 0 && all.delivered == arrived &&
                       all.frames + all.duplicated == all.delivered + all.lost + all.overruns;
    return whole ? 0 : 1;
}
