// What the clients of a router may publish, where they have to advertise: a message within one of their
// advertisements (M5). It has every attribute's value within one of the constraints of that advertisement.
//
// The control plane changes what a client has advertised while the data plane asks: it takes effect at once, and
// no FIB has to be made for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fib/snapshot.hpp"
#include "wire/wire.hpp"

namespace cbn {

namespace detail {

template <class T>
[[nodiscard]] inline bool compares(wire::Op op, const T& value, const T& bound) noexcept {
    switch (op) {
        case wire::Op::Eq: return value == bound;
        case wire::Op::Ne: return value != bound;
        case wire::Op::Lt: return value < bound;
        case wire::Op::Gt: return value > bound;
        case wire::Op::Le: return value <= bound;
        case wire::Op::Ge: return value >= bound;
        default: return false;
    }
}

// Whether a value satisfies a constraint on its own type (M3).
[[nodiscard]] inline bool satisfies(wire::Op op, const wire::ValueView& value,
                                    const wire::ValueView& bound) noexcept {
    switch (op) {
        case wire::Op::Any: return true;
        case wire::Op::Prefix: return value.text.starts_with(bound.text);
        case wire::Op::Suffix: return value.text.ends_with(bound.text);
        case wire::Op::Substring: return value.text.find(bound.text) != std::string_view::npos;
        default: break;
    }
    switch (value.type) {
        case wire::Type::String: return compares(op, value.text, bound.text);
        case wire::Type::Float: return compares(op, value.number(), bound.number());
        case wire::Type::Boolean: return compares(op, value.boolean(), bound.boolean());
        case wire::Type::Integer:
        case wire::Type::Time: return compares(op, value.integer(), bound.integer());
    }
    return false;
}

}  // namespace detail

// Advertisements of one client. Immutable.
class Advertised {
  public:
    Advertised() = default;

    // The predicate must have been validated.
    explicit Advertised(wire::Bytes predicate) : bytes_(predicate.begin(), predicate.end()) {
        wire::FilterCursor filters{wire::Bytes(bytes_)};
        for (wire::Bytes filter; filters.next(filter); ++count_) {
            wire::ConstraintCursor constraints(filter);
            for (wire::ConstraintView each; constraints.next(each); each = {}) {
                terms_[{each.name, each.value.type}].push_back({count_, each.op, each.value});
            }
        }
    }
    Advertised(const Advertised&) = delete;
    Advertised& operator=(const Advertised&) = delete;

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    // Whether some advertisement has the message; checks its attributes on the way. `satisfied` is working memory.
    [[nodiscard]] wire::Status admits(const wire::MessageView& message, std::vector<std::uint32_t>& satisfied,
                                      bool& admitted) const {
        satisfied.assign(count_, 0);
        admitted = count_ > 0;
        wire::AttributeCursor attributes(message);
        std::uint32_t so_far = 0;
        for (wire::AttributeView each; attributes.next(each); ++so_far, each = {}) {
            if (admitted) admitted = narrow(each, so_far, satisfied);
        }
        return attributes.status();
    }

  private:
    struct Key {
        std::string_view name{};
        wire::Type type = wire::Type::String;

        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept {
            return std::hash<std::string_view>{}(key.name) * 31 + static_cast<std::size_t>(key.type);
        }
    };
    struct Term {
        std::uint32_t advertisement = 0;
        wire::Op op = wire::Op::Any;
        wire::ValueView value{};
    };

    // Of the advertisements that have had all attributes `so_far`, whether some have this one as well.
    [[nodiscard]] bool narrow(const wire::AttributeView& attribute, std::uint32_t so_far,
                              std::vector<std::uint32_t>& satisfied) const {
        const auto found = terms_.find({attribute.name, attribute.value.type});
        if (found == terms_.end()) return false;
        bool some = false;
        for (const Term& term : found->second) {
            std::uint32_t& count = satisfied[term.advertisement];
            if (count != so_far || !detail::satisfies(term.op, attribute.value, term.value)) continue;
            ++count;
            some = true;
        }
        return some;
    }

    std::vector<std::uint8_t> bytes_;
    std::uint32_t count_ = 0;
    std::unordered_map<Key, std::vector<Term>, Hash> terms_;
};

// How many messages of a client were refused. The data plane counts while the control plane asks.
class Refusals {
  public:
    struct Refused {
        std::uint64_t count = 0;
        std::uint64_t sequence = 0;  // of the last message
    };

    void note(const wire::MessageView& message) noexcept {
        sequence_.store(message.sequence, std::memory_order_relaxed);
        count_.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] Refused refused() const noexcept {
        return {count_.load(std::memory_order_relaxed), sequence_.load(std::memory_order_relaxed)};
    }

  private:
    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> sequence_{0};
};

// All clients of a router. One that has advertised nothing may publish nothing.
//
// What a client has advertised may be told in parts, so that one of many advertisements can change at the cost
// of the part it is in.
class Gate {
  public:
    explicit Gate(std::size_t interfaces) : lanes_(interfaces) {
        for (Lane& lane : lanes_) lane.parts.set(std::make_shared<const Parts>());
    }

    [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }

    // The predicate must have been validated; its filters are advertisements. Parts that were never told, or have
    // no advertisement, cost nothing behind the last that has. To be called by one thread.
    void set(std::uint32_t interface, std::uint32_t part, wire::Bytes predicate) {
        Parts parts = *lanes_[interface].parts.get();
        if (part >= parts.size()) parts.resize(std::size_t{part} + 1, none_);
        parts[part] = std::make_shared<const Advertised>(predicate);
        while (!parts.empty() && parts.back()->empty()) parts.pop_back();
        lanes_[interface].parts.set(std::make_shared<const Parts>(std::move(parts)));
    }

    // As `Advertised::admits`; counts what is refused.
    [[nodiscard]] wire::Status admits(std::uint32_t interface, const wire::MessageView& message,
                                      std::vector<std::uint32_t>& satisfied, bool& admitted) {
        Lane& lane = lanes_[interface];
        const std::shared_ptr<const Parts> parts = lane.parts.get();
        const Advertised& first = parts->empty() ? *none_ : *parts->front();
        wire::Status status = first.admits(message, satisfied, admitted);
        for (std::size_t each = 1; status.ok() && !admitted && each < parts->size(); ++each) {
            status = (*parts)[each]->admits(message, satisfied, admitted);
        }
        if (status.ok() && !admitted) lane.refusals.note(message);
        return status;
    }

    [[nodiscard]] Refusals::Refused refused(std::uint32_t interface) const noexcept {
        return lanes_[interface].refusals.refused();
    }

  private:
    using Parts = std::vector<std::shared_ptr<const Advertised>>;
    struct Lane {
        Published<Parts> parts;
        Refusals refusals;
    };
    std::shared_ptr<const Advertised> none_ = std::make_shared<const Advertised>();
    std::vector<Lane> lanes_;
};

using GatePointer = std::shared_ptr<Gate>;

}  // namespace cbn
