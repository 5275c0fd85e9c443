// The filters that one key has, by the interfaces from which they came. Most keys come from one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "meeting/filters.hpp"

namespace cbn::meeting {

struct Held {
    int interface = 0;
    FilterRef filter{};
};

class HeldList {
  public:
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return more_ ? more_->size() : has_one_; }
    [[nodiscard]] const Held* begin() const noexcept { return more_ ? more_->data() : &one_; }
    [[nodiscard]] const Held* end() const noexcept { return begin() + size(); }
    [[nodiscard]] const Held& operator[](std::size_t at) const noexcept { return begin()[at]; }

    [[nodiscard]] const Held* from(int interface) const noexcept {
        const Held* const found = std::find_if(begin(), end(), [&](const Held& each) { return each.interface == interface; });
        return found == end() ? nullptr : found;
    }

    // From where nothing was. They stay ascending.
    void add(int interface, const FilterRef& filter) {
        if (size() == 0) {
            one_ = {interface, filter};
            has_one_ = true;
            return;
        }
        if (!more_) more_ = std::make_unique<std::vector<Held>>(1, std::exchange(one_, {}));
        const auto behind = std::find_if(more_->begin(), more_->end(), [&](const Held& each) { return each.interface > interface; });
        more_->insert(behind, {interface, filter});
        has_one_ = false;
    }

    // Whether there was something.
    bool remove(int interface) {
        if (from(interface) == nullptr) return false;
        if (more_) {
            more_->erase(more_->begin() + (from(interface) - begin()));
            if (more_->empty()) more_.reset();
        } else {
            one_ = {};
            has_one_ = false;
        }
        return true;
    }

  private:
    Held one_{};
    bool has_one_ = false;
    std::unique_ptr<std::vector<Held>> more_{};
};

}  // namespace cbn::meeting
