// Finds, among many filters, one that covers a given one.
//
// A tree of features: a filter is filed at the end of the path of the features it demands, the rarest first. What may
// cover f lies at the ends of the paths whose features f offers, all of them. There a group of filters that differ in
// their ranges alone is searched by these, and `covers` decides.
#pragma once

#include <deque>

#include "cover/features.hpp"
#include "cover/group.hpp"
#include "cover/map.hpp"

namespace cbn::cover {

class Index {
  public:
    Index() { nodes_.emplace_back(); }

    // Lets the index know how frequent features are before filters come; only the speed depends on it.
    void expect(const Form& form) {
        demanded_.see(form);
        demands(form, [&](Feature each) {
            const std::uint32_t id = intern(each);
            ++features_[id].rank;
        });
    }

    void add(std::uint32_t token, Items& items) {
        const Form& form = *items[token].form;
        demanded_.see(form);
        path_.clear();
        demands(form, [&](Feature each) { path_.push_back(intern(each)); });
        std::sort(path_.begin(), path_.end(), [&](auto a, auto b) { return rarer(a, b); });
        cut_path();
        std::uint32_t node = 0;
        for (const std::uint32_t feature : path_) node = child(node, feature);
        items[token].node = node;
        place(nodes_[node], token);
    }

    void remove(std::uint32_t token, const Items& items) noexcept {
        Node& node = nodes_[items[token].node];
        if (node.group != NONE) return groups_[node.group].lost_one();
        node.lone = NONE;
    }

    // The token of a filter that covers the form, or NONE.
    [[nodiscard]] std::uint32_t find(const Form& form, const Items& items) {
        look_up(form);
        found_ = NONE;
        static_cast<void>(visit(0, 0, form, items));
        for (const std::uint32_t feature : offered_) features_[feature].mark = 0;
        return found_;
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = ids_.bytes() + edges_.bytes() + nodes_.capacity() * sizeof(Node) +
                            features_.capacity() * sizeof(Known) + groups_.size() * sizeof(Group);
        for (const Group& group : groups_) total += group.bytes();
        return total;
    }

  private:
    static constexpr std::uint32_t FEW = 6;
    // A longer path ends here, in a group that is searched one by one: `visit` recurs along paths.
    static constexpr std::size_t PATH_MAX_FEATURES = 64;
    static constexpr Feature CUT = 2;  // the features of filters are odd

    struct Known {
        std::uint32_t rank = 0;  // how frequent when it was counted
        std::uint32_t mark = 0;  // its place, from 1, among what the form at hand offers
    };
    struct Node {
        std::uint32_t feature = NONE;
        std::uint32_t first = NONE, sibling = NONE, children = 0;
        std::uint32_t lone = NONE;   // the token filed here, if one
        std::uint32_t group = NONE;  // the group of those filed here, if more
    };

    [[nodiscard]] bool rarer(std::uint32_t a, std::uint32_t b) const noexcept {
        return features_[a].rank != features_[b].rank ? features_[a].rank < features_[b].rank : a < b;
    }

    std::uint32_t intern(Feature feature) {
        const auto fresh = static_cast<std::uint32_t>(features_.size());
        const std::uint32_t id = ids_.insert(feature, fresh);
        if (id == fresh) features_.emplace_back();
        return id;
    }

    void cut_path() {
        if (path_.size() <= PATH_MAX_FEATURES) return;
        path_.resize(PATH_MAX_FEATURES);
        path_.push_back(intern(CUT));
    }

    [[nodiscard]] static std::uint64_t edge(std::uint32_t node, std::uint32_t feature) noexcept {
        return (std::uint64_t{node} << 32 | feature) + 1;
    }

    std::uint32_t child(std::uint32_t node, std::uint32_t feature) {
        const auto fresh = static_cast<std::uint32_t>(nodes_.size());
        const std::uint32_t found = edges_.insert(edge(node, feature), fresh);
        if (found != fresh) return found;
        nodes_.push_back({feature, NONE, nodes_[node].first, 0, NONE, NONE});
        nodes_[node].first = fresh;
        ++nodes_[node].children;
        return fresh;
    }

    void place(Node& node, std::uint32_t token) {
        if (node.group == NONE && node.lone == NONE) {
            node.lone = token;
            return;
        }
        if (node.group == NONE) {
            node.group = static_cast<std::uint32_t>(groups_.size());
            groups_.emplace_back().add(node.lone);
        }
        groups_[node.group].add(token);
    }

    // Which of the known features the form offers, the rarest first.
    void look_up(const Form& form) {
        offered_.clear();
        const auto offer = [&](Feature each) {
            const std::uint32_t id = ids_.find(each);
            if (id == NONE || features_[id].mark != 0) return;
            features_[id].mark = 1;
            offered_.push_back(id);
        };
        offers(form, demanded_, offer);
        std::sort(offered_.begin(), offered_.end(), [&](auto a, auto b) { return rarer(a, b); });
        // The mark of where paths were cut comes last in them, whatever its rank.
        offer(CUT);
        std::uint32_t place = 0;
        for (const std::uint32_t feature : offered_) features_[feature].mark = ++place;
    }

    // Whether a cover was found at a node or below, following offered features from place `from` on.
    [[nodiscard]] bool visit(std::uint32_t at, std::uint32_t from, const Form& form, const Items& items) {
        if (found_at(nodes_[at], form, items)) return true;
        if (nodes_[at].children <= FEW) return visit_children(at, form, items);
        for (std::uint32_t place = from; place < offered_.size(); ++place) {
            const std::uint32_t next = edges_.find(edge(at, offered_[place]));
            if (next != NONE && visit(next, place + 1, form, items)) return true;
        }
        return false;
    }

    [[nodiscard]] bool visit_children(std::uint32_t at, const Form& form, const Items& items) {
        for (std::uint32_t next = nodes_[at].first; next != NONE; next = nodes_[next].sibling) {
            const std::uint32_t mark = features_[nodes_[next].feature].mark;
            if (mark != 0 && visit(next, mark, form, items)) return true;
        }
        return false;
    }

    [[nodiscard]] bool found_at(const Node& node, const Form& form, const Items& items) {
        const auto covering = [&](std::uint32_t token) {
            const bool found = items[token].form != nullptr && covers(*items[token].form, form);
            if (found) found_ = token;
            return found;
        };
        if (node.group == NONE) return node.lone != NONE && covering(node.lone);
        return groups_[node.group].search(form, items, axes_of, wanted_, covering);
    }

    // None for filters whose path was cut: they share only that much.
    [[nodiscard]] static std::vector<Axis> axes_of(const Form& form) {
        std::size_t features = 0;
        demands(form, [&](Feature) { ++features; });
        return features > PATH_MAX_FEATURES ? std::vector<Axis>{} : covering_axes(form);
    }

    NumberMap ids_;
    std::vector<Known> features_;
    NumberMap edges_;
    std::vector<Node> nodes_;
    std::deque<Group> groups_;
    Demanded demanded_;
    std::vector<std::uint32_t> path_, offered_;
    Wanted wanted_;
    std::uint32_t found_ = NONE;
};

}  // namespace cbn::cover
