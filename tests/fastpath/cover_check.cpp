// Covering and reduction of random filters and advertisements, held against matching by the plainest means
// (M5, M7, D2, E14).
//
//   cover_check SEED COVERS
//
// Makes pairs of filters that often cover each other until COVERS of them are claimed to. For each claim, messages
// at and beside the boundaries of both are tried: one that matches the covered filter and not the covering one is a
// false cover. Likewise for `overlaps`, `contradictory`, `reduce_filter`, `reduce` and PredicateSet, which must agree
// with `reduce`; and for advertisements, whose sets must agree with comparing each with each. Bytes are damaged now and then. Prints the figures; ends with 1 on a disagreement.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "cover/cover.hpp"

using namespace cbn;
using wire::Op;
using wire::Type;

namespace {

using Random = std::mt19937_64;

// Of type Time if `time`; strings are ordered by bytes.
struct Value {
    Type type = Type::Integer;
    std::int64_t whole = 0;
    double real = 0;
    std::string text{};

    [[nodiscard]] int compare(const Value& other) const {
        if (type == Type::String) return text.compare(other.text);
        if (type == Type::Float) return real < other.real ? -1 : real > other.real;
        return whole < other.whole ? -1 : whole > other.whole;
    }
};

struct Constraint {
    int name = 0;
    Op op = Op::Any;
    Value value{};

    // The definition, apart from all that the kernel has.
    [[nodiscard]] bool holds(const Value& given) const {
        if (given.type != value.type) return false;
        const int order = given.compare(value);
        switch (op) {
            case Op::Eq: return order == 0;
            case Op::Ne: return order != 0;
            case Op::Lt: return order < 0;
            case Op::Gt: return order > 0;
            case Op::Le: return order <= 0;
            case Op::Ge: return order >= 0;
            case Op::Prefix: return given.text.rfind(value.text, 0) == 0;
            case Op::Suffix: return given.text.ends_with(value.text);
            case Op::Substring: return given.text.find(value.text) != std::string::npos;
            case Op::Any: return true;
        }
        return false;
    }
};

constexpr int NAMES = 3;
using Filter = std::vector<Constraint>;
using Message = std::vector<std::pair<bool, Value>>;  // by name: whether there, and what

bool matches(const Filter& filter, const Message& message) {
    return std::all_of(filter.begin(), filter.end(), [&](const Constraint& each) {
        const auto& [there, value] = message[static_cast<std::size_t>(each.name)];
        return there && each.holds(value);
    });
}

std::size_t below(Random& random, std::size_t end) { return random() % end; }

std::int64_t any_whole(Random& random) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    const std::int64_t near[] = {least, least + 1, -1, 0, 1, 2, 3, 4, most - 1, most};
    return near[below(random, std::size(near))];
}

double any_real(Random& random) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double near[] = {-infinity, -1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.0000000000000002, 1e308, infinity};
    return near[below(random, std::size(near))];
}

const std::string CHARACTERS[] = {
    "a", "b", "c", std::string(1, '\0'), "\x7f", "\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf",
};

// What a round of checks draws from: seldom anything at all, mostly a corner in which constraints meet.
struct Scene {
    std::size_t names, variety, longest;
    bool nuls;
    Type types[NAMES];

    explicit Scene(Random& random)
        : names(random() % 3 ? 1 : NAMES), variety(random() % 3 ? 2 + 2 * (random() % 2) : std::size(CHARACTERS)),
          longest(names == 1 ? 7 : 5), nuls(random() % 3 == 0) {
        const bool texts = random() % 2;
        for (Type& type : types) type = texts ? Type::String : static_cast<Type>(1 + below(random, 5));
    }
};

std::string any_text(Random& random, const Scene& scene) {
    std::string out;
    if (scene.nuls && random() % 2) out.assign(below(random, 3), '\0');
    for (std::size_t left = below(random, 5); left > 0; --left) out += CHARACTERS[below(random, scene.variety)];
    return out;
}

Value any_value(Random& random, const Scene& scene, Type type) {
    Value out{type};
    if (type == Type::String) out.text = any_text(random, scene);
    if (type == Type::Float) out.real = any_real(random);
    if (type == Type::Integer || type == Type::Time) out.whole = any_whole(random);
    if (type == Type::Boolean) out.whole = static_cast<std::int64_t>(random() % 2);
    return out;
}

