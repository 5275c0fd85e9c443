// Covering, overlap and reduction of encoded filters: include this one. See docs/covering.md.
//
//   relation of two filters:   read_form(bytes, Form&); covers(Form, Form); Form::contradictory
//   one filter, made smaller:  thinned(bytes, Form)
//   predicates:                reduce, difference, count, joined
//   advertisements:            read_advertisement(bytes, Advertisement&); covers; overlaps(Advertisement, Form)
//   what comes and goes:       PredicateSet, AdvertisementSet; Overlaps between filters and advertisements
#pragma once

#include "cover/overlaps.hpp"
#include "cover/set.hpp"

namespace cbn::cover {

[[nodiscard]] inline Status covers(Bytes wide, Bytes narrow, bool& out) {
    Form wide_form, narrow_form;
    Status status = read_form(wide, wide_form);
    if (status.ok()) status = read_form(narrow, narrow_form);
    if (status.ok()) out = covers(wide_form, narrow_form);
    return status;
}

// Whether some message may match both; false only if none can (E14).
[[nodiscard]] inline Status overlaps(Bytes left, Bytes right, bool& out) {
    FormBuilder builder;
    Status status = builder.add(left);
    if (status.ok()) status = builder.add(right);
    Form both;
    if (status.ok()) builder.finish(both);
    out = !both.contradictory;
    return status;
}

[[nodiscard]] inline Status contradictory(Bytes filter, bool& out) {
    Form form;
    const Status status = read_form(filter, form);
    out = form.contradictory;
    return status;
}

[[nodiscard]] inline Status reduce_filter(Bytes filter, std::string& out) {
    Form form;
    const Status status = read_form(filter, form);
    if (status.ok()) out = thinned(filter, form);
    return status;
}

}  // namespace cbn::cover
