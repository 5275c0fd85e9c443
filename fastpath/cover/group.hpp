// Filters that are searched together by their axes: trees of boxes, each some times larger than the next, and the
// few filters that came since the last was built. Adding n filters costs O(n log^2 n) in all.
#pragma once

#include "cover/axes.hpp"

namespace cbn::cover {

// A filter in an index. Tokens are places in the index's list of these; one that was removed has no form.
struct Item {
    const Form* form = nullptr;
    std::uint32_t owner = 0;  // what the index's user calls it
    std::uint32_t node = 0;   // where the index has filed it
};
using Items = std::vector<Item>;

class Group {
  public:
    void add(std::uint32_t token) {
        recent_.push_back(token);
        ++size_;
    }
    void lost_one() noexcept {
        --size_;
        ++lost_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = recent_.capacity() * sizeof(std::uint32_t) + trees_.capacity() * sizeof(Tree);
        for (const Tree& tree : trees_) total += tree.boxes.bytes() + tree.axes.capacity() * sizeof(Axis);
        return total;
    }

    // Calls `visit(token)` for members that may cover, or be covered by, the form until it says true; whether it
    // did. `axes(form)` are those by which a form, one of the members, is filed. `wanted` is scratch.
    template <typename Axes, typename Visit>
    [[nodiscard]] bool search(const Form& form, const Items& items, Axes&& axes, Wanted& wanted, Visit&& visit) {
        settle(items, axes);
        if (std::any_of(recent_.begin(), recent_.end(), visit)) return true;
        return std::any_of(trees_.begin(), trees_.end(), [&](const Tree& tree) {
            put_wanted(wanted, tree.axes, form);
            return tree.boxes.search(wanted, visit);
        });
    }

  private:
    static constexpr std::size_t RECENT_MAX = 32;
    static constexpr std::size_t GROWTH = 3;

    struct Tree {
        std::vector<Axis> axes{};
        Boxes boxes{};
    };

    template <typename Axes>
    void settle(const Items& items, Axes&& axes) {
        const bool worn = lost_ > RECENT_MAX + size_;
        if (recent_.size() <= RECENT_MAX && !worn) return;
        std::vector<std::uint32_t> members;
        const auto take = [&](std::span<const std::uint32_t> tokens) {
            std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(members),
                         [&](std::uint32_t token) { return items[token].form != nullptr; });
        };
        take(recent_);
        recent_.clear();
        while (!trees_.empty() && (worn || trees_.back().boxes.members().size() < GROWTH * members.size())) {
            take(trees_.back().boxes.members());
            trees_.pop_back();
        }
        if (worn) lost_ = 0;
        if (!members.empty()) trees_.push_back(planted(items, members, axes(*items[members.front()].form)));
    }

    [[nodiscard]] static Tree planted(const Items& items, const std::vector<std::uint32_t>& members,
                                      std::vector<Axis> axes) {
        std::vector<Position> positions(members.size() * axes.size());
        for (std::size_t at = 0; at < members.size(); ++at) {
            for (std::size_t axis = 0; axis < axes.size(); ++axis) {
                positions[at * axes.size() + axis] = axes[axis].position(*items[members[at]].form);
            }
        }
        std::vector<std::uint64_t> rows(positions.size());
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            axes[axis].skipped = shared_start(positions, axis, axes.size());
            for (std::size_t at = axis; at < rows.size(); at += axes.size()) {
                rows[at] = axes[axis].oriented(axes[axis].coordinate(positions[at]));
            }
        }
        Tree tree{std::move(axes), {}};
        tree.boxes.build(sorts_of(tree.axes), members, rows);
        return tree;
    }

    [[nodiscard]] static std::string shared_start(const std::vector<Position>& positions, std::size_t axis,
                                                  std::size_t axes) {
        std::string_view shared = positions[axis].text;
        for (std::size_t at = axis; at < positions.size() && !shared.empty(); at += axes) {
            const std::string_view text = positions[at].text;
            const auto [end, _] = std::mismatch(shared.begin(), shared.end(), text.begin(), text.end());
            shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
        }
        return std::string(shared);
    }

    std::vector<std::uint32_t> recent_;
    std::vector<Tree> trees_;
    std::size_t size_ = 0, lost_ = 0;
};

}  // namespace cbn::cover
