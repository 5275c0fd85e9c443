// What the `fast` engine says it takes, beside what the allocator has given out for it, after building and again
// after every filter has been replaced several times by one with strings that were never seen before.
//
//   fast_memory FILTERS INTERFACES
//
// Prints `stats malloced` twice, in bytes, and the number of constraints.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "wire/codec.hpp"
#include "match/engine.hpp"

using namespace cbn;

namespace {

std::size_t malloced() {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

class Filters {
  public:
    // `fresh` strings come once and never again.
    std::string make(bool fresh) {
        std::vector<std::string> members;
        for (std::size_t left = 1 + random_() % 6; left > 0; --left) members.push_back(constraint(fresh));
        wire::make_set(members);
        std::string out;
        wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
        wire::put_all(out, members);
        return out;
    }

  private:
    std::string constraint(bool fresh) {
        const bool text = random_() % 2 != 0;
        std::string out;
        wire::put_u8(out, text ? 1 : 2);
        wire::put_u8(out, static_cast<std::uint8_t>(1 + random_() % (text ? 9 : 6)));
        wire::put_name(out, "name" + std::to_string(random_() % 300));
        if (text) {
            const std::size_t known = random_() % 800;
            wire::put_string_value(out, fresh ? "fresh" + std::to_string(++strings_) : "word" + std::to_string(known));
        } else {
            wire::put_u64(out, random_() % 100);
        }
        return out;
    }

    std::mt19937_64 random_{1};
    std::size_t strings_ = 0;
};

void print(const IndexPointer& index, std::size_t before) {
    std::printf("%zu %zu ", index->stats().bytes, malloced() - before);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::size_t filters = std::strtoull(arguments[1], nullptr, 10);
    const std::size_t interfaces = std::strtoull(arguments[2], nullptr, 10);
    Filters made;
    std::vector<std::uint64_t> ids(filters);
    const std::size_t before = malloced();
    const auto engine = std::make_unique<fast::FastEngine>();
    const auto add = [&](std::size_t at, bool fresh) {
        const std::string filter = made.make(fresh);
        const wire::Bytes bytes{reinterpret_cast<const std::uint8_t*>(filter.data()), filter.size()};
        ids[at] = engine->add(static_cast<std::uint32_t>(at % interfaces), bytes);
    };
    for (std::size_t at = 0; at < filters; ++at) add(at, false);
    IndexPointer index = engine->commit();
    print(index, before);
    for (std::size_t turn = 0; turn < 4 * filters; ++turn) {
        engine->remove(ids[turn % filters]);
        add(turn % filters, true);
        if (turn % 1000 == 999) index = engine->commit();
    }
    if (IndexPointer last = engine->commit()) index = std::move(last);
    print(index, before);
    std::printf("%zu\n", index->stats().constraints);
    return 0;
}