Constraint any_constraint(Random& random, const Scene& scene, int name, Type type) {
    while (true) {
        const auto op = static_cast<Op>(1 + below(random, 10));
        if (wire::detail::operator_exists(op, type)) return {name, op, any_value(random, scene, type)};
    }
}

Type any_type(Random& random) { return static_cast<Type>(1 + below(random, 5)); }

Filter any_filter(Random& random, const Scene& scene) {
    Filter out;
    for (std::size_t left = below(random, scene.longest); left > 0; --left) {
        const std::size_t name = below(random, scene.names);
        const Type type = random() % 20 ? scene.types[name] : any_type(random);
        out.push_back(any_constraint(random, scene, static_cast<int>(name), type));
    }
    return out;
}

std::string encoded(const Filter& filter) {
    std::vector<std::string> members;
    for (const Constraint& each : filter) {
        std::string& out = members.emplace_back();
        wire::put_u8(out, static_cast<std::uint8_t>(each.value.type));
        wire::put_u8(out, static_cast<std::uint8_t>(each.op));
        wire::put_name(out, std::string(1 + static_cast<std::size_t>(each.name) / 2, "xyx"[each.name]));
        if (each.op == Op::Any) continue;
        if (each.value.type == Type::String) wire::put_string_value(out, each.value.text);
        if (each.value.type == Type::Float) wire::put_float_value(out, each.value.real);
        if (each.value.type == Type::Boolean) wire::put_u8(out, static_cast<std::uint8_t>(each.value.whole));
        if (each.value.type == Type::Integer || each.value.type == Type::Time) {
            wire::put_u64(out, static_cast<std::uint64_t>(each.value.whole));
        }
    }
    wire::make_set(members);
    std::string out;
    wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
    wire::put_all(out, members);
    return out;
}

wire::Bytes bytes(const std::string& data) { return {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()}; }

std::string pick_text(Random& random, const std::vector<Value>& pool) { return pool[below(random, pool.size())].text; }

// A value of the pool, one beside it, or a text put together from several.
Value near_value(Random& random, const std::vector<Value>& pool) {
    Value out = pool[below(random, pool.size())];
    const std::size_t how = below(random, 4);
    if (out.type == Type::Float && how < 2) {
        out.real = std::nextafter(out.real, how == 0 ? -INFINITY : INFINITY) + 0.0;
    } else if (out.type == Type::Boolean) {
        out.whole = static_cast<std::int64_t>(random() % 2);
    } else if (out.type == Type::String) {
        if (how == 0) out.text += CHARACTERS[below(random, std::size(CHARACTERS))];
        if (how == 1) out.text = pick_text(random, pool) + out.text + pick_text(random, pool);
        if (how == 2) out.text = CHARACTERS[below(random, std::size(CHARACTERS))] + out.text;
    } else if (how < 2) {
        const auto step = static_cast<std::uint64_t>(how == 0 ? -1 : 1);
        out.whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(out.whole) + step);
    }
    return out;
}

// A message at the boundaries of `pool`, by name, that takes from several draws one that suits `wanted`.
Message near_message(Random& random, const Scene& scene, const Filter& pool, const Filter& wanted) {
    Message out(NAMES);
    for (int name = 0; name < NAMES; ++name) {
        std::vector<Value> values;
        for (const Constraint& each : pool) {
            if (each.name == name) values.push_back(each.value);
        }
        if (values.empty()) values.push_back(any_value(random, scene, any_type(random)));
        auto& [there, value] = out[static_cast<std::size_t>(name)];
        there = random() % 8 != 0;
        for (int draws = 0; draws < 6; ++draws) {
            value = near_value(random, values);
            if (std::all_of(wanted.begin(), wanted.end(),
                            [&](const Constraint& each) { return each.name != name || each.holds(value); })) {
                break;
            }
        }
    }
    return out;
}

// As an advertisement: each attribute that is there satisfies a constraint on it.
bool admits(const Filter& advertisement, const Message& message) {
    for (int name = 0; name < NAMES; ++name) {
        const auto& [there, value] = message[static_cast<std::size_t>(name)];
        if (there && std::none_of(advertisement.begin(), advertisement.end(),
                                  [&](const Constraint& each) { return each.name == name && each.holds(value); })) {
            return false;
        }
    }
    return true;
}

