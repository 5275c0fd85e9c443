// Which of many places is due first: by time, and at one time in the order in which they were put in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cbn::events {

struct Due {
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
    std::uint32_t place = 0;

    // Whether the other is due first: what std's heaps have at their top is then the first.
    [[nodiscard]] bool operator<(const Due& other) const noexcept {
        return time_ns != other.time_ns ? time_ns > other.time_ns : number > other.number;
    }
};

class Heap {
  public:
    [[nodiscard]] bool empty() const noexcept { return due_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return due_.size(); }
    [[nodiscard]] const Due& first() const noexcept { return due_.front(); }

    void push(std::int64_t time_ns, std::uint32_t place) {
        due_.push_back({time_ns, ++number_, place});
        std::push_heap(due_.begin(), due_.end());
    }

    std::uint32_t pop() noexcept {
        std::pop_heap(due_.begin(), due_.end());
        const std::uint32_t place = due_.back().place;
        due_.pop_back();
        return place;
    }

    // All, the first first.
    [[nodiscard]] std::vector<std::uint32_t> in_order() const {
        std::vector<Due> sorted(due_);
        std::sort(sorted.begin(), sorted.end(), [](const Due& a, const Due& b) { return b < a; });
        std::vector<std::uint32_t> places;
        for (const Due& each : sorted) places.push_back(each.place);
        return places;
    }

    // Leaves out the places that are marked.
    void drop(const std::vector<bool>& marked) {
        std::erase_if(due_, [&](const Due& each) { return marked[each.place]; });
        std::make_heap(due_.begin(), due_.end());
    }

  private:
    std::vector<Due> due_;
    std::uint64_t number_ = 0;
};

}  // namespace cbn::events
