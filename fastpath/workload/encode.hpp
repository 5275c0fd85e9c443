// Encoded filters and messages, many in one piece of memory, and how they are put together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/codec.hpp"

namespace cbn::workload {

// Byte strings back to back, by number.
class Pieces {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return text_.size(); }
    [[nodiscard]] wire::Bytes at(std::size_t number) const noexcept {
        const std::size_t start = number == 0 ? 0 : ends_[number - 1];
        return {reinterpret_cast<const std::uint8_t*>(text_.data()) + start, ends_[number] - start};
    }

    // A piece is appended to `open()` and ended by `close()`.
    std::string& open() noexcept { return text_; }
    void close() { ends_.push_back(text_.size()); }
    void clear() noexcept {
        text_.clear();
        ends_.clear();
    }
    // Gives back what growing has set aside.
    void trim() {
        text_.shrink_to_fit();
        ends_.shrink_to_fit();
    }

  private:
    std::string text_;
    std::vector<std::size_t> ends_;
};

struct FilterList {
    Pieces filters;                         // encoded and valid, by line
    std::vector<std::uint32_t> interfaces;  // of each
    std::uint64_t constraints = 0;          // as written: before repeated ones are dropped
};

struct MessageList {
    Pieces packets;  // MESSAGEs, valid, by line
};

// What has a name: one constraint of a filter or one attribute of a message, encoded in `Parts`.
struct Part {
    std::size_t start = 0;
    std::size_t size = 0;
    std::size_t name_at = 0;  // within it: after the byte that tells its length
};

// The parts of one filter or one message, collected in any order.
class Parts {
  public:
    void clear() noexcept {
        text_.clear();
        parts_.clear();
    }
    [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }

    void begin_constraint(wire::Type type, wire::Op op, std::string_view name) {
        parts_.push_back({text_.size(), 0, 3});
        wire::put_u8(text_, static_cast<std::uint8_t>(type));
        wire::put_u8(text_, static_cast<std::uint8_t>(op));
        wire::put_name(text_, name);
    }
    void begin_attribute(wire::Type type, std::string_view name) {
        parts_.push_back({text_.size(), 0, 2});
        wire::put_u8(text_, static_cast<std::uint8_t>(type));
        wire::put_name(text_, name);
    }
    void end_with(std::string_view text) {
        wire::put_string_value(text_, text);
        end();
    }
    void end_with(std::int64_t value) {
        wire::put_u64(text_, static_cast<std::uint64_t>(value));
        end();
    }

    // A filter: its constraints ascending, none twice (E5).
    void write_filter(std::string& out) {
        const auto encoded = [this](const Part& part) { return std::string_view(text_).substr(part.start, part.size); };
        std::ranges::sort(parts_, {}, encoded);
        parts_.erase(std::ranges::unique(parts_, {}, encoded).begin(), parts_.end());
        wire::put_u16(out, static_cast<std::uint16_t>(parts_.size()));
        append_all(out);
    }

    // The attributes by ascending name. A name that occurs twice is returned, else an empty one.
    std::string_view write_attributes(std::string& out) {
        const auto name = [this](const Part& part) { return name_of(part); };
        std::ranges::sort(parts_, {}, name);
        const auto twice = std::ranges::adjacent_find(parts_, {}, name);
        if (twice != parts_.end()) return name_of(*twice);
        append_all(out);
        return {};
    }

  private:
    void end() noexcept { parts_.back().size = text_.size() - parts_.back().start; }

    [[nodiscard]] std::string_view name_of(const Part& part) const noexcept {
        const auto size = static_cast<std::uint8_t>(text_[part.start + part.name_at - 1]);
        return std::string_view(text_).substr(part.start + part.name_at, size);
    }

    void append_all(std::string& out) const {
        for (const Part& part : parts_) out.append(text_, part.start, part.size);
    }

    std::string text_;
    std::vector<Part> parts_;
};

// The fixed part of a MESSAGE from node 1, before its attributes; `finish_message` fills in its length.
inline void begin_message(std::string& out, std::uint64_t sequence, std::size_t attributes) {
    constexpr std::uint8_t hop_limit = 64;
    wire::begin_packet(out, static_cast<std::uint8_t>(wire::PacketType::Message), 0);
    wire::put_u8(out, hop_limit);
    wire::put_u16(out, 0);  // hop_count and a reserved byte
    wire::put_u32(out, 1);
    wire::put_u32(out, 0);
    wire::put_u64(out, sequence);
    wire::put_u64(out, 0);
    wire::put_u16(out, 0);
    wire::put_u16(out, static_cast<std::uint16_t>(attributes));
}

// False if the packet that starts at `start` is too long.
[[nodiscard]] inline bool finish_message(std::string& out, std::size_t start) {
    const std::size_t size = out.size() - start;
    if (size > wire::MAX_PACKET) return false;
    wire::patch_u16(out, start + 2, static_cast<std::uint16_t>(size));
    return true;
}

}  // namespace cbn::workload
