// Shortest-path trees of all roots of one graph, and what sources look like from a node (RTE 3.2).
//
// Nodes are positions 0..n-1. A link has a cost and a tie-breaker; lengths are compared by cost, then by the
// sum of tie-breakers, and the caller sees to it that no two paths are equal in both (E7). Trees are computed
// when first asked for.
//
// Notation as in the paper: T_v is the tree of v, T_v/u the nodes of it that are at or below u. With unique
// symmetric paths, the child of u by which T_v reaches a node x is u's own first hop towards x, whatever v is:
// so what u sees of a source is the set of nodes below u in its tree, and no more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace cbn::trees {

using Node = std::uint32_t;
using Nodes = std::vector<Node>;

struct Length {
    std::uint64_t cost = 0;     // of fewer than 2^32 links
    unsigned __int128 tie = 0;  // of fewer than 2^64

    friend bool operator==(const Length&, const Length&) = default;
    friend auto operator<=>(const Length&, const Length&) = default;
};

struct Link {
    Node to;
    std::uint32_t cost;
    std::uint64_t tie;
};

// By node: the one before it on the path from the root, and the one after the root. The root's are its own.
struct Tree {
    Nodes parent;
    Nodes first;
};

// A tree in preorder: what is at or below a node is the stretch of `order` that begins `at` it.
struct Shape {
    Nodes order;
    Nodes at;
    Nodes size;

    [[nodiscard]] std::span<const Node> below(Node node) const {
        return std::span(order).subspan(at[node] + 1, size[node] - 1);
    }
};

struct Group {
    Nodes sources;
    Nodes below;
};

class Forest {
  public:
    explicit Forest(std::size_t count) : links_(count), trees_(count), shapes_(count), rewriters_(count) {}

    void join(Node a, Node b, std::uint32_t cost, std::uint64_t tie) {
        links_[a].push_back({b, cost, tie});
        links_[b].push_back({a, cost, tie});
    }

    [[nodiscard]] std::size_t count() const noexcept { return links_.size(); }

    // A node that cannot be reached from node 0; 0 if there is none.
    [[nodiscard]] Node stranded() const {
        std::vector<bool> reached(count());
        reached[0] = true;
        for (Nodes waiting{0}; !waiting.empty();) {
            const Node node = waiting.back();
            waiting.pop_back();
            for (const Link& link : links_[node]) {
                if (!reached[link.to]) waiting.push_back(link.to);
                reached[link.to] = true;
            }
        }
        const auto found = std::find(reached.begin(), reached.end(), false);
        return found == reached.end() ? 0 : static_cast<Node>(found - reached.begin());
    }

    const Tree& tree(Node root) {
        if (!trees_[root]) trees_[root] = std::make_unique<Tree>(dijkstra(root));
        return *trees_[root];
    }

    Nodes path(Node source, Node target) {
        const Nodes& parent = tree(source).parent;
        Nodes found{target};
        while (found.back() != source) found.push_back(parent[found.back()]);
        std::reverse(found.begin(), found.end());
        return found;
    }

    // By source: the children of a node in its tree, ascending. w is one if its first hop back is the node.
    std::vector<Nodes> children(Node node) {
        std::vector<Nodes> found(count());
        for (const Node neighbour : neighbours(node)) {
            const Nodes& first = tree(neighbour).first;
            for (Node source = 0; source < count(); ++source) {
                if (first[source] == node && source != neighbour) found[source].push_back(neighbour);
            }
        }
        return found;
    }

    // Sources that are indistinguishable at a node, together, and what is below the node in their trees (T3).
    std::vector<Group> groups(Node node) {
        std::map<std::vector<std::uint64_t>, std::size_t> known;
        std::vector<Group> found;
        for (Node source = 0; source < count(); ++source) {
            const auto below = shape(source).below(node);
            std::vector<std::uint64_t> members((count() + 63) / 64);
            for (const Node each : below) members[each / 64] |= std::uint64_t{1} << (each % 64);
            const auto [at, is_new] = known.try_emplace(std::move(members), found.size());
            if (is_new) found.push_back({{}, sorted(below)});
            found[at->second].sources.push_back(source);
        }
        return found;
    }

