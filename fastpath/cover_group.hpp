// Filters that are searched together, by the ends of their ranges: a tree of boxes and the few that came since.
#pragma once

#include <cmath>

#include "cover_boxes.hpp"
#include "cover_imply.hpp"

namespace cbn::cover {

// A filter in an index. Tokens are places in the index's list of these; one that was removed has no form.
struct Item {
    const Form* form = nullptr;
    std::uint32_t owner = 0;  // what the index's user calls it
    std::uint32_t node = 0;   // where the index has filed it
};
using Items = std::vector<Item>;

// One coordinate of the filters of a group: of which attribute (by its key), and what of it.
struct Axis {
    enum class What : std::uint8_t { RawLow, RawHigh, FirstHole, TrimmedLow, TrimmedHigh, End };

    std::uint64_t key = 0;
    std::string name{};
    What what = What::RawLow;
    std::string skipped{};  // what the texts of all members begin with; coordinates are the bytes after it

    // The position as a number that orders as positions do, ties aside.
    [[nodiscard]] std::uint64_t coordinate(const Position& at) const noexcept {
        if (skipped.empty()) return at.head;
        if (at.text.starts_with(skipped)) return head_of(at.text.substr(skipped.size()));
        return at.text < skipped ? 0 : ~std::uint64_t{0};
    }

    [[nodiscard]] Position position(const Attribute& attribute) const noexcept {
        switch (what) {
            case What::RawLow: return attribute.raw.lo;
            case What::RawHigh: return attribute.raw.hi;
            case What::FirstHole: return attribute.holes.empty() ? Position{} : attribute.holes.front();
            case What::TrimmedLow: return attribute.trimmed.lo;
            case What::TrimmedHigh: return attribute.trimmed.hi;
            case What::End: break;
        }
        return {ending(attribute.single ? attribute.trimmed.lo.text : attribute.suffix), {}};
    }

    // The last eight bytes, the last first: texts of one ending lie side by side.
    [[nodiscard]] static std::uint64_t ending(std::string_view text) noexcept {
        std::uint64_t out = 0;
        for (std::size_t at = 0; at < 8; ++at) {
            out = out << 8 | (at < text.size() ? static_cast<std::uint8_t>(text[text.size() - 1 - at]) : 0U);
        }
        return out;
    }
};

// Which endings lie in texts that end in `suffix`.
[[nodiscard]] inline Accept ending_in(std::string_view suffix) noexcept {
    const std::uint64_t from = Axis::ending(suffix);
    const std::size_t known = std::min<std::size_t>(suffix.size(), 8) * 8;
    return {from, known == 0 ? ~std::uint64_t{0} : from | (known == 64 ? 0 : ~std::uint64_t{0} >> known)};
}

class Group {
  public:
    void add(std::uint32_t token) { recent_.push_back(token); }
    void lost_one() noexcept { ++lost_; }
    [[nodiscard]] std::size_t size() const noexcept { return boxes_.size() + recent_.size() - lost_; }
    [[nodiscard]] std::span<const Axis> axes() const noexcept { return axes_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return boxes_.bytes() + recent_.capacity() * sizeof(std::uint32_t) + axes_.capacity() * sizeof(Axis);
    }

    // Brings the tree up to date if that is due. `axes` is asked for the axes, given one of the forms.
    template <typename Axes>
    void settle(const Items& items, Axes&& axes) {
        const auto built = static_cast<double>(boxes_.size());
        if (recent_.size() < 32 + 8 * static_cast<std::size_t>(std::sqrt(built)) && lost_ < 32 + size()) return;
        std::vector<std::uint32_t> members;
        const auto living = [&](std::uint32_t token) { return items[token].form != nullptr; };
        std::copy_if(boxes_.members().begin(), boxes_.members().end(), std::back_inserter(members), living);
        std::copy_if(recent_.begin(), recent_.end(), std::back_inserter(members), living);
        recent_.clear();
        lost_ = 0;
        axes_ = members.empty() ? std::vector<Axis>{} : axes(*items[members.front()].form);
        for (Axis& axis : axes_) axis.skipped = shared_start(axis, items, members);
        std::vector<std::uint64_t> rows = coordinates(items, members);
        boxes_.build(axes_.size(), std::move(members), std::move(rows));
    }

    // Calls `visit(token)` for members that may be what is wanted until it says true.
    template <typename Visit>
    [[nodiscard]] bool search(std::span<const Accept> wanted, Visit&& visit) const {
        return boxes_.search(wanted, visit) || std::any_of(recent_.begin(), recent_.end(), visit);
    }

  private:
    // Where hashes collide, a form without the attribute may have got here; `covers` will tell.
    [[nodiscard]] static Position position(const Axis& axis, const Form& form) noexcept {
        const Attribute* attribute = attribute_of(form, axis.key, axis.name);
        return attribute == nullptr ? Position{} : axis.position(*attribute);
    }

    [[nodiscard]] static std::string shared_start(const Axis& axis, const Items& items,
                                                  std::span<const std::uint32_t> members) {
        std::string_view shared = position(axis, *items[members.front()].form).text;
        for (const std::uint32_t token : members) {
            const std::string_view text = position(axis, *items[token].form).text;
            const auto [end, _] = std::mismatch(shared.begin(), shared.end(), text.begin(), text.end());
            shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
            if (shared.empty()) break;
        }
        return std::string(shared);
    }

    [[nodiscard]] std::vector<std::uint64_t> coordinates(const Items& items,
                                                         std::span<const std::uint32_t> members) const {
        std::vector<std::uint64_t> rows;
        rows.reserve(members.size() * axes_.size());
        for (const std::uint32_t token : members) {
            for (const Axis& axis : axes_) rows.push_back(axis.coordinate(position(axis, *items[token].form)));
        }
        return rows;
    }

    Boxes boxes_;
    std::vector<std::uint32_t> recent_;
    std::vector<Axis> axes_;
    std::size_t lost_ = 0;
};

}  // namespace cbn::cover
