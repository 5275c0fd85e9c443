// The control payloads by kind.
#pragma once

#include "wire/packets.hpp"
#include "wire/predicates.hpp"

namespace cbn::wire {

enum class Kind : std::uint8_t {
    LinkState = 1,
    Interest = 2,
    Subscribe = 3,
    Unsubscribe = 4,
    InterestChange = 5,
    RecordRequest = 6,
    Advertise = 7,
    Unadvertise = 8,
    Refused = 9,
    Offer = 10,
    OfferChange = 11,
    SubscribePattern = 12,
    UnsubscribePattern = 13,
    Match = 14
};

struct NeighbourView {
    std::uint32_t node = 0;
    std::uint32_t cost = 0;
};

// Walks a LINK_STATE payload and checks it. `origin` and `sequence` are there from the start.
class LinkStateCursor {
  public:
    explicit LinkStateCursor(Bytes payload = {}) noexcept : in_(payload) {
        origin = in_.nonzero<std::uint32_t>("origin");
        sequence = in_.number63("sequence");
        left_ = in_.number<std::uint16_t>("neighbour count");
    }

    [[nodiscard]] bool next(NeighbourView& out) noexcept {
        if (!in_.ok()) return false;
        if (left_ == 0) {
            in_.finish("LINK_STATE");
            return false;
        }
        --left_;
        const std::size_t start = in_.at();
        out.node = in_.nonzero<std::uint32_t>("neighbour");
        out.cost = in_.nonzero<std::uint32_t>("cost");
        in_.require(out.node > last_, Fault::NotAscending, "neighbour", start);
        last_ = out.node;
        return in_.ok();
    }
    [[nodiscard]] const Status& status() const noexcept { return in_.status(); }

    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;

  private:
    Reader in_;
    std::uint32_t left_ = 0;
    std::uint32_t last_ = 0;
};

// INTEREST or OFFER; or SUBSCRIBE or ADVERTISE, with the client's number as `id` and no sequence.
struct PredicateView {
    std::uint32_t id = 0;
    std::uint64_t sequence = 0;
    Bytes predicate{};
    std::size_t predicate_at = 0;  // offset in the payload
};

// REFUSED: what a router tells a client of messages that it has not taken.
struct RefusedView {
    std::uint8_t reason = 0;
    std::uint32_t count = 0;
    std::uint64_t sequence = 0;
};

// SUBSCRIBE_PATTERN: what it means is for the model to say.
struct PatternView {
    std::uint32_t id = 0;
    std::string_view text{};
};

// Walks a MATCH payload and checks it, its messages one by one. `pattern` is there from the start.
class MatchCursor {
  public:
    explicit MatchCursor(Bytes payload = {}) noexcept : payload_(payload) {
        Reader in(payload);
        pattern = in.number<std::uint32_t>("pattern");
        in.require(in.left() != 0, Fault::Truncated, "message", in.at());
        at_ = in.at();
        status_ = in.status();
    }

    [[nodiscard]] bool next(Bytes& message) noexcept {
        if (!status_.ok() || at_ == payload_.size()) return false;
        Frame frame;
        status_ = detail::read_frame(payload_, at_, frame);
        if (!status_.ok()) return false;
        message = payload_.subspan(at_, frame.length);
        status_ = validate_message(message);
        status_.offset += at_;
        at_ += frame.length;
        return status_.ok();
    }
    [[nodiscard]] const Status& status() const noexcept { return status_; }

    std::uint32_t pattern = 0;

  private:
    Bytes payload_;
    Status status_{};
    std::size_t at_ = 0;
};

// INTEREST_CHANGE or OFFER_CHANGE. Two predicates follow each other, each ending where its last filter does.
struct ChangeView {
    static constexpr std::size_t DIGEST = 16;

