// Random filters and messages for the harnesses of the `fast` engine: small worlds in which constraints often
// hold, of every type and operator, with the extremes of each.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "wire/codec.hpp"

namespace cbn::test {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t end) { return random() % end; }

inline wire::Bytes view(const std::string& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

inline std::uint64_t number(const char* argument) { return std::strtoull(argument, nullptr, 10); }

// One world: its names, the letters and lengths of its strings, its types, its interfaces.
class World {
  public:
    explicit World(std::uint64_t seed) : random(seed) {
        static const char* const stems[] = {"a", "b", "aa", "name", "longer-name-x", "longer-name-y"};
        const std::size_t count = below(random, 12) == 0 ? 300 : 1 + below(random, 6);
        for (std::size_t at = 0; at < count; ++at) {
            const std::string tail = below(random, 4) == 0 ? std::string(below(random, 3), '\0') : "";
            names_.push_back(at < 6 ? stems[at] + tail : "n" + std::to_string(at));
        }
        std::sort(names_.begin(), names_.end());
        names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
        longest_ = below(random, 5) == 0 ? 90 : below(random, 3) == 0 ? 12 : 5;
        letters_ = 1 + below(random, 3);
        types_ = below(random, 3);
        static constexpr std::uint32_t extents[] = {1, 3, 20, 70, 255, 258, 1000, 300'000};
        extent_ = extents[below(random, 8)];
        spread_ = below(random, 2) != 0;
        filters_ = below(random, 2) != 0 ? 50 : 8;
        most_constraints_ = 1 + below(random, 4);
        if (below(random, 2) == 0) tighten();
    }

    Random random;

    // Close to where masks end, or anywhere.
    std::uint32_t interface() {
        return static_cast<std::uint32_t>(spread_ ? below(random, extent_) : 250 + below(random, 12));
    }
    // In a round: few, so that one wrong filter shows, or many, so that there is much to tell apart.
    [[nodiscard]] std::size_t filters() const { return filters_; }
    [[nodiscard]] std::uint32_t extent() const { return extent_ + 300; }

    std::string filter() {
        std::vector<std::string> members;
        const std::size_t count = below(random, 16) == 0 ? 0 : 1 + below(random, most_constraints_);
        while (members.size() < count) members.push_back(constraint());
        wire::make_set(members);
        std::string out;
        wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
        wire::put_all(out, members);
        return out;
    }

    std::string message() {
        std::string attributes;
        std::uint16_t count = 0;
        for (const std::string& name : names_) {
            if (below(random, 3) != 0) append(attributes, count, name);
        }
        if (below(random, 4) == 0) append(attributes, count, "z, which no filter mentions");
        std::string out;
        wire::begin_packet(out, 1, 0);
        out.append(std::string("\x40\0\0\0\0\0\1\0\0\0\0", 11));
        out.append(16 + 2, '\0');
        wire::put_u16(out, count);
        out.append(attributes);
        static_cast<void>(wire::seal(out));
        return out;
    }

  private:
    // Two names, three interfaces, the shortest strings: filters that hide others come and go all the time.
    void tighten() {
        names_.resize(std::min<std::size_t>(names_.size(), 2));
        longest_ = 2;
        letters_ = 2;
        types_ = 1 + below(random, 2);
        extent_ = 3;
        spread_ = true;
        filters_ = 8;
        most_constraints_ = 2;
    }

    wire::Type type() {
        if (types_ == 0) return static_cast<wire::Type>(1 + below(random, 5));
        return types_ == 1 ? wire::Type::String : static_cast<wire::Type>(1 + below(random, 2));
    }

    std::string constraint() {
        while (true) {
            const wire::Type kind = type();
            const auto op = static_cast<wire::Op>(1 + below(random, 10));
            if (!wire::detail::operator_exists(op, kind)) continue;
            std::string out;
            wire::put_u8(out, static_cast<std::uint8_t>(kind));
            wire::put_u8(out, static_cast<std::uint8_t>(op));
            wire::put_name(out, names_[below(random, names_.size())]);
            if (op != wire::Op::Any) put_value(out, kind);
            return out;
        }
    }

    void append(std::string& out, std::uint16_t& count, const std::string& name) {
        const wire::Type kind = type();
        wire::put_u8(out, static_cast<std::uint8_t>(kind));
        wire::put_name(out, name);
        put_value(out, kind);
        ++count;
    }

    void put_value(std::string& out, wire::Type kind) {
        static constexpr std::uint64_t least = 1ULL << 63;
        static constexpr std::uint64_t integers[] = {0, 1, 2, 3, ~0ULL, ~1ULL, least, ~least, least + 1, 5000};
        static constexpr double floats[] = {0, 1, -1, 1.5, -1.5, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, 5e-324, -5e-324};
        switch (kind) {
            case wire::Type::String: wire::put_string_value(out, text()); break;
            case wire::Type::Float: wire::put_float_value(out, floats[below(random, 11)]); break;
            case wire::Type::Boolean: wire::put_u8(out, random() % 2); break;
            default: wire::put_u64(out, below(random, 2) != 0 ? integers[below(random, 10)] : below(random, 6)); break;
        }
    }

    std::string text() {
        static const std::string odd[] = {std::string(1, '\0'), "\x7f", "\xf4\x8f\xbf\xbf"};
        std::string out;
        if (below(random, 8) == 0) return out;
        for (std::size_t left = below(random, longest_ + 1); left > 0; --left) {
            const std::size_t letter = below(random, 4 * letters_ + 1);
            if (letter == 4 * letters_) out += odd[below(random, 3)];
            else out += static_cast<char>('a' + letter % letters_);
        }
        return out;
    }

    std::vector<std::string> names_;
    std::size_t filters_, longest_, letters_, types_, most_constraints_;
    std::uint32_t extent_;
    bool spread_;
};

}  // namespace cbn::test
