// Damaged workloads, fed in pieces of any size, under the sanitizers: whatever the text, a reader ends with lists
// of valid filters and packets or with a TextError.
//
//   workload_asan SEED ROUNDS -> "read R filters F messages M refused E invalid I different D"
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/messages.hpp"
#include "workload/workload.hpp"

using namespace cbn;
using workload::Random;

namespace {

workload::Recipe recipe(std::uint64_t seed) {
    workload::Recipe made;
    made.seed = seed;
    made.interfaces = 3;
    made.filters = 6;
    made.constraints = {0, 4};
    made.attributes = {0, 6};
    made.integers = {-5, 5};
    made.words = 6;
    made.piece = 2;
    made.names = workload::Weighted({6, 5, 4, 3, 2, 1});
    made.types = workload::Weighted({1, 1});
    made.string_ops = workload::Weighted({1, 1, 1, 1, 1, 1, 1});
    made.integer_ops = workload::Weighted({1, 1, 1, 1, 1, 1});
    return made;
}

void damage(std::string& text, Random& random) {
    static constexpr char bytes[] = " \n\0fmis=<>!^$*0189-\xff\xc3\r\t";
    for (std::uint64_t left = random.below(4); left > 0 && !text.empty(); --left) {
        const std::size_t at = random.below(text.size());
        const char byte = bytes[random.below(sizeof bytes)];
        switch (random.below(4)) {
            case 0: text[at] = byte; break;
            case 1: text.insert(at, 1, byte); break;
            case 2: text.erase(at, 1 + random.below(5)); break;
            default: text.insert(at, std::string("99999999999999999999").substr(random.below(20))); break;
        }
    }
}

struct Tally {
    unsigned long read = 0, filters = 0, messages = 0, refused = 0, invalid = 0, different = 0;
} tally;

// Memory of exactly that size, so that reading past its end is noticed.
template <class Reader>
bool feed(Reader& reader, const std::string& text, Random& random) {
    try {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = std::min<std::size_t>(1 + random.below(40), text.size() - at);
            const std::vector<std::uint8_t> piece(text.begin() + static_cast<long>(at),
                                                  text.begin() + static_cast<long>(at + size));
            reader.feed({piece.data(), piece.size()});
            at += size;
        }
        reader.finish();
        ++tally.read;
        return true;
    } catch (const workload::TextError&) {
        ++tally.refused;
        return false;
    }
}

bool same(const workload::Pieces& left, const workload::Pieces& right) {
    bool equal = left.size() == right.size();
    for (std::size_t at = 0; equal && at < left.size(); ++at) {
        equal = wire::as_text(left.at(at)) == wire::as_text(right.at(at));
    }
    return equal;
}

void try_filters(const std::string& text, Random& random) {
    workload::FilterReader reader, whole;
    if (!feed(reader, text, random)) return;
    for (std::size_t at = 0; at < reader.list.filters.size(); ++at, ++tally.filters) {
        tally.invalid += !wire::validate_filter(reader.list.filters.at(at)).ok();
    }
    whole.feed({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    whole.finish();
    tally.different += !same(reader.list.filters, whole.list.filters);
}

void try_messages(const std::string& text, Random& random) {
    workload::MessageReader reader;
    if (!feed(reader, text, random)) return;
    const workload::FilterReader none;
    const bench::KnownStrings known(none.list);
    workload::MessageList fresh;
    bench::make_fresh(reader.list, 50, known, random, fresh);
    for (std::size_t at = 0; at < reader.list.packets.size(); ++at, ++tally.messages) {
        tally.invalid += !wire::validate_message(reader.list.packets.at(at)).ok();
        tally.invalid += !wire::validate_message(fresh.packets.at(at)).ok();
    }
}

}  // namespace

int main(int, char** arguments) {
    const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
    Random random(seed, "damage");
    for (long round = std::strtol(arguments[2], nullptr, 10); round > 0; --round) {
        workload::Generator generator(recipe(seed + static_cast<std::uint64_t>(round)));
        std::string filters, messages;
        generator.filters(5, filters);
        generator.messages(5, messages);
        damage(filters, random);
        damage(messages, random);
        try_filters(filters, random);
        try_messages(messages, random);
    }
    std::printf("read %lu filters %lu messages %lu refused %lu invalid %lu different %lu\n", tally.read, tally.filters,
                tally.messages, tally.refused, tally.invalid, tally.different);
}