    std::uint32_t origin = 0;
    std::uint64_t sequence = 0;
    Bytes digest{};
    Bytes removed{}, added{};
    std::size_t removed_at = 0, added_at = 0;  // offsets in the payload
};

namespace detail {

// A predicate that something follows: how many bytes it has is found by reading it.
[[nodiscard]] inline Status measure_predicate(Bytes data, std::size_t base, std::size_t& size) noexcept {
    Reader in(data, base);
    Bytes last{};
    for (auto left = in.number<std::uint32_t>("filter count"); left > 0 && in.ok(); --left) {
        const std::size_t start = in.at();
        const Status status = check_filter(data.subspan(start), size, base + start);
        if (!status.ok()) return status;
        const Bytes filter = in.bytes(size, "filter");
        in.require(ascending(last, filter), Fault::NotAscending, "filter", start);
        last = filter;
    }
    size = in.at();
    return in.status();
}

[[nodiscard]] inline Status take_predicate(Reader& in, PredicateView& out) noexcept {
    out.predicate_at = in.at();
    out.predicate = in.bytes(in.left(), "predicate");
    return in.ok() ? validate_predicate(out.predicate, out.predicate_at) : in.status();
}

}  // namespace detail

[[nodiscard]] inline Status parse_interest(Bytes payload, PredicateView& out) noexcept {
    Reader in(payload);
    out.id = in.nonzero<std::uint32_t>("origin");
    out.sequence = in.number63("sequence");
    return detail::take_predicate(in, out);
}

namespace detail {

// What a client holds: its own number for it, and a predicate.
[[nodiscard]] inline Status parse_held(Bytes payload, const char* number, PredicateView& out) noexcept {
    Reader in(payload);
    out.id = in.number<std::uint32_t>(number);
    out.sequence = 0;
    return take_predicate(in, out);
}

[[nodiscard]] inline Status parse_number(Bytes payload, const char* name, const char* kind,
                                         std::uint32_t& out) noexcept {
    Reader in(payload);
    out = in.number<std::uint32_t>(name);
    in.finish(kind);
    return in.status();
}

}  // namespace detail

[[nodiscard]] inline Status parse_subscribe(Bytes payload, PredicateView& out) noexcept {
    return detail::parse_held(payload, "subscription", out);
}

[[nodiscard]] inline Status parse_unsubscribe(Bytes payload, std::uint32_t& subscription) noexcept {
    return detail::parse_number(payload, "subscription", "UNSUBSCRIBE", subscription);
}

[[nodiscard]] inline Status parse_advertise(Bytes payload, PredicateView& out) noexcept {
    return detail::parse_held(payload, "advertisement", out);
}

[[nodiscard]] inline Status parse_unadvertise(Bytes payload, std::uint32_t& advertisement) noexcept {
    return detail::parse_number(payload, "advertisement", "UNADVERTISE", advertisement);
}

[[nodiscard]] inline Status parse_refused(Bytes payload, RefusedView& out) noexcept {
    Reader in(payload);
    out.reason = in.nonzero<std::uint8_t>("reason");
    out.count = in.nonzero<std::uint32_t>("count");
    out.sequence = in.number63("sequence");
    in.finish("REFUSED");
    return in.status();
}

[[nodiscard]] inline Status parse_subscribe_pattern(Bytes payload, PatternView& out) noexcept {
    Reader in(payload);
    out.id = in.number<std::uint32_t>("pattern");
    in.require(in.left() != 0, Fault::Truncated, "text", in.at());
    out.text = in.text(in.left(), "text");
    return in.status();
}

[[nodiscard]] inline Status parse_unsubscribe_pattern(Bytes payload, std::uint32_t& pattern) noexcept {
    return detail::parse_number(payload, "pattern", "UNSUBSCRIBE_PATTERN", pattern);
}

[[nodiscard]] inline Status validate_match(Bytes payload) noexcept {
    MatchCursor cursor(payload);
    for (Bytes message; cursor.next(message);) {
    }
    return cursor.status();
}

[[nodiscard]] inline Status parse_interest_change(Bytes payload, ChangeView& out) noexcept {
    Reader in(payload);
    out.origin = in.nonzero<std::uint32_t>("origin");
    out.sequence = in.number63("sequence");
    out.digest = in.bytes(ChangeView::DIGEST, "digest");
    if (!in.ok()) return in.status();
    out.removed_at = in.at();
    std::size_t size = 0;
    const Status status = detail::measure_predicate(payload.subspan(out.removed_at), out.removed_at, size);
    if (!status.ok()) return status;
    out.removed = in.bytes(size, "removed");
    out.added_at = in.at();
    out.added = in.bytes(in.left(), "added");
    return validate_predicate(out.added, out.added_at);
}

[[nodiscard]] inline Status parse_record_request(Bytes payload, std::uint32_t& origin) noexcept {
    Reader in(payload);
    origin = in.nonzero<std::uint32_t>("origin");
    in.finish("RECORD_REQUEST");
    return in.status();
}

// Records may end with a signature of their origin.
constexpr std::size_t SIGNATURE = 64;

[[nodiscard]] inline bool is_signed(std::uint8_t kind) noexcept {
    switch (static_cast<Kind>(kind)) {
        case Kind::LinkState:
        case Kind::Interest:
        case Kind::InterestChange:
        case Kind::Offer:
        case Kind::OfferChange: return true;
        default: return false;
    }
}

// One whole control payload of any kind, without a signature.
[[nodiscard]] inline Status validate_unsigned(std::uint8_t kind, Bytes payload) noexcept {
    PredicateView view;
    ChangeView change;
    RefusedView refused;
    PatternView pattern;
    std::uint32_t number = 0;
    switch (static_cast<Kind>(kind)) {
        case Kind::LinkState: {
            LinkStateCursor cursor(payload);
            for (NeighbourView neighbour; cursor.next(neighbour);) {
            }
            return cursor.status();
        }
        case Kind::Interest:
        case Kind::Offer: return parse_interest(payload, view);
        case Kind::Subscribe: return parse_subscribe(payload, view);
        case Kind::Unsubscribe: return parse_unsubscribe(payload, number);
        case Kind::InterestChange:
        case Kind::OfferChange: return parse_interest_change(payload, change);
        case Kind::RecordRequest: return parse_record_request(payload, number);
        case Kind::Advertise: return parse_advertise(payload, view);
        case Kind::Unadvertise: return parse_unadvertise(payload, number);
        case Kind::Refused: return parse_refused(payload, refused);
        case Kind::SubscribePattern: return parse_subscribe_pattern(payload, pattern);
        case Kind::UnsubscribePattern: return parse_unsubscribe_pattern(payload, number);
        case Kind::Match: return validate_match(payload);
    }
    return {Fault::BadKind, "kind", 0};
}

// The record in front of a signature, or all of a payload without one. Where a record ends its own bytes say,
// so at most one of the two is valid.
[[nodiscard]] inline Status find_record(std::uint8_t kind, Bytes payload, Bytes& record) noexcept {
    record = payload;
    const Status whole = validate_unsigned(kind, payload);
    if (whole.ok() || !is_signed(kind) || payload.size() < SIGNATURE) return whole;
    const Bytes front = payload.first(payload.size() - SIGNATURE);
    if (!validate_unsigned(kind, front).ok()) return whole;
    record = front;
    return {};
}

// One whole control payload of any kind.
[[nodiscard]] inline Status validate_payload(std::uint8_t kind, Bytes payload) noexcept {
    Bytes record;
    return find_record(kind, payload, record);
}

}  // namespace cbn::wire
