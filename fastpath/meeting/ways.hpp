// Where descriptors and matches come from and go at one router: its trees, and the marks of its links (MM 2, 3.1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "meeting/key.hpp"

namespace cbn::meeting {

inline constexpr int OURS = -1;  // in the place of an interface: our own descriptors, and the matches made here

// Which sorts of descriptors a link carries, away from us and towards us.
struct Marks {
    bool published_out = false, wanted_out = false, published_in = false, wanted_in = false;

    [[nodiscard]] bool carries_out(bool published) const noexcept { return published ? published_out : wanted_out; }
    [[nodiscard]] bool carries_in(bool published) const noexcept { return published ? published_in : wanted_in; }
};

// Routers by id, ascending.
using Routers = std::vector<std::uint32_t>;

// What is asked of the trees only where it is needed. Both may throw.
class Shape {
  public:
    virtual ~Shape() = default;
    // The interfaces on which the descriptors of an owner may go on, whatever the marks.
    virtual std::vector<int> onward(std::uint32_t publisher, std::uint32_t subscriber) = 0;
    // The sources whose messages come by us, in groups, with the routers that these reach from here.
    virtual std::vector<std::pair<Routers, Routers>> groups() = 0;
};

class Ways {
  public:
    explicit Ways(std::uint32_t node) : node_(node) {}

    // The network is another now.
    void begin(Shape* shape) {
        shape_ = shape;
        next_.clear();
        towards_.clear();
        neighbours_.clear();
        onward_.clear();
        group_of_.clear();
        below_.clear();
        has_groups_ = false;
    }
    void add_router(std::uint32_t router, std::uint32_t next) { next_[router] = next; }
    // The interface on which to speak to a neighbour.
    void add_way(std::uint32_t neighbour, int interface) { towards_[neighbour] = interface; }
    void add_link(int interface, std::uint32_t neighbour) { neighbours_[interface] = neighbour; }

    [[nodiscard]] std::uint32_t node() const noexcept { return node_; }

    // The interface on which to send towards a router; none if it is we, or cannot be reached.
    [[nodiscard]] std::optional<int> towards(std::uint32_t router) const {
        const auto found = towards_.find(next_to(router));
        return found == towards_.end() ? std::nullopt : std::optional(found->second);
    }

    // Whether an interface leads to the neighbour that is next on the way to a router.
    [[nodiscard]] bool is_from(int interface, std::uint32_t router) const {
        const auto found = neighbours_.find(interface);
        return found != neighbours_.end() && found->second == next_to(router);
    }

    // Whether we are on the path from one to another.
    [[nodiscard]] bool is_between(std::uint32_t publisher, std::uint32_t subscriber) {
        if (publisher == node_) return next_.contains(subscriber);
        if (!has_groups_) read_groups();
        const auto group = group_of_.find(publisher);
        if (group == group_of_.end()) return false;
        return std::binary_search(below_[group->second].begin(), below_[group->second].end(), subscriber);
    }

    // The interfaces on which a descriptor may go on, whatever the marks, ascending.
    [[nodiscard]] const std::vector<int>& onward(const Key& key) {
        const std::uint64_t owner = std::uint64_t{key.publisher} << 32 | key.subscriber;
        const auto known = onward_.find(owner);
        if (known != onward_.end()) return known->second;
        std::vector<int> found = shape_ == nullptr ? std::vector<int>() : shape_->onward(key.publisher, key.subscriber);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return onward_.emplace(owner, std::move(found)).first->second;
    }

  private:
    [[nodiscard]] std::uint32_t next_to(std::uint32_t router) const {
        const auto found = next_.find(router);
        return found == next_.end() ? 0 : found->second;
    }

    void read_groups() {
        if (shape_ != nullptr) {
            for (auto& [sources, below] : shape_->groups()) {
                below.push_back(node_);
                std::sort(below.begin(), below.end());
                for (const std::uint32_t source : sources) {
                    group_of_[source] = static_cast<std::uint32_t>(below_.size());
                }
                below_.push_back(std::move(below));
            }
        }
        has_groups_ = true;
    }

    std::uint32_t node_;
    Shape* shape_ = nullptr;
    std::unordered_map<std::uint32_t, std::uint32_t> next_{}, group_of_{};
    std::unordered_map<std::uint32_t, int> towards_{};
    std::unordered_map<int, std::uint32_t> neighbours_{};
    std::unordered_map<std::uint64_t, std::vector<int>> onward_{};
    std::vector<Routers> below_{};
    bool has_groups_ = false;
};

}  // namespace cbn::meeting
