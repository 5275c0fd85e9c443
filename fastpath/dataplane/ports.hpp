// What the data plane keeps by interface and shares with other threads: counters, waiting control packets, and whose
// are dropped.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "signal.hpp"
#include "wire/wire.hpp"

namespace cbn {

enum class Count : std::uint8_t {
    RxMessages,
    TxMessages,
    RxControl,
    TxControl,
    RxBytes,
    TxBytes,
    RxDatagrams,
    TxDatagrams,
    RxErrors,
    TxErrors,
    RxOverflows,
    ControlOverflows,
    OverShare,
};
// In the order of Count.
inline constexpr std::array<const char*, 13> COUNT_NAMES{
    "rx_messages",  "tx_messages", "rx_control", "tx_control",   "rx_bytes",          "tx_bytes",  "rx_datagrams",
    "tx_datagrams", "rx_errors",   "tx_errors",  "rx_overflows", "control_overflows", "over_share"};

// Written by the loop and by whoever calls `send`, read by anyone; each count is right, not all of one moment.
class Counters {
  public:
    void add(Count what, std::uint64_t by = 1) noexcept {
        values_[static_cast<std::size_t>(what)].fetch_add(by, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t get(std::size_t what) const noexcept {
        return values_[what].load(std::memory_order_relaxed);
    }

  private:
    std::array<std::atomic<std::uint64_t>, COUNT_NAMES.size()> values_{};
};

// The type of a packet, which follows its version; of one that is too short to have any, one that nobody takes.
[[nodiscard]] inline wire::PacketType type_of(wire::Bytes packet) noexcept {
    return packet.size() > 1 ? static_cast<wire::PacketType>(packet[1]) : wire::PacketType::Pad;
}

// Whether the neighbour at an interface is beyond its share, which the control plane decides (nodes/routing/share.py).
//
// What counts is then dropped here, without a look at it, but for the first packet: the control plane drops that one,
// and so knows that there was one, and logs it.
class Shut {
  public:
    void set(bool shut) noexcept { state_.store(shut ? State::First : State::Open, std::memory_order_relaxed); }

    [[nodiscard]] bool drops(wire::Bytes packet) noexcept {
        if (state_.load(std::memory_order_relaxed) == State::Open) [[likely]] return false;
        const wire::PacketType type = type_of(packet);
        if (type != wire::PacketType::Control && type != wire::PacketType::Ack) return false;
        State first = State::First;
        return !state_.compare_exchange_strong(first, State::Rest) && first == State::Rest;
    }

  private:
    enum class State : std::uint8_t { Open, First, Rest };
    std::atomic<State> state_{State::Open};
};

// Packets for the control plane, bounded, with a descriptor to wait on.
//
// A lane for each interface, bounded in packets and bytes. One interface may fill the queue, but not at the cost of
// others: each may always have its share of packets waiting, and they are taken in turns. HELLOs have room of their
// own at the end of each lane. So who floods a router delays neither the packets of other neighbours for long nor
// loses them, nor loses a HELLO of the one who is flooded with.
class ControlQueue {
  public:
    using Packets = std::vector<std::pair<std::uint32_t, std::string>>;
    static constexpr std::size_t AT_ONCE = 4096;
    static constexpr std::size_t LANE_PACKETS = 4096;  // many times a window of the channel
    static constexpr std::size_t LANE_BYTES = 8 * 1024 * 1024;
    static constexpr std::size_t INNER_BYTES = 64 * 1024 * 1024;
    static constexpr std::size_t HELLOS = 64;
    static constexpr std::size_t HELLO_BYTES = 128;  // with a seal; what is longer and says to be one has no room of its own

    // With shares, twice as many packets wait at most, and HELLOs.
    ControlQueue(std::size_t interfaces, std::size_t most)
        : lanes_(interfaces), most_(most), share_(std::max<std::size_t>(1, most / std::max<std::size_t>(1, interfaces))) {}

    // False if there is no room for it: the packet is dropped, as a network would.
    [[nodiscard]] bool push(std::uint32_t interface, wire::Bytes packet) {
        const bool hello = is_hello(packet);
        const std::lock_guard<std::mutex> hold(lock_);
        Lane& lane = lanes_[interface];
        const std::size_t others = lane.packets.size() - lane.hellos;
        const bool within = others < LANE_PACKETS && (total_ < most_ || lane.packets.size() < share_);
        if (hello ? lane.hellos >= HELLOS : !within || lane.bytes + packet.size() > LANE_BYTES) return false;
        lane.hellos += hello;
        keep(lane, packet);
        return true;
    }

    // The same for what must leave the other half to the neighbours' packets, however much of it there is.
    [[nodiscard]] bool push_inner(std::uint32_t interface, wire::Bytes packet) {
        const std::lock_guard<std::mutex> hold(lock_);
        Lane& lane = lanes_[interface];
        if (total_ >= most_ / 2 && lane.packets.size() >= share_) return false;
        if (lane.bytes + packet.size() > INNER_BYTES) return false;
        keep(lane, packet);
        return true;
    }

    // Up to AT_ONCE of those that wait: of each interface the oldest in turn. While more wait, the descriptor says so.
    [[nodiscard]] Packets take() {
        Packets taken;
        const std::lock_guard<std::mutex> hold(lock_);
        waiting_.clear();
        taken.reserve(std::min(total_, AT_ONCE));
        while (total_ > 0 && taken.size() < AT_ONCE) {
            take_from(turn_, taken);
            turn_ = (turn_ + 1) % lanes_.size();
        }
        if (total_ > 0) waiting_.raise();
        return taken;
    }

    [[nodiscard]] int descriptor() const noexcept { return waiting_.descriptor(); }

  private:
    struct Lane {
        std::deque<std::string> packets;
        std::size_t bytes = 0;
        std::size_t hellos = 0;
    };

    [[nodiscard]] static bool is_hello(wire::Bytes packet) noexcept {
        return type_of(packet) == wire::PacketType::Hello && packet.size() <= HELLO_BYTES;
    }

    void keep(Lane& lane, wire::Bytes packet) {
        lane.packets.emplace_back(wire::as_text(packet));
        lane.bytes += packet.size();
        if (++total_ == 1) waiting_.raise();
    }

    void take_from(std::size_t interface, Packets& taken) {
        Lane& lane = lanes_[interface];
        if (lane.packets.empty()) return;
        std::string& packet = lane.packets.front();
        const wire::Bytes bytes(reinterpret_cast<const std::uint8_t*>(packet.data()), packet.size());
        lane.bytes -= packet.size();
        lane.hellos -= is_hello(bytes);
        taken.emplace_back(static_cast<std::uint32_t>(interface), std::move(packet));
        lane.packets.pop_front();
        --total_;
    }

    std::mutex lock_;
    std::vector<Lane> lanes_;
    std::size_t total_ = 0;
    std::size_t turn_ = 0;
    std::size_t most_;
    std::size_t share_;
    Signal waiting_;
};

}  // namespace cbn
