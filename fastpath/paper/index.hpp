// The paper's forwarding table, whole and immutable: matched by any number of threads at once.
//
// FWD Fig. 4 without a selectivity table (`counting`), Fig. 7 with one (`selective`, r rounds). Built by
// paper/building.hpp; how it is laid out and where it departs from the paper: docs/paper-algorithms.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "match/index.hpp"
#include "paper/constraints.hpp"
#include "paper/network.hpp"
#include "paper/selectivity.hpp"
#include "wire/wire.hpp"

namespace cbn::paper {

struct Stats {
    std::size_t offered = 0;               // filters, those filed twice too
    std::size_t constraints = 0;           // of all filters of all interfaces, equal filters of one counted once
    std::size_t interfaces = 0;
    std::size_t names = 0;
    std::size_t distinct_filters = 0;      // F2
    std::size_t distinct_constraints = 0;  // F2
    std::size_t trie_nodes = 0;
    std::size_t determinants = 0;          // rows of the selectivity table
    std::size_t kept = 0;                  // bytes of the filters that the engine keeps to build from
    std::size_t bytes = 0;                 // those too
};

class Index final : public cbn::Index {
  public:
    wire::Status match(const wire::MessageView& message, const Bits* allowed, std::uint32_t except,
                       Scratch& scratch) const override {
        State& state = scratch.state<State>();
        scratch.matched.clear();
        const wire::Status status = note_attributes(message, state);
        if (!status.ok()) return status;
        Counting counting(network_, state);
        counting.begin(allowed, except);
        counting.take_universal();
        selectivity_.pre_process(counting, state);
        if (state.undecided > 0) count_all(counting, state);
        for (std::uint32_t place = state.matched.next(0); place != NONE; place = state.matched.next(place + 1)) {
            scratch.matched.push_back(network_.interfaces[place]);
        }
        return status;
    }

    [[nodiscard]] TableStats stats() const override {
        const Stats all = details();
        return {all.offered, all.constraints, all.interfaces, all.names, all.bytes};
    }

    [[nodiscard]] Stats details() const {
        Stats stats = counted_;
        stats.interfaces = network_.interfaces.size();
        stats.names = constraints_.names();
        stats.distinct_constraints = constraints_.constraints();
        stats.trie_nodes = constraints_.nodes();
        stats.determinants = selectivity_.rows();
        stats.bytes = stats.kept + sizeof *this + constraints_.bytes() + network_.bytes() + selectivity_.bytes();
        return stats;
    }

    [[nodiscard]] std::size_t rows() const noexcept { return selectivity_.rows(); }

    // A row of the selectivity table: the name, and the interfaces of which it is a determinant, ascending.
    [[nodiscard]] std::pair<std::string, std::vector<std::uint32_t>> row(std::size_t number) const {
        std::vector<std::uint32_t> interfaces = selectivity_.places(number);
        for (std::uint32_t& each : interfaces) each = network_.interfaces[each];
        return {selectivity_.text(number), std::move(interfaces)};
    }

    // How many interfaces the rounds rule out for a message (F6, F9), in `count`.
    wire::Status eliminated(const wire::MessageView& message, Scratch& scratch, std::size_t& count) const {
        State& state = scratch.state<State>();
        const wire::Status status = note_attributes(message, state);
        if (!status.ok()) return status;
        Counting counting(network_, state);
        counting.begin(nullptr, NOWHERE);
        selectivity_.pre_process(counting, state);
        count = state.eliminated;
        return status;
    }

  private:
    friend class Builder;

    // Checks the attributes. Names are looked up once, for the selectivity table and the constraint index both.
    wire::Status note_attributes(const wire::MessageView& message, State& state) const {
        state.present.clear();
        state.named.assign(constraints_.names(), false);
        wire::AttributeCursor cursor(message);
        // A fresh view each time: the cursor leaves what does not apply to a value's type as it was.
        for (wire::AttributeView attribute; cursor.next(attribute); attribute = {}) {
            const std::uint32_t name = constraints_.name(attribute.name);
            if (name == NONE) continue;
            state.named.set(name);
            state.present.push_back({name, attribute.value});
        }
        return cursor.status();
    }

    void count_all(Counting& counting, State& state) const {
        state.seen.begin(constraints_.partials());
        for (const State::Present& each : state.present) {
            if (!constraints_.match(each.name, each.value, state.seen, counting)) return;
        }
        counting.finish();
    }

    ConstraintIndex constraints_;
    Network network_;
    SelectivityTable selectivity_;
    Stats counted_;
};

// The index as what it is, or null if another algorithm made it.
inline const Index* as_paper(const cbn::Index& index) noexcept { return dynamic_cast<const Index*>(&index); }

// Index::eliminated for a MESSAGE packet.
inline wire::Status eliminated(const Index& index, wire::Bytes packet, Scratch& scratch, std::size_t& count) {
    wire::MessageView message;
    const wire::Status status = wire::parse_message(packet, message);
    return status.ok() ? index.eliminated(message, scratch, count) : status;
}

}  // namespace cbn::paper