struct Figures {
    std::size_t pairs = 0, covers = 0, witnesses = 0, apart = 0, reduced = 0, wrong = 0;
    std::size_t advertisements = 0, offered = 0, unmet = 0, admitted = 0, kept = 0;
};

void complain(const char* what, const Filter& first, const Filter& second, Figures& figures) {
    ++figures.wrong;
    const auto show = [](const std::string& data) {
        for (const char each : data) std::printf("%02x", static_cast<unsigned>(static_cast<std::uint8_t>(each)));
        std::printf(" ");
    };
    std::printf("%s: ", what);
    show(encoded(first));
    show(encoded(second));
    std::printf("\n");
}

void check_pair(Random& random, const Scene& scene, const Filter& wide, const Filter& narrow, Figures& figures) {
    ++figures.pairs;
    bool covering = false, meeting = false, impossible = false;
    const std::string first = encoded(wide), second = encoded(narrow);
    static_cast<void>(cover::covers(bytes(first), bytes(second), covering));
    static_cast<void>(cover::overlaps(bytes(first), bytes(second), meeting));
    static_cast<void>(cover::contradictory(bytes(second), impossible));
    figures.covers += covering;
    figures.apart += !meeting;
    if (!covering && meeting && !impossible) return;
    Filter pool = wide;
    pool.insert(pool.end(), narrow.begin(), narrow.end());
    for (int tries = 0; tries < 12; ++tries) {
        const Message message = near_message(random, scene, pool, narrow);
        if (!matches(narrow, message)) continue;
        ++figures.witnesses;
        if (impossible) complain("matched, though contradictory", narrow, {}, figures);
        if (covering && !matches(wide, message)) complain("false cover", wide, narrow, figures);
        if (!meeting && matches(wide, message)) complain("false apart", wide, narrow, figures);
    }
}

// The narrower one is the wider one with more on top, or anything.
void check_pairs(Random& random, Figures& figures) {
    const Scene scene(random);
    const Filter wide = any_filter(random, scene);
    Filter narrow = any_filter(random, scene);
    check_pair(random, scene, wide, narrow, figures);
    narrow.insert(narrow.end(), wide.begin(), wide.end());
    if (random() % 2 && !narrow.empty()) {
        narrow.erase(narrow.begin() + static_cast<std::ptrdiff_t>(below(random, narrow.size())));
    }
    check_pair(random, scene, wide, narrow, figures);
}

bool any_matches(const std::vector<Filter>& filters, const std::vector<bool>& kept, const Message& message) {
    for (std::size_t at = 0; at < filters.size(); ++at) {
        if (kept[at] && matches(filters[at], message)) return true;
    }
    return false;
}

std::string predicate_of(const std::vector<Filter>& filters) {
    std::vector<std::string> members;
    for (const Filter& each : filters) members.push_back(encoded(each));
    wire::make_set(members);
    std::string out;
    wire::put_u32(out, static_cast<std::uint32_t>(members.size()));
    wire::put_all(out, members);
    return out;
}

// What is left of each filter, and which of them: the reduction must match what all of them match.
void check_reduction(Random& random, Figures& figures) {
    const Scene scene(random);
    std::vector<Filter> filters(2 + below(random, 8));
    for (Filter& each : filters) each = any_filter(random, scene);
    std::string reduced;
    static_cast<void>(cover::reduce(bytes(predicate_of(filters)), reduced));
    std::vector<std::string_view> left;
    static_cast<void>(cover::filters_of(bytes(reduced), left));
    std::vector<bool> kept;
    cover::PredicateSet set;
    for (const Filter& each : filters) {
        std::string thin;
        static_cast<void>(cover::reduce_filter(bytes(encoded(each)), thin));
        kept.push_back(std::find(left.begin(), left.end(), thin) != left.end());
        set.add(thin);
    }
    ++figures.reduced;
    if (set.roots() != reduced) complain("roots are not what reduce leaves", filters[0], filters[1], figures);
    const std::vector<bool> all(filters.size(), true);
    Filter pool;
    for (const Filter& each : filters) pool.insert(pool.end(), each.begin(), each.end());
    for (int tries = 0; tries < 10; ++tries) {
        const Message message = near_message(random, scene, pool, filters[below(random, filters.size())]);
        if (any_matches(filters, all, message) != any_matches(filters, kept, message)) {
            complain("reduction changed what matches", filters[0], filters[1], figures);
        }
    }
}

