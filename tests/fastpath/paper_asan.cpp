// The paper's algorithms over random tables and messages, for the sanitizers to watch.
//
//   paper_asan SEED ROUNDS
//
// Messages and filters lie in allocations of just their size. Every answer is compared with a search through all
// filters; the rounds of the selectivity table may rule out only what that search does not find (F6). Prints the
// figures; ends with 1 on a disagreement.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "wire/codec.hpp"
#include "paper/engine.hpp"
#include "plain_search.hpp"

using namespace cbn;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return random() % end; }

class Exact {
  public:
    explicit Exact(const std::string& bytes) : size_(bytes.size()), data_(new std::uint8_t[size_ > 0 ? size_ : 1]) {
        if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
    }
    [[nodiscard]] wire::Bytes bytes() const { return {data_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> data_;
};

// Few letters, so that strings begin, end and lie in each other; the extremes of bytes among them.
std::string text(Random& random) {
    static const std::string letters[] = {"a", "a", "a", "b", "b", std::string(1, '\0'), "\x7f", "\xf4\x8f\xbf\xbf"};
    std::string out;
    for (std::size_t left = below(random, 7); left > 0; --left) out += letters[below(random, 8)];
    return out;
}

std::string value(Random& random, wire::Type type) {
    static constexpr double floats[] = {-1e308, -1.5, -5e-324, 0.0, 5e-324, 1.0, HUGE_VAL, -HUGE_VAL};
    static constexpr std::uint64_t integers[] = {0, 1, 2, 3, ~0ULL, ~1ULL, 1ULL << 63, (1ULL << 63) - 1};
    std::string out;
    switch (type) {
        case wire::Type::String: wire::put_string_value(out, text(random)); break;
        case wire::Type::Float: wire::put_float_value(out, floats[below(random, 8)]); break;
        case wire::Type::Boolean: wire::put_u8(out, random() % 2); break;
        default: wire::put_u64(out, integers[below(random, 8)]); break;
    }
    return out;
}

std::string name(Random& random) { return std::string(1 + below(random, 2), "abc"[below(random, 3)]); }
// Half of all are strings, which have most to go wrong.
wire::Type any_type(Random& random) {
    return random() % 2 ? wire::Type::String : static_cast<wire::Type>(1 + below(random, 5));
}

std::string constraint(Random& random) {
    while (true) {
        const wire::Type type = any_type(random);
        const auto op = static_cast<wire::Op>(1 + below(random, 10));
        if (!wire::detail::operator_exists(op, type)) continue;
        std::string out;
        wire::put_u8(out, static_cast<std::uint8_t>(type));
        wire::put_u8(out, static_cast<std::uint8_t>(op));
        wire::put_name(out, name(random));
        return op == wire::Op::Any ? out : out + value(random, type);
    }
}

std::string filter(Random& random) {
    std::vector<std::string> members;
    const std::size_t most = random() % 16 == 0 ? 1 : 4;
    for (std::size_t left = below(random, most + 1); left > 0 || (members.empty() && random() % 8); left -= left > 0) {
        members.push_back(constraint(random));
    }
    wire::make_set(members);
    std::string out;
    wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
    wire::put_all(out, members);
    return out;
}

struct Attributes {
    std::string section;
    std::uint16_t count = 0;
};

Attributes attributes(Random& random) {
    std::map<std::string, std::string> named;
    for (std::size_t left = below(random, 6); left > 0; --left) {
        const wire::Type type = any_type(random);
        const std::string called = name(random);
        std::string attribute;
        wire::put_u8(attribute, static_cast<std::uint8_t>(type));
        wire::put_name(attribute, called);
        named[called] = attribute + value(random, type);
    }
    Attributes out;
    out.count = static_cast<std::uint16_t>(named.size());
    for (const auto& [called, attribute] : named) out.section += attribute;
    if (random() % 16 == 0 && !out.section.empty()) out.section[below(random, out.section.size())] ^= 0x40;
    return out;
}

struct Figures {
    std::size_t disagreements = 0, matches = 0, eliminated = 0, refused = 0;
};

using Filed = std::map<std::uint64_t, std::pair<std::uint32_t, std::string>>;

// Few interfaces with many filters, or many with few; some filters are filed for several.
void change(Random& random, paper::Engine& engine, Filed& filed, std::uint32_t interfaces) {
    for (std::size_t left = below(random, 40); left > 0; --left) {
        if (random() % 3 == 0 && !filed.empty()) {
            const auto victim = std::next(filed.begin(), static_cast<std::ptrdiff_t>(below(random, filed.size())));
            if (!engine.remove(victim->first) || engine.remove(victim->first)) std::abort();
            filed.erase(victim);
            continue;
        }
        const std::string encoded = filter(random);
        for (std::size_t copies = random() % 4 ? 1 : below(random, 5); copies > 0; --copies) {
            const auto interface = static_cast<std::uint32_t>(below(random, interfaces) * 3);
            filed[engine.add(interface, Exact(encoded).bytes())] = {interface, encoded};
        }
    }
}

void compare(Random& random, const cbn::Index& index, const Filed& filed, Scratch& scratch, Figures& figures) {
    const Attributes sent = attributes(random);
    const Exact section(sent.section);
    wire::MessageView message;
    message.attributes = section.bytes();
    message.attribute_count = sent.count;
    Bits allowed;
    for (std::uint32_t at = 0; at < 200; ++at) {
        if (random() % 4) allowed.set(at);
    }
    const Bits* limit = random() % 2 ? &allowed : nullptr;
    const auto except = random() % 2 ? static_cast<std::uint32_t>(below(random, 12)) : NOWHERE;
    if (!index.match(message, limit, except, scratch).ok()) {
        ++figures.refused;
        figures.disagreements += scratch.matched.empty() ? 0 : 1;
        return;
    }
    std::set<std::uint32_t> wanted, all;
    for (const auto& [id, entry] : filed) {
        if (!test::matches(Exact(entry.second).bytes(), message)) continue;
        all.insert(entry.first);
        if (entry.first != except && (limit == nullptr || allowed.test(entry.first))) wanted.insert(entry.first);
    }
    figures.matches += wanted.size();
    const std::set<std::uint32_t> found(scratch.matched.begin(), scratch.matched.end());
    if (found != wanted || found.size() != scratch.matched.size()) ++figures.disagreements;
    const auto& paper_index = static_cast<const paper::Index&>(index);
    std::size_t eliminated = 0;
    if (!paper_index.eliminated(message, scratch, eliminated).ok()) ++figures.disagreements;
    figures.eliminated += eliminated;
    if (eliminated + all.size() > paper_index.stats().interfaces) ++figures.disagreements;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    Random random(std::strtoull(arguments[1], nullptr, 10));
    Figures figures;
    Scratch scratch;
    for (std::size_t round = std::strtoull(arguments[2], nullptr, 10); round > 0; --round) {
        static constexpr std::size_t rounds[] = {0, 1, 3, 1000};
        paper::Engine engine(rounds[below(random, 4)]);
        Filed filed;
        const std::uint32_t interfaces = random() % 2 ? 4 : 65;
        for (int turn = 0; turn < 3; ++turn) {
            change(random, engine, filed, interfaces);
            const IndexPointer index = engine.commit();
            for (int each = 0; index != nullptr && each < 6; ++each) compare(random, *index, filed, scratch, figures);
        }
    }
    std::printf("%zu disagreements, %zu matches, %zu eliminated, %zu refused\n", figures.disagreements,
                figures.matches, figures.eliminated, figures.refused);
    return figures.disagreements == 0 ? 0 : 1;
}
