// A filter without the constraints that its others imply (D2). Nothing is rewritten: what stays is what was there.
#pragma once

#include "cover/form.hpp"

namespace cbn::cover {

namespace detail {

// A constraint of a filter: where it stands in the bytes, and what it lets through.
struct Placed {
    std::uint64_t key = 0;
    ConstraintView constraint{};
    std::size_t begin = 0, end = 0;
    Span span{};
    bool kept = false;

    [[nodiscard]] bool same(const Placed& other) const noexcept {
        return key == other.key && constraint.name == other.constraint.name;
    }
};

// Unlike `span_of`, says of `!=` with the least or the greatest value that it is a range, too.
[[nodiscard]] inline Span whole_span(const ConstraintView& constraint, Own& own) {
    const Span span = span_of(constraint, own);
    const Type type = constraint.value.type;
    if (constraint.op != Op::Ne) return span;
    const Position at = position_of(constraint.value);
    if (type == Type::String) return at == span.lo ? Span{next(own, at), span.hi} : span;
    if (at == span.lo) return {{at.head + 1}, span.hi};
    if (at == span.hi) return {span.lo, {at.head - 1}};
    return span;
}

// Chooses, among the constraints on one attribute, those that say all that the others say.
class Thinning {
  public:
    Thinning(std::span<Placed> group, const Attribute& attribute, Own& own) : group_(group), attribute_(attribute) {
        whole_ = range_ = everything(attribute.type);
        for (Placed& each : group_) {
            each.span = whole_span(each.constraint, own);
            if (only_says_what_patterns_say(each.span)) each.span = whole_;
            range_.lo = std::max(range_.lo, each.span.lo);
            range_.hi = std::min(range_.hi, each.span.hi);
        }
    }

    void choose() {
        choose_range();
        if (!range_.single(attribute_.type)) {
            choose_patterns();
            choose_holes();
        }
        const auto kept = [](const Placed& each) { return each.kept; };
        if (std::none_of(group_.begin(), group_.end(), kept)) group_.front().kept = true;
    }

  private:
    template <typename Fits>
    [[nodiscard]] bool keep_first(Fits&& fits) {
        for (Placed& each : group_) {
            if (fits(each)) return each.kept = true;
        }
        return false;
    }

    // `> ""` next to a suffix, for one.
    [[nodiscard]] bool only_says_what_patterns_say(const Span& span) const noexcept {
        const std::string_view low = span.lo.text;
        if (!attribute_.patterned() || span.hi != whole_.hi || trailing_nuls(low) < low.size()) return false;
        if (low.size() > NULS_TRIED) return false;
        for (std::size_t size = 0; size < low.size(); ++size) {
            if (attribute_.fits(low.substr(0, size))) return false;
        }
        return true;
    }

    void choose_range() {
        if (range_ == whole_ || keep_first([&](const Placed& each) { return each.span == range_; })) return;
        const bool low = range_.lo != whole_.lo, high = range_.hi != whole_.hi;
        if (low) static_cast<void>(keep_first([&](const Placed& each) { return each.span.lo == range_.lo; }));
        if (high) static_cast<void>(keep_first([&](const Placed& each) { return each.span.hi == range_.hi; }));
    }

    void choose_patterns() {
        std::vector<std::string_view> parts = attribute_.parts;
        std::sort(parts.begin(), parts.end());
        for (Placed& each : group_) {
            const auto& [op, name, value] = each.constraint;
            if ((op != Op::Suffix && op != Op::Substring) || value.text.empty()) continue;
            // Where one value is left the attribute no longer says by which patterns.
            const bool needed = op == Op::Suffix ? value.text == attribute_.suffix
                                                 : std::binary_search(parts.begin(), parts.end(), value.text);
            each.kept |= attribute_.single || needed;
        }
    }

    void choose_holes() {
        for (Placed& each : group_) {
            if (each.constraint.op != Op::Ne || each.span != whole_) continue;
            const Position at = position_of(each.constraint.value);
            each.kept |= range_.holds(attribute_.type, at) && (!attribute_.patterned() || attribute_.fits(at.text));
        }
    }

    std::span<Placed> group_;
    const Attribute& attribute_;
    Span whole_{}, range_{};
};

[[nodiscard]] inline std::vector<Placed> placed_constraints(Bytes filter) {
    std::vector<Placed> out;
    wire::ConstraintCursor cursor(filter);
    std::size_t begin = cursor.size();
    for (ConstraintView each; cursor.next(each); begin = cursor.size()) {
        out.push_back({key_of(each.name, each.value.type), each, begin, cursor.size()});
    }
    return out;
}

[[nodiscard]] inline std::string encoded_kept(Bytes filter, std::vector<Placed>& constraints) {
    std::sort(constraints.begin(), constraints.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    std::string out(2, '\0');
    std::uint16_t count = 0;
    for (const Placed& each : constraints) {
        if (!each.kept) continue;
        out.append(wire::as_text(filter.subspan(each.begin, each.end - each.begin)));
        ++count;
    }
    wire::store<std::uint16_t>(reinterpret_cast<std::uint8_t*>(out.data()), count);
    return out;
}

}  // namespace detail

// Whether `thinned` could find anything to drop: only where two constraints are on one attribute.
[[nodiscard]] inline bool may_be_thinned(Bytes filter, const Form& form) noexcept {
    return !form.contradictory && wire::load<std::uint16_t>(filter.data()) > form.attributes.size();
}

// The filter, whose form is given, without its redundant constraints. A contradictory one stays as it is.
[[nodiscard]] inline std::string thinned(Bytes filter, const Form& form) {
    if (!may_be_thinned(filter, form)) return std::string(wire::as_text(filter));
    std::vector<detail::Placed> all = detail::placed_constraints(filter);
    const auto order = [](const detail::Placed& each) {
        return std::make_tuple(each.key & ~7ULL, each.constraint.name, each.key);
    };
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    Own own;
    std::size_t from = 0;
    for (const Attribute& attribute : form.attributes) {
        std::size_t to = from + 1;
        while (to < all.size() && all[to].same(all[from])) ++to;
        detail::Thinning(std::span(all).subspan(from, to - from), attribute, own).choose();
        from = to;
    }
    return detail::encoded_kept(filter, all);
}

}  // namespace cbn::cover
