// Filters of descriptors. All routers of a process hold the same ones, so each is kept once, with what it becomes
// where it is compared.
//
// Not for several threads at a time: who calls holds Python's lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cover/cover.hpp"
#include "wire/wire.hpp"

namespace cbn::meeting {

class Filter;

// Holds a filter, or nothing: a descriptor of whatever may be published.
class FilterRef {
  public:
    FilterRef() = default;
    FilterRef(const FilterRef& other) noexcept;
    FilterRef(FilterRef&& other) noexcept : filter_(std::exchange(other.filter_, nullptr)) {}
    FilterRef& operator=(FilterRef other) noexcept {
        std::swap(filter_, other.filter_);
        return *this;
    }
    ~FilterRef();

    // Of well-formed bytes.
    [[nodiscard]] static FilterRef of(std::string_view bytes);
    // Nothing if nobody holds these bytes. What is held was found to be well-formed.
    [[nodiscard]] static FilterRef find(std::string_view bytes);

    [[nodiscard]] explicit operator bool() const noexcept { return filter_ != nullptr; }
    [[nodiscard]] Filter* operator->() const noexcept { return filter_; }
    [[nodiscard]] Filter* get() const noexcept { return filter_; }
    friend bool operator==(const FilterRef&, const FilterRef&) = default;

  private:
    friend class Filter;
    explicit FilterRef(Filter* filter) noexcept;

    Filter* filter_ = nullptr;
};

// How a filter is compared: as one that subscribes, or as one that is advertised.
template <typename Form>
struct Compared {
    Form form{};
    cover::Hull hull{};
};
using Wanted = Compared<cover::Form>;
using Offered = Compared<cover::Advertisement>;

class Filter {
  public:
    explicit Filter(std::string_view bytes) : bytes_(bytes) {}
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;
    ~Filter() {
        if (wanted_) hulls().release(wanted_->hull);
        if (offered_) hulls().release(offered_->hull);
    }

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

    // Without what is redundant in it, as a subscription's and as an advertisement's.
    [[nodiscard]] Filter& for_subscription() { return reduced(subscription_, cover::reduce_filter); }
    [[nodiscard]] Filter& for_advertisement() { return reduced(advertisement_, cover::reduce_advertisement); }

    [[nodiscard]] const Wanted& wanted() {
        if (!wanted_) {
            static_cast<void>(cover::read_form(view(), wanted_.emplace().form));
            wanted_->hull = wanted_->form.contradictory ? cover::Hull() : hulls().of(wanted_->form);
        }
        return *wanted_;
    }
    [[nodiscard]] const Offered& offered() {
        if (!offered_) {
            static_cast<void>(cover::read_advertisement(view(), offered_.emplace().form));
            offered_->hull = hulls().of(offered_->form);
        }
        return *offered_;
    }

  private:
    friend class FilterRef;
    using All = std::unordered_map<std::string_view, std::unique_ptr<Filter>>;

    // Never destroyed: what holds filters may live until the very end.
    [[nodiscard]] static All& all() {
        static All* const filters = new All;
        return *filters;
    }
    [[nodiscard]] static cover::Hulls& hulls() {
        static cover::Hulls* const known = new cover::Hulls;
        return *known;
    }

    // What a filter becomes; most are that already.
    struct Reduced {
        bool known = false;
        FilterRef other{};
    };
    template <typename Reduce>
    [[nodiscard]] Filter& reduced(Reduced& to, Reduce&& reduce) {
        if (!to.known) {
            std::string less;
            static_cast<void>(reduce(view(), less));
            if (less != bytes_) to.other = FilterRef::of(less);
            to.known = true;
        }
        return to.other ? *to.other.get() : *this;
    }

    [[nodiscard]] wire::Bytes view() const noexcept {
        return {reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size()};
    }

    std::string bytes_;
    std::size_t holders_ = 0;
    Reduced subscription_{}, advertisement_{};
    std::optional<Wanted> wanted_{};
    std::optional<Offered> offered_{};
};

inline FilterRef::FilterRef(Filter* filter) noexcept : filter_(filter) { ++filter_->holders_; }
inline FilterRef::FilterRef(const FilterRef& other) noexcept : filter_(other.filter_) {
    if (filter_ != nullptr) ++filter_->holders_;
}
inline FilterRef::~FilterRef() {
    if (filter_ == nullptr || --filter_->holders_ > 0) return;
    const auto gone = Filter::all().extract(filter_->bytes_);  // its end may release another filter
}
inline FilterRef FilterRef::of(std::string_view bytes) {
    FilterRef known = find(bytes);
    if (known) return known;
    auto made = std::make_unique<Filter>(bytes);
    Filter* const filter = made.get();
    Filter::all().emplace(filter->bytes_, std::move(made));
    return FilterRef(filter);
}
inline FilterRef FilterRef::find(std::string_view bytes) {
    const auto known = Filter::all().find(bytes);
    return known == Filter::all().end() ? FilterRef() : FilterRef(known->second.get());
}

}  // namespace cbn::meeting
