// The table under test: the one place where the benchmark touches what it measures.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "fib/table.hpp"
#include "workload/workload.hpp"

namespace cbn::bench {

class TestedTable {
  public:
    void choose(const std::string& algorithm, std::size_t rounds) {
        table_ = std::make_unique<Table>(algorithm, rounds);
    }

    // Files the filters from `first` to before `last`; with `central`, each has its line as its interface.
    void add(const workload::FilterList& list, std::size_t first, std::size_t last, bool central) {
        for (std::size_t at = first; at < last; ++at) {
            table_->add(central ? static_cast<std::uint32_t>(at) : list.interfaces[at], list.filters.at(at));
        }
    }

    void commit() { table_->commit(); }

    [[nodiscard]] TablePointer current() const { return table_->current(); }
    [[nodiscard]] TableStats stats() const { return current()->stats(); }

  private:
    std::unique_ptr<Table> table_;
};

// What a router does with the bytes of a message: check them, match them. The interfaces, in any order, are in
// `scratch.matched`.
inline void match_one(const Index& index, wire::Bytes packet, Scratch& scratch) {
    wire::MessageView message;
    wire::Status status = wire::parse_message(packet, message);
    if (status.ok()) status = index.match(message, nullptr, NOWHERE, scratch);
    if (!status.ok()) throw std::logic_error("a packet made here is malformed");
}

}  // namespace cbn::bench