// As advertisements, and the one against the other as a filter.
void check_advertisements(Random& random, Figures& figures) {
    const Scene scene(random);
    const Filter wide = any_filter(random, scene);
    Filter narrow = random() % 2 ? wide : any_filter(random, scene);
    if (!narrow.empty() && random() % 2) {
        narrow.erase(narrow.begin() + static_cast<std::ptrdiff_t>(below(random, narrow.size())));
    }
    bool covering = false, meeting = false;
    const std::string first = encoded(wide), second = encoded(narrow);
    std::string thin;
    static_cast<void>(cover::advertisement_covers(bytes(first), bytes(second), covering));
    static_cast<void>(cover::advertisement_overlaps(bytes(first), bytes(second), meeting));
    static_cast<void>(cover::reduce_advertisement(bytes(second), thin));
    bool same = false, back = false;
    static_cast<void>(cover::advertisement_covers(bytes(thin), bytes(second), same));
    static_cast<void>(cover::advertisement_covers(bytes(second), bytes(thin), back));
    if (!same || !back) complain("a reduced advertisement admits something else", narrow, {}, figures);
    ++figures.advertisements;
    figures.offered += covering;
    figures.unmet += !meeting;
    Filter pool = wide;
    pool.insert(pool.end(), narrow.begin(), narrow.end());
    for (int tries = 0; tries < 12; ++tries) {
        const Message message = near_message(random, scene, pool, random() % 2 ? wide : narrow);
        const bool by_first = admits(wide, message);
        figures.admitted += by_first;
        if (covering && admits(narrow, message) && !by_first) complain("false cover of advertisements", wide, narrow, figures);
        if (!meeting && by_first && matches(narrow, message)) complain("false refusal", wide, narrow, figures);
    }
}

// What is said to have changed is what is in the larger of two sets alone.
void check_told(const std::vector<std::string>& less, const std::vector<std::string>& more,
                std::vector<std::string> told, Figures& figures) {
    std::vector<std::string> difference;
    std::set_difference(more.begin(), more.end(), less.begin(), less.end(), std::back_inserter(difference));
    std::sort(told.begin(), told.end());
    if (told != difference) complain("the wrong changes are told", {}, {}, figures);
}

// Sets of advertisements and their overlaps with filters, changed at random, against comparing each with each.
void check_offers(Random& random, Figures& figures) {
    const Scene scene(random);
    std::vector<std::string> filters, offers;
    for (std::size_t left = 2 + below(random, 8); left > 0; --left) {
        std::string thin;
        static_cast<void>(cover::reduce_advertisement(bytes(encoded(any_filter(random, scene))), thin));
        offers.push_back(thin);
        static_cast<void>(cover::reduce_filter(bytes(encoded(any_filter(random, scene))), thin));
        filters.push_back(thin);
    }
    cover::AdvertisementSet set;
    cover::Overlaps overlaps;
    std::vector<std::size_t> held(offers.size()), asked(filters.size());
    const auto with = [&](std::uint32_t owner) {
        std::vector<std::string> out;
        for (const std::string& each : filters) {
            std::vector<std::uint32_t> owners;
            static_cast<void>(overlaps.owners(each, owners));
            if (std::find(owners.begin(), owners.end(), owner) != owners.end()) out.push_back(each);
        }
        wire::make_set(out);
        return out;
    };
    for (int step = 0; step < 40; ++step) {
        const std::size_t at = below(random, offers.size());
        const auto owner = static_cast<std::uint32_t>(at % 3);
        const std::vector<std::string> before = with(owner);
        std::vector<std::string> told;
        switch (random() % 4) {
            case 0:
                ++held[at];
                set.add(offers[at]);
                overlaps.advertise(owner, offers[at], told);
                check_told(before, with(owner), told, figures);
                break;
            case 1:
                if (held[at] == 0) break;
                --held[at];
                if (!set.remove(offers[at])) complain("a member is not there", {}, {}, figures);
                if (!overlaps.withdraw(owner, offers[at], told)) {
                    complain("an advertisement is not there", {}, {}, figures);
                }
                check_told(with(owner), before, told, figures);
                break;
            case 2:
                ++asked[at];
                overlaps.add(filters[at]);
                break;
            default:
                if (asked[at] > 0 && asked[at]-- > 0 && !overlaps.remove(filters[at])) {
                    complain("a filter is not there", {}, {}, figures);
                }
        }
    }
    ++figures.kept;
    const auto covers = [](const std::string& wide, const std::string& narrow) {
        bool out = false;
        static_cast<void>(cover::advertisement_covers(bytes(wide), bytes(narrow), out));
        return out;
    };
    std::vector<std::string_view> left;
    const std::string roots = set.roots();
    static_cast<void>(cover::filters_of(bytes(roots), left));
    for (std::size_t at = 0; at < offers.size(); ++at) {
        const bool root = std::find(left.begin(), left.end(), offers[at]) != left.end();
        bool below_other = false, below_root = false;
        for (std::size_t other = 0; other < offers.size(); ++other) {
            if (held[other] == 0 || offers[other] == offers[at] || !covers(offers[other], offers[at])) continue;
            below_other = below_other || !covers(offers[at], offers[other]);
            below_root |= std::find(left.begin(), left.end(), offers[other]) != left.end();
        }
        if (held[at] == 0) {
            const bool again = std::find(offers.begin(), offers.end(), offers[at]) != offers.begin() + at;
            if (root && !again && std::count(offers.begin(), offers.end(), offers[at]) == 1) {
                complain("a root that is not held", {}, {}, figures);
            }
        } else if (root ? below_other : !below_root) {
            complain("the wrong advertisements are roots", {}, {}, figures);
        }
    }
    for (std::size_t at = 0; at < filters.size(); ++at) {
        std::vector<std::uint32_t> told, true_ones;
        const bool there = overlaps.owners(filters[at], told);
        for (std::uint32_t owner = 0; owner < 3; ++owner) {
            bool any = false;
            for (std::size_t each = owner; each < offers.size(); each += 3) {
                bool meeting = false;
                static_cast<void>(cover::advertisement_overlaps(bytes(offers[each]), bytes(filters[at]), meeting));
                any |= held[each] > 0 && meeting;
            }
            if (any) true_ones.push_back(owner);
        }
        if (there && told != true_ones) complain("the wrong owners overlap", {}, {}, figures);
        if (!there && asked[at] > 0) complain("a filter was lost", {}, {}, figures);
    }
}

