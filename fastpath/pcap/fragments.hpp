// Puts fragmented IP datagrams together again, in bounded memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pcap/frame.hpp"

namespace cbn::pcap {

class Fragments {
  public:
    // Takes one fragment. True if it was the last one missing: `datagram` is then valid until the next call and
    // `frame_bytes` is the length of all its frames.
    [[nodiscard]] bool add(const Network& network, std::size_t frame_bytes, Direction direction, Slice& datagram,
                           std::size_t& all_frame_bytes) {
        const Slice data = network.payload.first(network.declared);
        if (data.cut() || data.original < network.declared || network.offset + data.original > LARGEST) {
            ++lost_;
            return false;
        }
        Pending& pending = find(key(network, direction));
        if (pending.pieces.size() == MOST_PIECES || pending.held + data.captured.size() > MOST_HELD) {
            ++lost_;
            return false;
        }
        pending.pieces.push_back({network.offset, {data.captured.begin(), data.captured.end()}});
        pending.held += data.captured.size();
        pending.frame_bytes += frame_bytes;
        if (!network.more) pending.size = network.offset + data.original;
        if (!join(pending)) return false;
        all_frame_bytes = pending.frame_bytes;
        datagram = {whole_, whole_.size()};
        forget(key(network, direction));
        return true;
    }

    // Fragments whose datagram never became whole.
    [[nodiscard]] std::uint64_t lost() const {
        std::uint64_t total = lost_;
        for (const auto& [name, pending] : pending_) total += pending.pieces.size();
        return total;
    }

  private:
    static constexpr std::size_t LARGEST = 65'535;
    static constexpr std::size_t MOST_PENDING = 256;
    static constexpr std::size_t MOST_PIECES = 1024;
    static constexpr std::size_t MOST_HELD = 4 * LARGEST;

    struct Piece {
        std::size_t offset = 0;
        std::vector<std::uint8_t> data{};  // a copy: the file moves on
    };
    struct Pending {
        std::vector<Piece> pieces;
        std::size_t held = 0;
        std::size_t size = 0;  // 0 until the last fragment is seen
        std::size_t frame_bytes = 0;
    };

    static std::string key(const Network& network, Direction direction) {
        std::string name(wire::as_text(network.source));
        name.append(wire::as_text(network.target));
        name.append(std::to_string(network.identification));
        return name.append(1, static_cast<char>(direction));
    }

    Pending& find(std::string name) {
        const auto [at, fresh] = pending_.try_emplace(name);
        if (!fresh) return at->second;
        order_.push_back(std::move(name));
        while (pending_.size() > MOST_PENDING) give_up_oldest();
        return pending_.find(order_.back())->second;
    }

    void give_up_oldest() {
        const auto oldest = pending_.find(order_.front());
        order_.pop_front();
        lost_ += oldest->second.pieces.size();
        pending_.erase(oldest);
    }

    void forget(const std::string& name) {
        pending_.erase(name);
        order_.erase(std::find(order_.begin(), order_.end(), name));
    }

    // Pieces must fit without gap or overlap (RFC 5722 has no use for overlaps either); equal ones count once.
    [[nodiscard]] bool join(Pending& pending) {
        if (pending.size == 0) return false;
        std::sort(pending.pieces.begin(), pending.pieces.end(),
                  [](const Piece& left, const Piece& right) { return left.offset < right.offset; });
        std::size_t at = 0;
        for (const Piece& piece : pending.pieces) {
            if (piece.offset + piece.data.size() == at && piece.offset < at) continue;
            if (piece.offset != at) return false;
            at += piece.data.size();
        }
        if (at != pending.size) return false;
        copy(pending);
        return true;
    }

    void copy(const Pending& pending) {
        whole_.assign(pending.size, 0);
        for (const Piece& piece : pending.pieces) {
            std::copy(piece.data.begin(), piece.data.end(),
                      whole_.begin() + static_cast<std::ptrdiff_t>(piece.offset));
        }
    }

    std::unordered_map<std::string, Pending> pending_;
    std::deque<std::string> order_;
    std::vector<std::uint8_t> whole_;
    std::uint64_t lost_ = 0;
};

}  // namespace cbn::pcap
