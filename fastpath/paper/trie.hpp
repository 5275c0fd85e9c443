// The ternary search trie of FWD 4.2 and Fig. 6: attribute names and string constraints are found in it.
//
// A node that ends a prefix or substring constraint has the number of its partial match; a node of the
// terminator `#` has the number of its leaf, a complete match. Many tries share one array of nodes. Which
// constraints hang on leaves and partial matches is known to paper/constraints.hpp alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace cbn::paper {

inline constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();

// One string to be planted: the partial match and the leaf it stands for, at least one of the two.
struct TrieString {
    std::string_view text{};
    std::uint32_t partial = NONE;
    std::uint32_t leaf = NONE;
};

// Where a lookup ended: the leaf if the whole text was found, and the last turns where leaves were left on
// either side, for the two backtrack functions.
struct TriePath {
    std::uint32_t leaf = NONE;
    std::uint32_t before = NONE;  // node whose lesser leaves all precede the text
    std::uint32_t after = NONE;   // node whose greater leaves all follow the text
    bool before_whole = false;    // all of the node's trie counts, or all but its `above`
    bool after_whole = false;     // all of the node's trie counts, or all but its `below`
};

class Forest {
  public:
    // Adds a trie of ascending, distinct strings; returns its root. Nodes split at the median string, so that
    // a lookup takes O(l + log N) steps. NONE if no string has a node (none, or the empty one as partial).
    std::uint32_t plant(std::span<const TrieString> strings) {
        count_leaves(strings);
        const std::uint32_t root = size();
        pending_.assign(1, {0, static_cast<std::uint32_t>(strings.size()), 0, NONE, Side::Through});
        while (!pending_.empty()) {
            const Part part = pending_.back();
            pending_.pop_back();
            grow(strings, part);
        }
        return size() == root ? NONE : root;
    }

    // Follows the text as far as it goes. Reports each partial match on the way, the shortest first, to
    // `on_partial(number) -> bool`, which says whether to go on. Without ORDERED no turns are remembered.
    template <bool ORDERED, class OnPartial>
    bool look_up(std::uint32_t root, std::string_view text, TriePath& path, OnPartial&& on_partial) const {
        std::size_t at = 0;
        std::uint32_t here = root;
        while (here != NONE) {
            const Node& node = nodes_[here];
            const unsigned symbol = symbol_of(text, at);
            if (symbol < node.symbol) {
                if (ORDERED && (node.marks & (LEAF_THROUGH | LEAF_ABOVE)) != 0) turn_below(path, here, false);
                here = node.below;
            } else if (symbol > node.symbol) {
                if (ORDERED && (node.marks & (LEAF_THROUGH | LEAF_BELOW)) != 0) turn_above(path, here, false);
                here = node.above;
            } else {
                if (ORDERED && (node.marks & LEAF_ABOVE) != 0) turn_below(path, node.above, true);
                if (ORDERED && (node.marks & LEAF_BELOW) != 0) turn_above(path, node.below, true);
                if (symbol == TERMINATOR) {
                    path.leaf = node.payload;
                    return true;
                }
                if (node.payload != NONE && !on_partial(node.payload)) return false;
                ++at;
                here = (node.marks & GOES_ON) != 0 ? here + 1 : NONE;
            }
        }
        return true;
    }

    // The number of a whole text that was planted, else NONE.
    [[nodiscard]] std::uint32_t find(std::uint32_t root, std::string_view text) const {
        TriePath path;
        look_up<false>(root, text, path, [](std::uint32_t) { return true; });
        return path.leaf;
    }

    // The two backtrack functions of FWD 4.2: the complete matches next to a text that was not found.
    [[nodiscard]] std::uint32_t preceding_leaf(const TriePath& path) const {
        if (path.before == NONE) return NONE;
        std::uint32_t here = path.before;
        for (bool whole = path.before_whole;; whole = true) {
            const Node& node = nodes_[here];
            if (whole && (node.marks & LEAF_ABOVE) != 0) here = node.above;
            else if ((node.marks & LEAF_THROUGH) == 0) here = node.below;
            else if (node.symbol == TERMINATOR) return node.payload;
            else ++here;
        }
    }

    [[nodiscard]] std::uint32_t following_leaf(const TriePath& path) const {
        if (path.after == NONE) return NONE;
        std::uint32_t here = path.after;
        for (bool whole = path.after_whole;; whole = true) {
            const Node& node = nodes_[here];
            if (whole && (node.marks & LEAF_BELOW) != 0) here = node.below;
            else if ((node.marks & LEAF_THROUGH) == 0) here = node.above;
            else if (node.symbol == TERMINATOR) return node.payload;
            else ++here;
        }
    }

