// Points of a few coordinates in a tree of bounding boxes, searched by what each coordinate may be.
//
// Nothing here knows filters. A point is a member (any number) with one coordinate per axis. The tree is static;
// who owns it decides when to build it anew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace cbn::cover {

// What a search accepts on one axis: what lies from `from` to `to`, or, if `outside`, what does not, and `points`.
struct Accept {
    std::uint64_t from = 0, to = ~std::uint64_t{0};
    bool outside = false;
    std::vector<std::uint64_t> points{};  // ascending; only with `outside`

    // Whether anything between `low` and `high`, both included, is accepted.
    [[nodiscard]] bool any(std::uint64_t low, std::uint64_t high) const noexcept {
        if (!outside) return low <= to && high >= from;
        if (low < from || high > to) return true;
        const auto point = std::lower_bound(points.begin(), points.end(), low);
        return point != points.end() && *point <= high;
    }
};

class Boxes {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] std::span<const std::uint32_t> members() const noexcept { return members_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return members_.capacity() * sizeof(std::uint32_t) + nodes_.capacity() * sizeof(Node) +
               (rows_.capacity() + bounds_.capacity()) * sizeof(std::uint64_t);
    }

    // `rows` holds the coordinates of member after member.
    void build(std::size_t axes, std::vector<std::uint32_t> members, std::vector<std::uint64_t> rows) {
        axes_ = axes;
        nodes_.clear();
        bounds_.clear();
        std::vector<std::uint32_t> order(members.size());
        std::iota(order.begin(), order.end(), 0U);
        if (!order.empty()) split(rows, order, 0, static_cast<std::uint32_t>(order.size()), 0);
        arrange(members, rows, order);
    }

    // Calls `visit(member)` for those that are accepted on all axes until it says true; whether it did.
    template <typename Visit>
    [[nodiscard]] bool search(std::span<const Accept> wanted, Visit&& visit) const {
        for (std::size_t at = 0; at < nodes_.size();) {
            const Node& node = nodes_[at];
            if (!may_hold(wanted, at)) {
                at = node.next;
                continue;
            }
            if (node.leaf && scan(wanted, node, visit)) return true;
            ++at;
        }
        return false;
    }

  private:
    static constexpr std::uint32_t LEAF = 8;

    // Nodes stand before their descendants; `next` is the one after the last of these.
    struct Node {
        std::uint32_t begin = 0, end = 0, next = 0;
        bool leaf = false;
    };

    void split(const std::vector<std::uint64_t>& rows, std::span<std::uint32_t> order, std::uint32_t begin,
               std::uint32_t end, std::size_t depth) {
        const std::size_t self = nodes_.size();
        nodes_.push_back({begin, end, 0, true});
        bound(rows, order.subspan(begin, end - begin));
        const std::size_t axis = end - begin > LEAF ? uneven_axis(self, depth) : axes_;
        if (axis < axes_) {
            nodes_[self].leaf = false;
            const std::uint32_t middle = begin + (end - begin) / 2;
            std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end,
                             [&](auto a, auto b) { return rows[a * axes_ + axis] < rows[b * axes_ + axis]; });
            split(rows, order, begin, middle, axis + 1);
            split(rows, order, middle, end, axis + 1);
        }
        nodes_[self].next = static_cast<std::uint32_t>(nodes_.size());
    }

    void bound(const std::vector<std::uint64_t>& rows, std::span<const std::uint32_t> order) {
        const std::size_t base = bounds_.size();
        bounds_.resize(base + 2 * axes_);
        for (std::size_t axis = 0; axis < axes_; ++axis) {
            std::uint64_t low = ~std::uint64_t{0}, high = 0;
            for (const std::uint32_t each : order) {
                low = std::min(low, rows[each * axes_ + axis]);
                high = std::max(high, rows[each * axes_ + axis]);
            }
            bounds_[base + 2 * axis] = low;
            bounds_[base + 2 * axis + 1] = high;
        }
    }

    // The first axis, from `start` on, on which the node's points differ; `axes_` if there is none.
    [[nodiscard]] std::size_t uneven_axis(std::size_t node, std::size_t start) const noexcept {
        for (std::size_t step = 0; step < axes_; ++step) {
            const std::size_t axis = (start + step) % axes_;
            const std::uint64_t* bound = &bounds_[(node * axes_ + axis) * 2];
            if (bound[0] != bound[1]) return axis;
        }
        return axes_;
    }

    void arrange(const std::vector<std::uint32_t>& members, const std::vector<std::uint64_t>& rows,
                 const std::vector<std::uint32_t>& order) {
        members_.resize(members.size());
        rows_.resize(rows.size());
        for (std::size_t at = 0; at < order.size(); ++at) {
            members_[at] = members[order[at]];
            std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(order[at] * axes_), axes_,
                        rows_.begin() + static_cast<std::ptrdiff_t>(at * axes_));
        }
    }

    [[nodiscard]] bool may_hold(std::span<const Accept> wanted, std::size_t node) const noexcept {
        const std::uint64_t* bound = bounds_.data() + node * axes_ * 2;
        for (std::size_t axis = 0; axis < axes_; ++axis, bound += 2) {
            if (!wanted[axis].any(bound[0], bound[1])) return false;
        }
        return true;
    }

    [[nodiscard]] bool accepts(std::span<const Accept> wanted, std::uint32_t row) const noexcept {
        const std::uint64_t* coordinate = rows_.data() + row * axes_;
        for (std::size_t axis = 0; axis < axes_; ++axis) {
            if (!wanted[axis].any(coordinate[axis], coordinate[axis])) return false;
        }
        return true;
    }

    template <typename Visit>
    [[nodiscard]] bool scan(std::span<const Accept> wanted, const Node& node, Visit&& visit) const {
        for (std::uint32_t row = node.begin; row < node.end; ++row) {
            if (accepts(wanted, row) && visit(members_[row])) return true;
        }
        return false;
    }

    std::size_t axes_ = 0;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint64_t> rows_;
    std::vector<Node> nodes_;
    std::vector<std::uint64_t> bounds_;
};

}  // namespace cbn::cover
