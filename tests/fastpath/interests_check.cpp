// Random histories of pools, predicates, unions and an editor against std::set and std::map, under ASan and UBSan.
//
//   interests_check SEED STEPS        prints: wrong answers, steps, filters held at the end
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>

#include "interests/calls.hpp"

namespace {

using namespace cbn;
using interests::Predicate;
using Filters = std::set<std::string>;

int wrong = 0;

void expect(bool holds, const char* what, int step) {
    if (holds) return;
    ++wrong;
    std::printf("step %d: %s\n", step, what);
}

std::string filter(std::mt19937_64& luck) {
    std::string out;
    wire::put_u16(out, 1);
    wire::put_u8(out, 1);
    wire::put_u8(out, 1);
    wire::put_name(out, "n");
    wire::put_string_value(out, std::string(luck() % 130, static_cast<char>('a' + luck() % 4)));
    return out;
}

std::string encode(const Filters& filters) {
    std::string out;
    wire::put_u32(out, static_cast<std::uint32_t>(filters.size()));
    for (const std::string& each : filters) out += each;
    return out;
}

wire::Bytes bytes(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// Plays the forwarding table.
struct Shelf {
    std::map<std::uint64_t, std::pair<std::uint32_t, std::string>> filed;
    std::uint64_t next = std::uint64_t{1} << 40;

    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) {
        filed[next] = {interface, std::string(wire::as_text(filter))};
        return next++;
    }
    bool remove(std::uint64_t id) {
        expect(filed.erase(id) == 1, "what was not filed is removed", -1);
        return true;
    }
};

struct Held {
    std::unique_ptr<Predicate> predicate;
    Filters filters;
    std::uint32_t interface;
};

void play(std::uint64_t seed, int steps, const interests::PoolPointer& pool) {
    std::mt19937_64 luck(seed);
    interests::TableEditor editor(pool, luck() % 2 == 0 ? 0 : 1000);
    interests::Union all(pool, 0);
    Shelf shelf;
    Filters given;
    std::vector<Held> held;
    for (int step = 0; step < steps; ++step) {
        if (!held.empty() && luck() % 100 < 45) {
            std::swap(held[luck() % held.size()], held.back());
            expect(editor.remove(held.back().interface, *held.back().predicate), "the editor knows it", step);
            expect(all.remove(*held.back().predicate), "the union knows it", step);
            held.pop_back();
        } else {
            Held fresh{std::make_unique<Predicate>(pool), {}, static_cast<std::uint32_t>(luck() % 3)};
            for (auto left = luck() % 9; left > 0; --left) fresh.filters.insert(filter(luck));
            const std::string text = encode(fresh.filters);
            expect(fresh.predicate->read(bytes(text)).ok(), "it is valid", step);
            expect(fresh.predicate->encoded() == text, "it says what it was told", step);
            std::string cut = text.substr(0, luck() % text.size());
            Predicate broken(pool);
            expect(!broken.read(bytes(cut)).ok(), "half of it is refused", step);
            editor.add(fresh.interface, *fresh.predicate);
            all.add(*fresh.predicate);
            held.push_back(std::move(fresh));
        }
        if (luck() % 3 != 0) continue;
        static_cast<void>(editor.settle(shelf));
        std::set<std::pair<std::uint32_t, std::string>> wanted, found;
        Filters whole;
        for (const Held& each : held) {
            for (const std::string& filter : each.filters) wanted.insert({each.interface, filter});
            whole.insert(each.filters.begin(), each.filters.end());
        }
        for (const auto& [id, place] : shelf.filed) found.insert(place);
        expect(found == wanted && found.size() == shelf.filed.size(), "the table holds the unions", step);
        Predicate removed(pool), added(pool);
        interests::settle_into(all, removed, added);
        for (const std::string_view each : removed.filters()) given.erase(std::string(each));
        for (const std::string_view each : added.filters()) given.insert(std::string(each));
        expect(given == whole, "the union's changes add up", step);
    }
}

}  // namespace

int main(int, char** arguments) {
    const auto seed = std::strtoull(arguments[1], nullptr, 10);
    const int steps = std::atoi(arguments[2]);
    const auto pool = std::make_shared<interests::Pool>();
    for (std::uint64_t round = 0; round < 4; ++round) play(seed + round, steps / 4, pool);
    std::printf("%d wrong, %d steps, %zu filters left\n", wrong, steps, pool->size());
    return wrong == 0 ? 0 : 1;
}
