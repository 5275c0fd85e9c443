// What a set of filters goes by: how they relate, and an index of those that no other covers.
#pragma once

#include "cover/below.hpp"
#include "cover/reduce.hpp"

namespace cbn::cover {

// An index of filters, each known by a number of its user's. Their forms stay where they are.
class FilterIndex {
  public:
    void add(std::uint32_t owner, const Form& form) {
        file(owner, form);
        ++living_;
        if (items_.size() > 2 * living_ + 1024 || ++since_built_ > built_ + 1024) rebuild();
    }

    void remove(std::uint32_t owner) {
        const std::uint32_t token = tokens_[owner];
        above_.remove(token, items_);
        below_.remove(token, items_);
        items_[token].form = nullptr;
        --living_;
    }

    // One that covers the form, or NONE.
    [[nodiscard]] std::uint32_t cover_of(const Form& form) {
        const std::uint32_t token = above_.find(form, items_);
        return token == NONE ? NONE : items_[token].owner;
    }

    // Calls `visit(owner)` for each that the form covers.
    template <typename Visit>
    void covered_by(const Form& form, Visit&& visit) {
        if (form.attributes.empty()) return each(visit);
        below_.find(form, items_, [&](std::uint32_t token) { visit(items_[token].owner); });
    }

    template <typename Visit>
    void each(Visit&& visit) const {
        for (const Item& item : items_) {
            if (item.form != nullptr) visit(item.owner);
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return living_; }

  private:
    void file(std::uint32_t owner, const Form& form) {
        const auto token = static_cast<std::uint32_t>(items_.size());
        if (owner >= tokens_.size()) tokens_.resize(owner + 1, NONE);
        tokens_[owner] = token;
        items_.push_back({&form, owner, 0});
        above_.add(token, items_);
        below_.add(token, items_);
    }

    // Anew from those that there are, with features ordered by how frequent they are now.
    void rebuild() {
        Items living;
        living.swap(items_);
        std::erase_if(living, [](const Item& item) { return item.form == nullptr; });
        above_ = Index{};
        below_ = Below{};
        for (const Item& item : living) above_.expect(*item.form);
        for (const Item& item : living) file(item.owner, *item.form);
        built_ = living.size();
        since_built_ = 0;
    }

    Items items_;
    std::vector<std::uint32_t> tokens_;  // by owner
    Index above_;
    Below below_;
    std::size_t living_ = 0, built_ = 0, since_built_ = 0;
};

// How the filters of subscriptions relate.
struct OfFilters {
    using Form = cover::Form;
    using Index = FilterIndex;
    static constexpr bool ORDERED = true;  // `before` puts covers before all that they cover

    [[nodiscard]] static Status read(Bytes filter, Form& form) { return read_form(filter, form); }
    [[nodiscard]] static std::string thinned(Bytes filter, const Form& form) { return cover::thinned(filter, form); }
    [[nodiscard]] static bool matches_nothing(const Form& form) noexcept { return form.contradictory; }
    [[nodiscard]] static bool covers(const Form& wide, const Form& narrow) noexcept {
        return cover::covers(wide, narrow);
    }
    [[nodiscard]] static bool before(const Form& left, std::string_view left_bytes, const Form& right,
                                     std::string_view right_bytes) noexcept {
        return detail::before(left, left_bytes, right, right_bytes);
    }
};

}  // namespace cbn::cover