    // Ends the planting: gives back what only `plant` needs.
    void seal() {
        nodes_.shrink_to_fit();
        pending_ = {};
        leaves_before_ = {};
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
    [[nodiscard]] std::size_t bytes() const noexcept { return nodes_.capacity() * sizeof(Node); }

  private:
    // Bytes are raised by one, so that the terminator is below them all and NUL is a byte like others.
    static constexpr unsigned TERMINATOR = 0;

    enum Mark : std::uint16_t {
        GOES_ON = 1,       // the node after this one is the first of its middle trie
        LEAF_THROUGH = 2,  // a leaf is here or in the middle trie
        LEAF_BELOW = 4,    // a leaf is in the trie of lesser symbols
        LEAF_ABOVE = 8
    };

    struct Node {
        std::uint32_t below = NONE;
        std::uint32_t above = NONE;
        std::uint32_t payload = NONE;
        std::uint16_t symbol = 0;
        std::uint16_t marks = 0;
    };

    enum class Side : std::uint8_t { Below, Through, Above };

    // Strings that agree in their first `depth` bytes, and the link that is to lead to their node.
    struct Part {
        std::uint32_t begin = 0, end = 0, depth = 0, parent = NONE;
        Side side = Side::Through;
    };

    static unsigned symbol_of(std::string_view text, std::size_t at) noexcept {
        return at < text.size() ? static_cast<std::uint8_t>(text[at]) + 1U : TERMINATOR;
    }

    static void turn_below(TriePath& path, std::uint32_t node, bool whole) noexcept {
        path.after = node;
        path.after_whole = whole;
    }
    static void turn_above(TriePath& path, std::uint32_t node, bool whole) noexcept {
        path.before = node;
        path.before_whole = whole;
    }

    void count_leaves(std::span<const TrieString> strings) {
        leaves_before_.assign(strings.size() + 1, 0);
        for (std::size_t at = 0; at < strings.size(); ++at) {
            leaves_before_[at + 1] = leaves_before_[at] + (strings[at].leaf != NONE ? 1 : 0);
        }
    }
    [[nodiscard]] bool has_leaf(std::uint32_t begin, std::uint32_t end) const {
        return leaves_before_[end] > leaves_before_[begin];
    }

    // Whether nothing of the string follows its first `depth` bytes, not even the terminator.
    static bool spent(const TrieString& string, std::uint32_t depth) {
        return string.text.size() == depth && string.leaf == NONE;
    }

    void grow(std::span<const TrieString> strings, const Part& part) {
        const std::uint32_t begin = part.begin + (part.begin < part.end && spent(strings[part.begin], part.depth));
        if (begin == part.end) return;
        if (size() == NONE) throw std::length_error("the constraint index is full: 4,294,967,295 trie nodes");
        const unsigned symbol = symbol_of(strings[begin + (part.end - begin) / 2].text, part.depth);
        const std::uint32_t low = bound(strings, begin, part.end, part.depth, symbol);
        const std::uint32_t high = bound(strings, low, part.end, part.depth, symbol + 1);
        const std::uint32_t self = size();
        Node node;
        node.symbol = static_cast<std::uint16_t>(symbol);
        node.marks = static_cast<std::uint16_t>((has_leaf(begin, low) ? LEAF_BELOW : 0) |
                                                (has_leaf(low, high) ? LEAF_THROUGH : 0) |
                                                (has_leaf(high, part.end) ? LEAF_ABOVE : 0));
        if (symbol == TERMINATOR) node.payload = strings[low].leaf;
        else if (strings[low].text.size() == part.depth + 1) node.payload = strings[low].partial;
        link(part, self);
        nodes_.push_back(node);
        if (high < part.end) pending_.push_back({high, part.end, part.depth, self, Side::Above});
        if (begin < low) pending_.push_back({begin, low, part.depth, self, Side::Below});
        // Last, so that it is grown next and stands right behind this node.
        if (symbol != TERMINATOR) pending_.push_back({low, high, part.depth + 1, self, Side::Through});
    }

    void link(const Part& part, std::uint32_t self) {
        if (part.parent == NONE) return;
        Node& parent = nodes_[part.parent];
        if (part.side == Side::Below) parent.below = self;
        if (part.side == Side::Above) parent.above = self;
        if (part.side == Side::Through) parent.marks |= GOES_ON;
    }

    // The first of the strings whose symbol at `depth` is at least `symbol`.
    static std::uint32_t bound(std::span<const TrieString> strings, std::uint32_t begin, std::uint32_t end,
                               std::uint32_t depth, unsigned symbol) {
        const auto first = strings.begin();
        const auto found = std::partition_point(first + begin, first + end, [&](const TrieString& each) {
            return symbol_of(each.text, depth) < symbol;
        });
        return static_cast<std::uint32_t>(found - first);
    }

    std::vector<Node> nodes_;
    std::vector<Part> pending_;
    std::vector<std::uint32_t> leaves_before_;
};

}  // namespace cbn::paper