    // By source: whether a node may rewrite the header of its messages to itself: R_u(I_u(v)) (E12).
    std::vector<std::uint8_t> rewrites(Node node) {
        std::vector<std::uint8_t> found;
        for (Node source = 0; source < count(); ++source) found.push_back(rewriters(source)[node]);
        return found;
    }

    // By source: the header with which its messages come to a node: the last rewriter before it, or the source.
    Nodes headers(Node node) {
        Nodes found;
        for (Node source = 0; source < count(); ++source) found.push_back(last_rewriter(source, node));
        return found;
    }

  private:
    std::vector<std::vector<Link>> links_;
    std::vector<std::unique_ptr<Tree>> trees_;
    std::vector<std::unique_ptr<Shape>> shapes_;
    std::vector<std::vector<bool>> rewriters_;

    static Nodes sorted(std::span<const Node> nodes) {
        Nodes found(nodes.begin(), nodes.end());
        std::sort(found.begin(), found.end());
        return found;
    }

    Nodes neighbours(Node node) const {
        Nodes found;
        for (const Link& link : links_[node]) found.push_back(link.to);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    const Shape& shape(Node root) {
        if (!shapes_[root]) shapes_[root] = std::make_unique<Shape>(preorder(tree(root).parent, root));
        return *shapes_[root];
    }

    // By node: whether it may rewrite the header of the source's messages.
    const std::vector<bool>& rewriters(Node source) {
        std::vector<bool>& found = rewriters_[source];
        if (found.empty()) {
            for (Node node = 0; node < count(); ++node) found.push_back(stays_same(source, node));
        }
        return found;
    }

    // From the end of the path back to its source, the first that rewrites; the source itself is the last resort.
    Node last_rewriter(Node source, Node node) {
        const Nodes& parent = tree(source).parent;
        for (Node at = parent[node]; at != source; at = parent[at]) {
            if (rewriters(source)[at]) return at;
        }
        return source;
    }

    // Whether the source and the node are indistinguishable to all that is below the node in the source's tree.
    // There, what is below a third node in the tree of the source is so in the tree of the node, as any part
    // of a shortest path is one: the sets are equal if they are equally many.
    bool stays_same(Node source, Node node) {
        const Shape& ours = shape(node);
        const Shape& theirs = shape(source);
        const auto below = theirs.below(node);
        return std::all_of(below.begin(), below.end(),
                           [&](Node each) { return ours.size[each] == theirs.size[each]; });
    }

    Tree dijkstra(Node root) const {
        struct Reached {
            Length length;
            Node node;
            bool operator>(const Reached& other) const { return length > other.length; }
        };
        Tree tree{Nodes(count(), root), Nodes(count(), root)};
        std::vector<Length> lengths(count());
        std::vector<bool> known(count());
        std::priority_queue<Reached, std::vector<Reached>, std::greater<>> waiting;
        known[root] = true;
        waiting.push({{}, root});
        while (!waiting.empty()) {
            const auto [length, node] = waiting.top();
            waiting.pop();
            if (length != lengths[node]) continue;
            for (const Link& link : links_[node]) {
                const Length further{length.cost + link.cost, length.tie + link.tie};
                if (known[link.to] && further >= lengths[link.to]) continue;
                known[link.to] = true;
                lengths[link.to] = further;
                tree.parent[link.to] = node;
                tree.first[link.to] = node == root ? link.to : tree.first[node];
                waiting.push({further, link.to});
            }
        }
        return tree;
    }

    static Shape preorder(const Nodes& parent, Node root) {
        const std::size_t count = parent.size();
        std::vector<Nodes> children(count);
        for (Node node = 0; node < count; ++node) {
            if (node != root) children[parent[node]].push_back(node);
        }
        Shape shape{{}, Nodes(count), Nodes(count, 1)};
        shape.order.reserve(count);
        for (Nodes waiting{root}; !waiting.empty();) {
            const Node node = waiting.back();
            waiting.pop_back();
            shape.at[node] = static_cast<Node>(shape.order.size());
            shape.order.push_back(node);
            waiting.insert(waiting.end(), children[node].begin(), children[node].end());
        }
        for (auto node = shape.order.rbegin(); *node != root; ++node) shape.size[parent[*node]] += shape.size[*node];
        return shape;
    }
};

}  // namespace cbn::trees
