// What the data plane keeps by interface and shares with other threads: counters and waiting control packets.
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
};
// In the order of Count.
inline constexpr std::array<const char*, 12> COUNT_NAMES{
    "rx_messages", "tx_messages",  "rx_control", "tx_control", "rx_bytes",     "tx_bytes",
    "rx_datagrams", "tx_datagrams", "rx_errors",  "tx_errors",  "rx_overflows", "control_overflows"};

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

// Packets for the control plane, bounded, with a descriptor to wait on.
//
// One interface may fill it, but not at the cost of others: each may always have its share of packets waiting, and they
// are taken in turns. So who floods a router delays neither the packets of other neighbours for long nor loses them.
class ControlQueue {
  public:
    using Packets = std::vector<std::pair<std::uint32_t, std::string>>;
    static constexpr std::size_t AT_ONCE = 4096;

    // With shares, twice as many packets wait at most.
    ControlQueue(std::size_t interfaces, std::size_t most)
        : lanes_(interfaces), most_(most), share_(std::max<std::size_t>(1, most / std::max<std::size_t>(1, interfaces))) {}

    // False if it is full: the packet is dropped, as a network would.
    [[nodiscard]] bool push(std::uint32_t interface, wire::Bytes packet) { return push(interface, packet, most_); }

    // The same for what must leave the other half to the neighbours' packets, however much of it there is.
    [[nodiscard]] bool push_inner(std::uint32_t interface, wire::Bytes packet) {
        return push(interface, packet, most_ / 2);
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
    void take_from(std::size_t interface, Packets& taken) {
        std::deque<std::string>& lane = lanes_[interface];
        if (lane.empty()) return;
        taken.emplace_back(static_cast<std::uint32_t>(interface), std::move(lane.front()));
        lane.pop_front();
        --total_;
    }

    [[nodiscard]] bool push(std::uint32_t interface, wire::Bytes packet, std::size_t most) {
        const std::lock_guard<std::mutex> hold(lock_);
        std::deque<std::string>& lane = lanes_[interface];
        if (total_ >= most && lane.size() >= share_) return false;
        lane.emplace_back(wire::as_text(packet));
        if (++total_ == 1) waiting_.raise();
        return true;
    }

    std::mutex lock_;
    std::vector<std::deque<std::string>> lanes_;
    std::size_t total_ = 0;
    std::size_t turn_ = 0;
    std::size_t most_;
    std::size_t share_;
    Signal waiting_;
};

}  // namespace cbn