// Whatever the bytes, there is a verdict, and nothing is read beyond them.
void check_damaged(Random& random) {
    const Scene scene(random);
    std::string data = encoded(any_filter(random, scene));
    if (random() % 2) data = predicate_of({any_filter(random, scene), any_filter(random, scene)});
    for (std::size_t left = below(random, 4); left > 0; --left) {
        data[below(random, data.size())] = static_cast<char>(random());
    }
    data.resize(below(random, data.size() + 1));
    const std::vector<std::uint8_t> exact(data.begin(), data.end());
    bool answer = false;
    std::string out;
    cover::Count count;
    static_cast<void>(cover::covers(exact, exact, answer));
    static_cast<void>(cover::overlaps(exact, exact, answer));
    static_cast<void>(cover::advertisement_covers(exact, exact, answer));
    static_cast<void>(cover::advertisement_overlaps(exact, exact, answer));
    static_cast<void>(cover::reduce_advertisement(exact, out));
    static_cast<void>(cover::reduce_filter(exact, out));
    static_cast<void>(cover::reduce(exact, out));
    static_cast<void>(cover::difference(exact, exact, out));
    static_cast<void>(cover::count(exact, count));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: cover_check SEED COVERS\n");
        return 2;
    }
    Random random(std::strtoull(argv[1], nullptr, 10));
    const std::size_t wanted = std::strtoull(argv[2], nullptr, 10);
    Figures figures;
    while (figures.covers < wanted && figures.wrong < 10) {
        check_pairs(random, figures);
        if (figures.pairs % 2 == 0) check_advertisements(random, figures);
        if (figures.pairs % 16 == 4) check_offers(random, figures);
        if (figures.pairs % 16 == 0) check_reduction(random, figures);
        if (figures.pairs % 16 == 8) check_damaged(random);
    }
    std::printf("%zu wrong in %zu pairs: %zu covers, %zu apart, %zu messages at their boundaries, %zu reductions\n",
                figures.wrong, figures.pairs, figures.covers, figures.apart, figures.witnesses, figures.reduced);
    std::printf("%zu pairs of advertisements: %zu covers, %zu that do not overlap, %zu messages admitted, %zu sets\n",
                figures.advertisements, figures.offered, figures.unmet, figures.admitted, figures.kept);
    return figures.wrong == 0 ? 0 : 1;
}
