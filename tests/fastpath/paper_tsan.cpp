// Threads match the paper's index while another commits, for ThreadSanitizer to watch.
//
//   paper_tsan COMMITS
//
// Every commit swaps both of two filters for the same of two other interfaces: a match that sees one of each saw
// half a commit. Prints how many matches there were and how many of them were mixed; ends with 1 if any was.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "wire/codec.hpp"
#include "paper/engine.hpp"
#include "fib/snapshot.hpp"

using namespace cbn;

namespace {

// s * "ab" and s *< "b": through the trie, the marks of partial matches, and the counters.
std::string filter() {
    std::string out;
    wire::put_u16(out, 2);
    for (const auto& [op, text] : {std::pair{8, "b"}, std::pair{9, "ab"}}) {
        wire::put_u8(out, 1);
        wire::put_u8(out, static_cast<std::uint8_t>(op));
        wire::put_name(out, "s");
        wire::put_string_value(out, text);
    }
    return out;
}

wire::Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Figures {
    std::atomic<std::size_t> matches = 0, mixed = 0;
};

void read(const Published<Index>& published, const std::atomic<bool>& stop, Figures& figures) {
    std::string section;
    wire::put_u8(section, 1);
    wire::put_name(section, "s");
    wire::put_string_value(section, "ababab");
    wire::MessageView message;
    message.attributes = bytes_of(section);
    message.attribute_count = 1;
    Scratch scratch;
    while (!stop.load()) {
        const IndexPointer index = published.get();
        if (!index->match(message, nullptr, NOWHERE, scratch).ok()) std::abort();
        std::vector<std::uint32_t> found = scratch.matched;
        std::sort(found.begin(), found.end());
        if (found != std::vector<std::uint32_t>{0, 1} && found != std::vector<std::uint32_t>{2, 3}) ++figures.mixed;
        ++figures.matches;
    }
}

void commit_pair(paper::Engine& engine, Published<Index>& published, std::vector<std::uint64_t>& ids, bool low) {
    for (const std::uint64_t id : ids) static_cast<void>(engine.remove(id));
    ids.clear();
    const std::string encoded = filter();
    for (const std::uint32_t interface : low ? std::vector{0U, 1U} : std::vector{2U, 3U}) {
        ids.push_back(engine.add(interface, bytes_of(encoded)));
    }
    published.set(engine.commit());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    paper::Engine engine(10);
    Published<Index> published;
    std::vector<std::uint64_t> ids;
    Figures figures;
    std::atomic<bool> stop = false;
    commit_pair(engine, published, ids, true);
    std::vector<std::thread> readers;
    for (int each = 0; each < 2; ++each) readers.emplace_back([&] { read(published, stop, figures); });
    for (long turn = std::strtol(arguments[1], nullptr, 10); turn > 0; --turn) {
        commit_pair(engine, published, ids, turn % 2 == 0);
    }
    while (figures.matches == 0) std::this_thread::yield();
    stop = true;
    for (std::thread& reader : readers) reader.join();
    std::printf("%zu matches, %zu mixed\n", figures.matches.load(), figures.mixed.load());
    return figures.mixed == 0 ? 0 : 1;
}
