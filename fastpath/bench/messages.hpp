// What a benchmark does to messages and caches between measurements: strings never seen before, cold caches.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "workload/workload.hpp"

namespace cbn::bench {

using workload::MessageList;
using workload::Random;

// The strings that filters ask for, so that others can be made. Points into the filters.
class KnownStrings {
  public:
    explicit KnownStrings(const workload::FilterList& list) {
        for (std::size_t at = 0; at < list.filters.size(); ++at) {
            wire::ConstraintCursor cursor(list.filters.at(at));
            for (wire::ConstraintView each; cursor.next(each); each = {}) {
                if (each.value.type == wire::Type::String) known_.insert(each.value.text);
            }
        }
    }

    [[nodiscard]] std::string unknown_word(Random& random) const {
        std::string word = workload::make_word(random);
        while (known_.contains(word)) word += workload::make_word(random);
        return word;
    }

  private:
    std::unordered_set<std::string_view> known_;
};

// Copies messages, and replaces `percent` of their strings by words that no filter has.
inline void make_fresh(const MessageList& from, unsigned percent, const KnownStrings& known, Random& random,
                       MessageList& out) {
    out.packets.clear();
    for (std::size_t at = 0; at < from.packets.size(); ++at) {
        wire::MessageView message;
        static_cast<void>(wire::parse_message(from.packets.at(at), message));  // it has been made by us
        std::string& text = out.packets.open();
        const std::size_t start = text.size();
        workload::begin_message(text, message.sequence, message.attribute_count);
        wire::AttributeWalk walk(message);
        for (wire::AttributeView each; walk.next(each); each = {}) {
            wire::put_u8(text, static_cast<std::uint8_t>(each.value.type));
            wire::put_name(text, each.name);
            if (each.value.type != wire::Type::String) wire::put_u64(text, each.value.bits);
            else if (random.below(100) >= percent) wire::put_string_value(text, each.value.text);
            else wire::put_string_value(text, known.unknown_word(random));
        }
        if (!workload::finish_message(text, start)) throw std::length_error("a message with fresh strings is too long");
        out.packets.close();
    }
}

// Walks through more memory than the last cache holds, so that nothing else stays in any cache.
class CacheFlusher {
  public:
    CacheFlusher() : walk_(std::max<std::size_t>(2 * last_cache(), std::size_t{64} << 20)) {}

    void operator()() noexcept {
        constexpr std::size_t line = 64;
        for (std::size_t at = 0; at < walk_.size(); at += line) ++walk_[at];
    }

    // Brings back what is not to be cold: a packet has just been received.
    static void warm(wire::Bytes packet) noexcept {
        volatile std::uint8_t sink = 0;
        for (const std::uint8_t byte : packet) sink = byte;
        static_cast<void>(sink);
    }

    [[nodiscard]] static std::size_t last_cache() noexcept {
        const long size = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
        return size > 0 ? static_cast<std::size_t>(size) : 0;
    }

  private:
    std::vector<std::uint8_t> walk_;
};

}  // namespace cbn::bench
