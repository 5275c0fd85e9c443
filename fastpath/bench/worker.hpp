// One thread of a benchmark: runs over the messages, timed as a whole and one by one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/messages.hpp"
#include "bench/table.hpp"

namespace cbn::bench {

inline std::int64_t now_ns() noexcept {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// What two readings of the clock cost: the least that was ever seen, so that never too much is subtracted.
inline std::int64_t clock_cost_ns() noexcept {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 2000; ++i) {
        const std::int64_t start = now_ns();
        least = std::min(least, now_ns() - start);
    }
    return least;
}

struct Settings {
    std::uint64_t seed = 1;
    std::uint32_t threads = 1;
    std::uint32_t fresh = 0;  // percent of the strings
    bool cold = false;
};

// What all threads share.
struct Subject {
    TablePointer table;
    const MessageList* messages = nullptr;
    std::unique_ptr<const KnownStrings> known;  // only if there are to be fresh strings
    Settings settings;
    std::int64_t clock_ns = 0;
};

class Worker {
  public:
    Worker(const Subject& subject, std::uint32_t number) : subject_(subject), number_(number) {
        best_ns_.assign(subject.messages->packets.size(), std::numeric_limits<std::int64_t>::max());
    }

    // The messages of one pass of one repeat: always the same, or with strings that are new each time.
    const MessageList& messages(std::uint32_t repeat, std::size_t pass, MessageList& made) const {
        const Settings& settings = subject_.settings;
        if (settings.fresh == 0) return *subject_.messages;
        const std::string purpose =
            "fresh " + std::to_string(number_) + " " + std::to_string(repeat) + " " + std::to_string(pass);
        Random random(settings.seed, purpose);
        make_fresh(*subject_.messages, settings.fresh, *subject_.known, random, made);
        return made;
    }

    // Makes ready what `run` is to match.
    void prepare(std::uint32_t repeat, std::size_t first, std::size_t passes) {
        made_.resize(subject_.settings.fresh == 0 ? 0 : passes);
        block_.clear();
        MessageList none;
        for (std::size_t i = 0; i < passes; ++i) {
            block_.push_back(&messages(repeat, first + i, made_.empty() ? none : made_[i]));
        }
    }

    // All that was prepared, one message after the other: when it began and ended.
    std::pair<std::int64_t, std::int64_t> run() {
        const std::int64_t start = now_ns();
        for (const MessageList* list : block_) {
            for (std::size_t at = 0; at < list->packets.size(); ++at) {
                found_ += match(list->packets.at(at));
            }
        }
        return {start, now_ns()};
    }

    // The interfaces of one message, in any order; valid until the next.
    const std::vector<std::uint32_t>& interfaces(wire::Bytes packet) {
        match(packet);
        return scratch_.matched;
    }

    // Each message of a pass by itself, in their order; returns the sum of the times.
    std::int64_t run_singly(std::uint32_t repeat) {
        MessageList made;
        const MessageList& list = messages(repeat, 0, made);
        std::int64_t sum = 0;
        for (std::size_t at = 0; at < list.packets.size(); ++at) {
            const std::int64_t taken = time_one(list.packets.at(at));
            best_ns_[at] = std::min(best_ns_[at], taken);
            sum += taken;
        }
        return sum;
    }

    // By message, the least time over all repeats.
    [[nodiscard]] const std::vector<std::int64_t>& best_ns() const noexcept { return best_ns_; }

  private:
    std::size_t match(wire::Bytes packet) {
        match_one(*subject_.table, packet, scratch_);
        return scratch_.matched.size();
    }

    std::int64_t time_one(wire::Bytes packet) {
        if (subject_.settings.cold) {
            if (!flush_) flush_ = std::make_unique<CacheFlusher>();
            (*flush_)();
            CacheFlusher::warm(packet);
        }
        const std::int64_t start = now_ns();
        found_ += match(packet);
        return std::max<std::int64_t>(0, now_ns() - start - subject_.clock_ns);
    }

    const Subject& subject_;
    std::uint32_t number_;
    Scratch scratch_;
    std::vector<const MessageList*> block_;
    std::vector<MessageList> made_;
    std::vector<std::int64_t> best_ns_;
    std::unique_ptr<CacheFlusher> flush_;
    std::uint64_t found_ = 0;  // so that no match can be left out as useless
};

}  // namespace cbn::bench
