// The table under test: the one place where the benchmark touches what it measures.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "fib_calls.hpp"
#include "workload.hpp"

namespace cbn::bench {

// Files the filters from `first` to before `last`; with `central`, each has its line as its interface.
inline void add_filters(Table& table, const workload::FilterList& list, std::size_t first, std::size_t last,
                        bool central) {
    for (std::size_t at = first; at < last; ++at) {
        table.add(central ? static_cast<std::uint32_t>(at) : list.interfaces[at], list.filters.at(at));
    }
}

// What a router does with the bytes of a message: check them, match them. The interfaces, in any order, valid
// until this thread matches again.
inline const std::vector<std::uint32_t>& match_one(const TableIndex& index, wire::Bytes packet) {
    if (!match_packet(index, packet, nullptr).ok()) throw std::logic_error("a packet made here is malformed");
    return thread_scratch().matched;
}

}  // namespace cbn::bench
