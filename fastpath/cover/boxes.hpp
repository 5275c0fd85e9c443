// Points of a few coordinates in a tree of bounding boxes, searched by what each coordinate may be.
//
// Nothing here knows filters. A point is a member (any number) with one coordinate per axis. On the first axes a
// search wants no more than some number, on the next what lies apart from some range, on the last some bits. The
// tree is static; who owns it decides when to build it anew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace cbn::cover {

// What a search accepts on an axis of the second sort: what does not lie from `from` to `to`, and `points`.
struct Apart {
    std::uint64_t from = 1, to = 0;
    std::vector<std::uint64_t> points{};  // ascending

    // Whether anything between `low` and `high`, both included, is accepted.
    [[nodiscard]] bool any(std::uint64_t low, std::uint64_t high) const noexcept {
        if (low < from || high > to) return true;
        const auto point = std::lower_bound(points.begin(), points.end(), low);
        return point != points.end() && *point <= high;
    }
};

// What a search accepts: at most `most[i]` on axis i, then what is apart, then what has all bits of a mark.
struct Wanted {
    std::vector<std::uint64_t> most{};
    std::vector<Apart> apart{};
    std::vector<std::uint64_t> marks{};

    void clear() noexcept {
        most.clear();
        apart.clear();
        marks.clear();
    }
};

// How many axes of each sort there are.
struct Sorts {
    std::size_t most = 0, apart = 0, marks = 0;

    [[nodiscard]] std::size_t total() const noexcept { return most + apart + marks; }
};

class Boxes {
  public:
    [[nodiscard]] std::span<const std::uint32_t> members() const noexcept { return members_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return members_.capacity() * sizeof(std::uint32_t) + nodes_.capacity() * sizeof(Node) +
               (rows_.capacity() + least_.capacity() + extents_.capacity() + marks_.capacity()) * sizeof(std::uint64_t);
    }

    // `rows` holds the coordinates of member after member, by the sorts of the axes.
    void build(const Sorts& sorts, const std::vector<std::uint32_t>& members, const std::vector<std::uint64_t>& rows) {
        sorts_ = sorts;
        axes_ = sorts.total();
        std::vector<std::uint32_t> order(members.size());
        std::iota(order.begin(), order.end(), 0U);
        if (!order.empty()) split(rows, order, 0, static_cast<std::uint32_t>(order.size()), 0);
        arrange(members, rows, order);
    }

    // Calls `visit(member)` for those that are accepted on all axes until it says true; whether it did.
    template <typename Visit>
    [[nodiscard]] bool search(const Wanted& wanted, Visit&& visit) const {
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
               std::uint32_t end, std::size_t start) {
        const std::size_t self = nodes_.size();
        nodes_.push_back({begin, end, 0, true});
        const std::size_t axis = bound(rows, order.subspan(begin, end - begin), start);
        if (end - begin > LEAF && axis < axes_) {
            nodes_[self].leaf = false;
            const std::uint32_t middle = begin + (end - begin) / 2;
            std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end,
                             [&](auto a, auto b) { return rows[a * axes_ + axis] < rows[b * axes_ + axis]; });
            split(rows, order, begin, middle, axis + 1);
            split(rows, order, middle, end, axis + 1);
        }
        nodes_[self].next = static_cast<std::uint32_t>(nodes_.size());
    }

    // Notes the bounds of a node. The first axis to split, from `start` on, that tells its points apart, or `axes_`.
    [[nodiscard]] std::size_t bound(const std::vector<std::uint64_t>& rows, std::span<const std::uint32_t> order,
                                    std::size_t start) {
        std::size_t uneven = axes_, distance = axes_;
        for (std::size_t axis = 0; axis < axes_; ++axis) {
            std::uint64_t low = ~std::uint64_t{0}, high = 0, marks = 0;
            for (const std::uint32_t each : order) {
                const std::uint64_t coordinate = rows[each * axes_ + axis];
                low = std::min(low, coordinate);
                high = std::max(high, coordinate);
                marks |= coordinate;
            }
            note_bound(axis, low, high, marks);
            const std::size_t ahead = (axis + axes_ - start % axes_) % axes_;
            if (low == high || ahead >= distance || axis >= sorts_.most + sorts_.apart) continue;
            uneven = axis;
            distance = ahead;
        }
        return uneven;
    }

    void note_bound(std::size_t axis, std::uint64_t low, std::uint64_t high, std::uint64_t marks) {
        if (axis < sorts_.most) return least_.push_back(low);
        if (axis >= sorts_.most + sorts_.apart) return marks_.push_back(marks);
        extents_.push_back(low);
        extents_.push_back(high);
    }

    void arrange(const std::vector<std::uint32_t>& members, const std::vector<std::uint64_t>& rows,
                 const std::vector<std::uint32_t>& order) {
        members_.reserve(members.size());
        rows_.reserve(rows.size());
        for (const std::uint32_t at : order) {
            members_.push_back(members[at]);
            const auto row = rows.begin() + static_cast<std::ptrdiff_t>(at * axes_);
            rows_.insert(rows_.end(), row, row + static_cast<std::ptrdiff_t>(axes_));
        }
    }

    [[nodiscard]] bool within(const Wanted& wanted, const std::uint64_t* coordinates) const noexcept {
        const std::uint64_t* most = wanted.most.data();
        for (std::size_t axis = 0; axis < sorts_.most; ++axis) {
            if (coordinates[axis] > most[axis]) return false;
        }
        return true;
    }

    [[nodiscard]] bool marked(const Wanted& wanted, const std::uint64_t* marks) const noexcept {
        for (std::size_t axis = 0; axis < sorts_.marks; ++axis) {
            if ((wanted.marks[axis] & ~marks[axis]) != 0) return false;
        }
        return true;
    }

    [[nodiscard]] bool may_hold(const Wanted& wanted, std::size_t node) const noexcept {
        if (!within(wanted, least_.data() + node * sorts_.most)) return false;
        const std::uint64_t* extent = extents_.data() + node * 2 * sorts_.apart;
        for (std::size_t axis = 0; axis < sorts_.apart; ++axis, extent += 2) {
            if (!wanted.apart[axis].any(extent[0], extent[1])) return false;
        }
        return marked(wanted, marks_.data() + node * sorts_.marks);
    }

    [[nodiscard]] bool accepts(const Wanted& wanted, std::uint32_t row) const noexcept {
        const std::uint64_t* coordinates = rows_.data() + row * axes_;
        if (!within(wanted, coordinates)) return false;
        coordinates += sorts_.most;
        for (std::size_t axis = 0; axis < sorts_.apart; ++axis, ++coordinates) {
            if (!wanted.apart[axis].any(*coordinates, *coordinates)) return false;
        }
        return marked(wanted, coordinates);
    }

    template <typename Visit>
    [[nodiscard]] bool scan(const Wanted& wanted, const Node& node, Visit&& visit) const {
        for (std::uint32_t row = node.begin; row < node.end; ++row) {
            if (accepts(wanted, row) && visit(members_[row])) return true;
        }
        return false;
    }

    Sorts sorts_{};
    std::size_t axes_ = 0;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint64_t> rows_;
    std::vector<Node> nodes_;
    std::vector<std::uint64_t> least_, extents_, marks_;  // of node after node
};

}  // namespace cbn::cover
