// Filters and a message: the table finds what a search through all filters finds.
//
// The input is the size of a predicate (2 bytes), the predicate, and a packet.
#include <algorithm>
#include <set>

#include "../../fastpath/plain_search.hpp"
#include "../parsers.hpp"
#include "fib/calls.hpp"

using namespace cbn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t split = std::min<std::size_t>(wire::load<std::uint16_t>(data), size - 2);
    const std::vector<std::uint8_t> predicate(data + 2, data + 2 + split), packet(data + 2 + split, data + size);
    wire::MessageView message;
    if (!wire::validate_predicate(predicate).ok() || !wire::validate_message(packet, message).ok()) return 0;
    Table table;
    std::set<std::uint32_t> wanted;
    wire::FilterCursor filters(predicate);
    std::uint32_t interface = 0;
    for (wire::Bytes filter; filters.next(filter); interface = (interface + 1) % 70) {
        static_cast<void>(table.add(interface, filter));
        if (test::matches(filter, message)) wanted.insert(interface);
    }
    table.commit();
    static_cast<void>(match_packet(*table.current(), packet, nullptr));
    auto& found = thread_scratch().matched;
    std::sort(found.begin(), found.end());
    test::require(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()), "the table finds others", packet);
    return 0;
}
