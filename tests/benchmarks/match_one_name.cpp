// What a commit costs where all filters are on one attribute, which is one block.
//
//   match_one_name FILTERS COMMITS
//
// Prints a line a shape of filters: the median commit of one replacement, and of 500, in milliseconds; and the
// median match in microseconds. Judges nothing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "wire/codec.hpp"
#include "fib/table.hpp"

using namespace cbn;

namespace {

using Random = std::mt19937_64;

double ms_of(const std::function<void()>& act) {
    const auto start = std::chrono::steady_clock::now();
    act();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> each) {
    std::nth_element(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2), each.end());
    return each[each.size() / 2];
}

std::string number(wire::Op op, const std::string& name, std::uint64_t value) {
    std::string out;
    wire::put_u8(out, static_cast<std::uint8_t>(wire::Type::Integer));
    wire::put_u8(out, static_cast<std::uint8_t>(op));
    wire::put_name(out, name);
    wire::put_u64(out, value);
    return out;
}

std::string word(Random& random) {
    std::string out;
    for (int letters = 6; letters > 0; --letters) out += static_cast<char>('a' + random() % 26);
    return out;
}

std::string prefix(const std::string& name, const std::string& operand) {
    std::string out;
    wire::put_u8(out, static_cast<std::uint8_t>(wire::Type::String));
    wire::put_u8(out, static_cast<std::uint8_t>(wire::Op::Prefix));
    wire::put_name(out, name);
    wire::put_string_value(out, operand);
    return out;
}

std::string filter_of(std::vector<std::string> members) {
    wire::make_set(members);
    std::string out;
    wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
    wire::put_all(out, members);
    return out;
}

std::string message(Random& random) {
    std::string out;
    wire::begin_packet(out, 1, 0);
    out.append(std::string("\x40\0\0\0\0\0\1\0\0\0\0", 11));
    out.append(16 + 2, '\0');
    wire::put_u16(out, 2);
    wire::put_u8(out, static_cast<std::uint8_t>(wire::Type::String));
    wire::put_name(out, "s");
    wire::put_string_value(out, word(random) + word(random));
    wire::put_u8(out, static_cast<std::uint8_t>(wire::Type::Integer));
    wire::put_name(out, "x");
    wire::put_u64(out, random());
    static_cast<void>(wire::seal(out));
    return out;
}

wire::Bytes view(const std::string& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

class Trial {
  public:
    Trial(std::size_t filters, std::function<std::string(Random&)> make) : make_(std::move(make)) {
        for (std::size_t at = 0; at < filters; ++at) ids_.push_back(add(at));
        table_.commit();
    }

    double commit_ms(std::size_t replacements, std::size_t commits) {
        std::vector<double> took;
        for (; commits > 0; --commits) {
            for (std::size_t left = replacements; left > 0; --left) {
                const std::size_t at = random_() % ids_.size();
                if (!table_.remove(ids_[at])) std::abort();
                ids_[at] = add(at);
            }
            took.push_back(ms_of([&] { table_.commit(); }));
        }
        return median(std::move(took));
    }

    double match_us() {
        std::vector<double> took;
        Scratch scratch;
        for (int left = 1000; left > 0; --left) {
            const std::string packet = message(random_);
            took.push_back(1e3 * ms_of([&] {
                wire::MessageView parsed;
                if (!wire::parse_message(view(packet), parsed).ok()) std::abort();
                if (!table_.current()->match(parsed, nullptr, NOWHERE, scratch).ok()) std::abort();
            }));
        }
        return median(std::move(took));
    }

  private:
    std::uint64_t add(std::size_t at) {
        const std::string filter = make_(random_);
        return table_.add(static_cast<std::uint32_t>(1000 + at), view(filter));
    }

    std::function<std::string(Random&)> make_;
    Random random_{1};
    Table table_{"fast", 10};
    std::vector<std::uint64_t> ids_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: match_one_name FILTERS COMMITS\n");
        return 2;
    }
    const std::size_t filters = std::strtoull(arguments[1], nullptr, 10);
    const std::size_t commits = std::strtoull(arguments[2], nullptr, 10);
    const auto run = [&](const char* what, std::function<std::string(Random&)> make) {
        Trial trial(filters, std::move(make));
        const double one = trial.commit_ms(1, commits), many = trial.commit_ms(500, commits);
        std::printf("%-24s one %.2f ms, 500 %.2f ms, match %.2f us\n", what, one, many, trial.match_us());
    };
    run("x = number", [](Random& random) { return filter_of({number(wire::Op::Eq, "x", random())}); });
    run("x < number", [](Random& random) { return filter_of({number(wire::Op::Lt, "x", random() >> 20)}); });
    run("s prefix, and y > 0", [](Random& random) {
        return filter_of({prefix("s", word(random)), number(wire::Op::Gt, "y", 0)});
    });
    return 0;
}
