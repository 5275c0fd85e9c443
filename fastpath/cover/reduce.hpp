// Predicates as a whole: reduction (D2), union, difference.
#pragma once

#include <deque>

#include "wire/codec.hpp"
#include "cover/index.hpp"
#include "cover/thin.hpp"

namespace cbn::cover {

namespace detail {

// A filter on its way through the reduction: its form, and its bytes after redundant constraints were dropped.
struct Candidate {
    Form form{};
    std::string_view bytes{};
    std::string thin{};  // holds `bytes` if they differ from what came in
};

[[nodiscard]] inline Status read_candidates(Bytes predicate, std::deque<Candidate>& out) {
    wire::FilterCursor cursor(predicate);
    FormBuilder builder;
    for (Bytes filter; cursor.next(filter);) {
        Candidate& candidate = out.emplace_back();
        static_cast<void>(builder.add(filter));  // the cursor has checked it
        builder.finish(candidate.form);
        candidate.bytes = wire::as_text(filter);
        if (may_be_thinned(filter, candidate.form)) {
            candidate.thin = thinned(filter, candidate.form);
            candidate.bytes = candidate.thin;
        }
        if (candidate.form.contradictory) out.pop_back();
    }
    return cursor.status();
}

[[nodiscard]] inline bool before(const Form& left, std::string_view left_bytes, const Form& right,
                                 std::string_view right_bytes) noexcept {
    const auto order = wider_first(left, right);
    return order != 0 ? order < 0 : left_bytes < right_bytes;
}

// Those that no other covers; `sorted` has covers before what they cover.
[[nodiscard]] inline std::vector<std::string_view> uncovered(const std::vector<const Candidate*>& sorted) {
    std::vector<std::string_view> kept;
    Items items;
    Index index;
    for (const Candidate* each : sorted) index.expect(each->form);
    for (const Candidate* each : sorted) {
        if (index.find(each->form, items) != NONE) continue;
        items.push_back({&each->form, 0, 0});
        index.add(static_cast<std::uint32_t>(items.size() - 1), items);
        kept.push_back(each->bytes);
    }
    return kept;
}

}  // namespace detail

[[nodiscard]] inline std::string joined(std::vector<std::string_view> filters) {
    std::sort(filters.begin(), filters.end());
    filters.erase(std::unique(filters.begin(), filters.end()), filters.end());
    std::string out;
    wire::put_u32(out, static_cast<std::uint32_t>(filters.size()));
    for (const std::string_view filter : filters) out.append(filter);
    return out;
}

// The predicate without redundant constraints, redundant filters and contradictory filters.
[[nodiscard]] inline Status reduce(Bytes predicate, std::string& out) {
    std::deque<detail::Candidate> candidates;
    const Status status = detail::read_candidates(predicate, candidates);
    if (!status.ok()) return status;
    std::vector<const detail::Candidate*> sorted;
    for (const detail::Candidate& each : candidates) sorted.push_back(&each);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return detail::before(a->form, a->bytes, b->form, b->bytes);
    });
    out = joined(detail::uncovered(sorted));
    return status;
}

// A valid filter and its form.
struct Known {
    Bytes bytes;
    const Form* form;
};

// Whether `reduce` would leave the filters of a reduced predicate and these fresh ones all as they are.
[[nodiscard]] inline bool stays_reduced(const std::vector<Known>& held, const std::vector<Known>& fresh) {
    const auto apart = [](const Form& one, const Form& other) { return !covers(one, other) && !covers(other, one); };
    for (auto each = fresh.begin(); each != fresh.end(); ++each) {
        const Form& form = *each->form;
        const auto is_apart = [&](const Known& other) { return apart(form, *other.form); };
        if (form.contradictory || !std::all_of(fresh.begin(), each, is_apart)) return false;
        if (may_be_thinned(each->bytes, form) && thinned(each->bytes, form) != wire::as_text(each->bytes)) return false;
        if (!std::all_of(held.begin(), held.end(), is_apart)) return false;
    }
    return true;
}

[[nodiscard]] inline Status filters_of(Bytes predicate, std::vector<std::string_view>& out) {
    wire::FilterCursor cursor(predicate);
    for (Bytes filter; cursor.next(filter);) out.push_back(wire::as_text(filter));
    return cursor.status();
}

// The filters of the one predicate that the other has not.
[[nodiscard]] inline Status difference(Bytes from, Bytes without, std::string& out) {
    std::vector<std::string_view> left, right, rest;
    Status status = filters_of(from, left);
    if (status.ok()) status = filters_of(without, right);
    if (!status.ok()) return status;
    std::set_difference(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(rest));
    out = joined(std::move(rest));
    return status;
}

struct Count {
    std::uint64_t filters = 0, constraints = 0;
};

[[nodiscard]] inline Status count(Bytes predicate, Count& out) {
    wire::FilterCursor cursor(predicate);
    for (Bytes filter; cursor.next(filter);) {
        ++out.filters;
        out.constraints += wire::load<std::uint16_t>(filter.data());
    }
    return cursor.status();
}

}  // namespace cbn::cover
