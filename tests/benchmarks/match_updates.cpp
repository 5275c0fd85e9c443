// How matching fares while filters come and go: one thread matches, another replaces filters at a rate.
//
//   match_updates FILTERS MESSAGES filters interfaces updates_per_s batch seconds
//
// The first `filters` lines of FILTERS are the table (interface: line modulo `interfaces`), the rest are what
// replaces them. An update is a removal or an addition; `batch` of them make a commit. First nothing changes,
// then things change at the rate: twice. Says what was reached; judges nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fib/table.hpp"
#include "workload/workload.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Reader>
void read(const char* path, Reader& reader) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    reader.feed({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    reader.finish();
}

// Matches until told to stop, and keeps how long each match took.
class Matcher {
  public:
    Matcher(const cbn::Table& table, const cbn::workload::Pieces& messages)
        : thread_([this, &table, &messages] { run(table, messages); }) {}

    void finish(const char* what) {
        stop_ = true;
        thread_.join();
        std::sort(took_us_.begin(), took_us_.end());
        double sum = 0;
        for (const float each : took_us_) sum += each;
        const auto size = static_cast<double>(took_us_.size());
        std::printf("  %-8s %10.0f matches, mean %.2f us, p50 %.2f, p99 %.2f, p99.9 %.2f\n", what, size, sum / size,
                    at(0.5), at(0.99), at(0.999));
    }

  private:
    void run(const cbn::Table& table, const cbn::workload::Pieces& messages) {
        cbn::Scratch scratch;
        took_us_.reserve(std::size_t{1} << 25);
        for (std::size_t number = 0; !stop_ && took_us_.size() < took_us_.capacity(); ++number) {
            const auto start = Clock::now();
            const cbn::TablePointer index = table.current();
            cbn::wire::MessageView message;
            if (!cbn::wire::parse_message(messages.at(number % messages.size()), message).ok()) std::abort();
            if (!index->match(message, nullptr, cbn::NOWHERE, scratch).ok()) std::abort();
            took_us_.push_back(static_cast<float>(seconds_since(start) * 1e6));
        }
    }

    [[nodiscard]] double at(double share) const {
        return took_us_[static_cast<std::size_t>(share * static_cast<double>(took_us_.size() - 1))];
    }

    std::atomic<bool> stop_{false};
    std::vector<float> took_us_;
    std::thread thread_;
};

struct Setting {
    std::size_t filters, interfaces;
    double updates_per_s;
    std::size_t batch;
    double seconds;
};

class Writer {
  public:
    Writer(cbn::Table& table, const cbn::workload::Pieces& filters, const Setting& setting)
        : table_(table), filters_(filters), setting_(setting), spare_(setting.filters) {
        for (std::size_t line = 0; line < setting.filters; ++line) ids_.push_back(add(line, line));
        table.commit();
    }

    void run() {
        const auto start = Clock::now();
        double busy = 0, worst_ms = 0;
        std::size_t done = 0;
        for (; seconds_since(start) < setting_.seconds; done += setting_.batch) {
            const std::chrono::duration<double> due(static_cast<double>(done) / setting_.updates_per_s);
            std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
            const auto begun = Clock::now();
            for (std::size_t pair = 0; pair < setting_.batch / 2; ++pair) replace_one();
            const auto changed = Clock::now();
            table_.commit();
            worst_ms = std::max(worst_ms, seconds_since(changed) * 1e3);
            busy += seconds_since(begun);
        }
        const double lasted = seconds_since(start);
        std::printf("  %.0f updates/s of %.0f asked, writer busy %.0f %%, longest commit %.1f ms\n",
                    static_cast<double>(done) / lasted, setting_.updates_per_s, 100 * busy / lasted, worst_ms);
    }

  private:
    std::uint64_t add(std::size_t place, std::size_t line) {
        return table_.add(static_cast<std::uint32_t>(place % setting_.interfaces), filters_.at(line));
    }

    void replace_one() {
        const std::size_t place = random_() % ids_.size();
        if (!table_.remove(ids_[place])) std::abort();
        ids_[place] = add(place, spare_);
        if (++spare_ == filters_.size()) spare_ = setting_.filters;
    }

    cbn::Table& table_;
    const cbn::workload::Pieces& filters_;
    Setting setting_;
    std::size_t spare_;
    std::vector<std::uint64_t> ids_;
    std::mt19937_64 random_{1};
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 8) {
        std::fprintf(stderr, "usage: match_updates FILTERS MESSAGES filters interfaces updates_per_s batch seconds\n");
        return 2;
    }
    cbn::workload::FilterReader filters;
    cbn::workload::MessageReader messages;
    read(arguments[1], filters);
    read(arguments[2], messages);
    const Setting setting{std::strtoull(arguments[3], nullptr, 10), std::strtoull(arguments[4], nullptr, 10),
                          std::strtod(arguments[5], nullptr), std::strtoull(arguments[6], nullptr, 10),
                          std::strtod(arguments[7], nullptr)};
    if (setting.filters == 0 || setting.filters >= filters.list.filters.size() || setting.interfaces == 0) return 2;
    cbn::Table table;
    Writer writer(table, filters.list.filters, setting);
    for (int turn = 0; turn < 2; ++turn) {
        std::printf("%zu filters, %zu interfaces, commits of %zu\n", setting.filters, setting.interfaces, setting.batch);
        Matcher idle(table, messages.list.packets);
        std::this_thread::sleep_for(std::chrono::duration<double>(setting.seconds));
        idle.finish("idle");
        Matcher matcher(table, messages.list.packets);
        writer.run();
        matcher.finish("updated");
    }
    const cbn::TableStats stats = table.current()->stats();
    std::printf("%.2f bytes a constraint at the end\n",
                static_cast<double>(stats.bytes) / static_cast<double>(stats.constraints));
}
