// Times a forwarding table on a list of messages. docs/benchmarks.md says how, and why so.
//
// A repeat runs over the messages in blocks of whole passes, some 2 ms each, and times the blocks by their wall time:
// the mean. Then each message is timed by itself: their distribution. Of both, the least ever seen counts.
#pragma once

#include <barrier>
#include <deque>
#include <exception>
#include <thread>

#include "bench/worker.hpp"

namespace cbn::bench {

struct Answer {
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
};

// FNV-like over the sorted interfaces, one step an interface.
inline Answer answer_of(std::vector<std::uint32_t> interfaces) {
    std::sort(interfaces.begin(), interfaces.end());
    Answer answer{interfaces.size(), 1469598103934665603U};
    for (const std::uint32_t each : interfaces) answer.digest = (answer.digest ^ each) * 1099511628211U;
    return answer;
}

class Bench {
  public:
    static constexpr std::int64_t BLOCK_NS = 2'000'000;  // short enough to be spared by other processes at times
    static constexpr std::size_t BLOCKS = 10;
    static constexpr std::size_t SINGLY = 5;  // passes a repeat in which messages are timed by themselves, at most
    static constexpr std::size_t FRESH_BYTES = 1U << 20;  // of fresh messages made ahead: small beside a cache

    Bench(TablePointer table, const workload::FilterList& filters, const MessageList& messages, const Settings& settings)
        : subject_{std::move(table), &messages, {}, settings, clock_cost_ns()} {
        if (settings.fresh > 0) subject_.known = std::make_unique<const KnownStrings>(filters);
        for (std::uint32_t i = 0; i < settings.threads; ++i) workers_.emplace_back(subject_, i);
    }

    // What the table answers, by message; of fresh ones to those of the first pass.
    std::vector<Answer> answers() {
        std::vector<Answer> found;
        MessageList made;
        const MessageList& list = workers_.front().messages(0, 0, made);
        for (std::size_t at = 0; at < list.packets.size(); ++at) {
            found.push_back(answer_of(workers_.front().interfaces(list.packets.at(at))));
        }
        return found;
    }

    // Measures once; the mean time of a message, by the best block of this repeat.
    double repeat() {
        const double mean = subject_.settings.cold ? repeat_cold() : repeat_warm();
        best_mean_ns_ = repeats_ == 0 ? mean : std::min(best_mean_ns_, mean);
        ++repeats_;
        return mean;
    }

    [[nodiscard]] double mean_ns() const noexcept { return best_mean_ns_; }

    // Ascending: by message and thread, the least time over all repeats.
    [[nodiscard]] std::vector<std::int64_t> times_ns() const {
        std::vector<std::int64_t> all;
        for (const Worker& each : workers_) all.insert(all.end(), each.best_ns().begin(), each.best_ns().end());
        std::sort(all.begin(), all.end());
        return all;
    }

  private:
    [[nodiscard]] std::size_t per_pass() const noexcept { return subject_.messages->packets.size(); }

    double repeat_cold() {
        return static_cast<double>(workers_.front().run_singly(repeats_)) / static_cast<double>(per_pass());
    }

    double repeat_warm() {
        if (repeats_ == 0) plan_blocks();
        std::barrier<> together(static_cast<std::ptrdiff_t>(workers_.size()));
        std::vector<std::exception_ptr> failures(workers_.size());
        spans_.assign(workers_.size(), {});
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < workers_.size(); ++i) {
            others.emplace_back([&, i] { work(i, together, failures[i]); });
        }
        work(0, together, failures[0]);
        others.clear();  // waits for them
        for (const std::exception_ptr& failure : failures) {
            if (failure) std::rethrow_exception(failure);
        }
        return least_wall_ns() / static_cast<double>(passes_ * per_pass() * workers_.size());
    }

    // By a first pass, which also warms up. What takes long needs no ten blocks to be measured well.
    void plan_blocks() {
        Worker& worker = workers_.front();
        worker.prepare(repeats_, 0, 1);
        const auto [start, stop] = worker.run();
        const std::int64_t pass_ns = std::max<std::int64_t>(1, stop - start);
        passes_ = static_cast<std::size_t>(BLOCK_NS / pass_ns) + 1;
        if (subject_.settings.fresh > 0) {
            passes_ = std::min(passes_, std::max<std::size_t>(1, FRESH_BYTES / subject_.messages->packets.bytes()));
        }
        const std::int64_t block_ns = pass_ns * static_cast<std::int64_t>(passes_);
        blocks_ = std::clamp<std::size_t>(static_cast<std::size_t>(BLOCKS * BLOCK_NS / block_ns), 1, 2 * BLOCKS);
    }

    void work(std::size_t number, std::barrier<>& together, std::exception_ptr& failure) {
        try {
            if (repeats_ == 0 && number > 0) warm_up(number);
            for (std::size_t block = 0; block < blocks_; ++block) {
                workers_[number].prepare(repeats_, block * passes_, passes_);
                together.arrive_and_wait();
                spans_[number].push_back(workers_[number].run());
            }
            together.arrive_and_wait();
            for (std::size_t left = std::min(blocks_, SINGLY); left > 0; --left) workers_[number].run_singly(repeats_);
        } catch (...) {
            failure = std::current_exception();
            together.arrive_and_drop();
        }
    }

    // The first has done so while the blocks were planned.
    void warm_up(std::size_t number) {
        workers_[number].prepare(repeats_, 0, 1);
        static_cast<void>(workers_[number].run());
    }

    // Of all blocks, the shortest from when the first thread began it to when the last had done it.
    [[nodiscard]] double least_wall_ns() const noexcept {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::size_t block = 0; block < blocks_; ++block) {
            auto [start, stop] = spans_.front()[block];
            for (const auto& thread : spans_) {
                start = std::min(start, thread[block].first);
                stop = std::max(stop, thread[block].second);
            }
            least = std::min(least, stop - start);
        }
        return static_cast<double>(least);
    }

    Subject subject_;
    std::deque<Worker> workers_;  // they stay where they are
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> spans_;  // by thread and block
    std::size_t passes_ = 0;  // of a block
    std::size_t blocks_ = 0;  // of a repeat
    std::uint32_t repeats_ = 0;
    double best_mean_ns_ = 0;
};

}  // namespace cbn::bench
