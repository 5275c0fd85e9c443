// What the clients of a router may publish by its policy: what matches a predicate of theirs.
//
// What is permitted is set before the first FIB has it. Not here: what clients have advertised (fib/gate.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fib/gate.hpp"
#include "match/index.hpp"
#include "wire/wire.hpp"

namespace cbn {

class Permits {
  public:
    explicit Permits(std::size_t interfaces) : lanes_(interfaces) {}

    [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }

    // What matches a filter of the table, at any interface of it, may be published at this interface, and nothing else.
    void limit(std::uint32_t interface, IndexPointer table) { lanes_[interface].table = std::move(table); }

    // Whether the client there may publish the message; counts what is refused. The attributes of a message that is
    // compared with something are checked on the way.
    [[nodiscard]] wire::Status permits(std::uint32_t interface, const wire::MessageView& message, Scratch& scratch,
                                       bool& permitted) {
        Lane& lane = lanes_[interface];
        permitted = true;
        if (lane.table == nullptr) return {};
        const wire::Status status = lane.table->match(message, nullptr, NOWHERE, scratch);
        permitted = status.ok() && !scratch.matched.empty();
        if (status.ok() && !permitted) lane.refusals.note(message);
        return status;
    }

    [[nodiscard]] Refusals::Refused refused(std::uint32_t interface) const noexcept {
        return lanes_[interface].refusals.refused();
    }

  private:
    struct Lane {
        IndexPointer table;  // null: anything
        Refusals refusals;
    };
    std::vector<Lane> lanes_;
};

using PermitsPointer = std::shared_ptr<Permits>;

}  // namespace cbn
