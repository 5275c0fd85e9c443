// Frames and what surrounds them as bytes of a capture: pcap, or pcapng with one interface. No file is known here.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "pcap/format.hpp"
#include "wire/types.hpp"

namespace cbn {

using CaptureBytes = std::vector<std::uint8_t>;

// Whether a frame is a piece of an IP datagram: those that come one after the other stay in one file and one range.
[[nodiscard]] inline bool is_fragment(wire::Bytes frame) noexcept {
    if (frame.size() < 24) return false;
    const unsigned kind = static_cast<unsigned>(frame[12]) << 8 | frame[13];
    if (kind == 0x0800) return ((static_cast<unsigned>(frame[20]) << 8 | frame[21]) & 0x3FFFU) != 0;
    return kind == 0x86DD && frame[20] == 44;
}

namespace detail {

inline void put(CaptureBytes& out, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    out.insert(out.end(), first, first + bytes);
}

template <class T>
void put_value(CaptureBytes& out, T value) {
    put(out, &value, sizeof value);
}

inline void put_option(CaptureBytes& out, std::uint16_t code, const void* data, std::size_t bytes) {
    put_value(out, code);
    put_value(out, static_cast<std::uint16_t>(bytes));
    put(out, data, bytes);
    out.resize(out.size() + pcap::ng::padded(bytes) - bytes);
}

// `fill` adds the body, of which the length is a multiple of four.
template <class Fill>
void put_block(CaptureBytes& out, std::uint32_t type, Fill&& fill) {
    const std::size_t start = out.size();
    put_value(out, type);
    put_value(out, std::uint32_t{0});
    fill();
    const auto length = static_cast<std::uint32_t>(out.size() - start + 4);
    put_value(out, length);
    std::memcpy(out.data() + start + 4, &length, sizeof length);
}

inline void put_end_of_options(CaptureBytes& out) { put_value(out, std::uint32_t{pcap::ng::OPTION_END}); }

}  // namespace detail

inline void put_pcap_header(CaptureBytes& out, std::uint32_t snap_bytes) {
    pcap::FileHeader header;
    header.snap_bytes = snap_bytes;
    detail::put_value(out, header);
}

inline void put_pcap_record(CaptureBytes& out, std::int64_t time_ns, std::uint32_t original, wire::Bytes frame) {
    pcap::RecordHeader header;
    header.seconds = static_cast<std::uint32_t>(time_ns / 1'000'000'000);
    header.fraction = static_cast<std::uint32_t>(time_ns % 1'000'000'000);
    header.captured = static_cast<std::uint32_t>(frame.size());
    header.original = original;
    detail::put_value(out, header);
    detail::put(out, frame.data(), frame.size());
}

inline void put_section(CaptureBytes& out) {
    detail::put_block(out, pcap::ng::SECTION, [&] {
        detail::put_value(out, pcap::ng::ORDER_MAGIC);
        detail::put_value(out, std::uint16_t{1});
        detail::put_value(out, std::uint16_t{0});
        detail::put_value(out, ~std::uint64_t{0});  // the section's length: not said
    });
}

inline void put_interface(CaptureBytes& out, std::string_view name, std::uint32_t snap_bytes) {
    detail::put_block(out, pcap::ng::INTERFACE, [&] {
        detail::put_value(out, static_cast<std::uint16_t>(pcap::LINK_ETHERNET));
        detail::put_value(out, std::uint16_t{0});
        detail::put_value(out, snap_bytes);
        if (!name.empty()) detail::put_option(out, pcap::ng::OPTION_NAME, name.data(), name.size());
        detail::put_option(out, pcap::ng::OPTION_RESOLUTION, &pcap::ng::RESOLUTION_NANO, 1);
        detail::put_end_of_options(out);
    });
}

inline void put_packet(CaptureBytes& out, std::uint32_t interface, std::int64_t time_ns, std::uint32_t original,
                       wire::Bytes frame) {
    detail::put_block(out, pcap::ng::PACKET, [&] {
        const auto ticks = static_cast<std::uint64_t>(time_ns);
        detail::put_value(out, pcap::ng::PacketHeader{interface, static_cast<std::uint32_t>(ticks >> 32),
                                                      static_cast<std::uint32_t>(ticks),
                                                      static_cast<std::uint32_t>(frame.size()), original});
        detail::put(out, frame.data(), frame.size());
        out.resize(out.size() + pcap::ng::padded(frame.size()) - frame.size());
    });
}

// How many frames an interface had so far, and how many of them could not be had.
inline void put_statistics(CaptureBytes& out, std::uint32_t interface, std::int64_t time_ns, std::uint64_t received,
                           std::uint64_t dropped) {
    detail::put_block(out, pcap::ng::STATISTICS, [&] {
        const auto ticks = static_cast<std::uint64_t>(time_ns);
        detail::put_value(out, interface);
        detail::put_value(out, static_cast<std::uint32_t>(ticks >> 32));
        detail::put_value(out, static_cast<std::uint32_t>(ticks));
        detail::put_option(out, pcap::ng::OPTION_RECEIVED, &received, sizeof received);
        detail::put_option(out, pcap::ng::OPTION_DROPPED, &dropped, sizeof dropped);
        detail::put_end_of_options(out);
    });
}

}  // namespace cbn
