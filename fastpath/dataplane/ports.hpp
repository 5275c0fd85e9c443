// What the data plane keeps by interface and shares with other threads: counters and waiting control packets.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
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
class ControlQueue {
  public:
    using Packets = std::vector<std::pair<std::uint32_t, std::string>>;

    explicit ControlQueue(std::size_t most) : most_(most) {}

    // False if it is full: the packet is dropped, as a network would.
    [[nodiscard]] bool push(std::uint32_t interface, wire::Bytes packet) { return push(interface, packet, most_); }

    // The same for what must leave the other half to the neighbours' packets, however much of it there is.
    [[nodiscard]] bool push_inner(std::uint32_t interface, wire::Bytes packet) {
        return push(interface, packet, most_ / 2);
    }

    [[nodiscard]] Packets take() {
        Packets taken;
        const std::lock_guard<std::mutex> hold(lock_);
        waiting_.clear();
        taken.swap(packets_);
        return taken;
    }

    [[nodiscard]] int descriptor() const noexcept { return waiting_.descriptor(); }

  private:
    [[nodiscard]] bool push(std::uint32_t interface, wire::Bytes packet, std::size_t most) {
        const std::lock_guard<std::mutex> hold(lock_);
        if (packets_.size() >= most) return false;
        packets_.emplace_back(interface, std::string(wire::as_text(packet)));
        if (packets_.size() == 1) waiting_.raise();
        return true;
    }

    std::mutex lock_;
    Packets packets_;
    std::size_t most_;
    Signal waiting_;
};

}  // namespace cbn
