// The numbers of the file formats pcap and pcapng, for those who write and those who read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cbn::pcap {

inline constexpr std::uint32_t MAGIC_MICRO = 0xA1B2C3D4;
inline constexpr std::uint32_t MAGIC_NANO = 0xA1B23C4D;
inline constexpr std::uint32_t MAGIC_PCAPNG = 0x0A0D0D0A;

inline constexpr std::uint32_t LINK_NULL = 0;  // BSD loopback: the address family in the order of the capturing host
inline constexpr std::uint32_t LINK_ETHERNET = 1;
inline constexpr std::uint32_t LINK_RAW = 101;
inline constexpr std::uint32_t LINK_LOOP = 108;  // OpenBSD loopback: the address family in network order
inline constexpr std::uint32_t LINK_SLL = 113;   // Linux cooked, as of `tcpdump -i any` before 2022
inline constexpr std::uint32_t LINK_IPV4 = 228;
inline constexpr std::uint32_t LINK_IPV6 = 229;
inline constexpr std::uint32_t LINK_SLL2 = 276;

[[nodiscard]] constexpr bool known_link(std::uint32_t type) noexcept {
    return type == LINK_NULL || type == LINK_ETHERNET || type == LINK_RAW || type == LINK_LOOP || type == LINK_SLL ||
           type == LINK_IPV4 || type == LINK_IPV6 || type == LINK_SLL2;
}

struct FileHeader {
    std::uint32_t magic = MAGIC_NANO;
    std::uint16_t major = 2;
    std::uint16_t minor = 4;
    std::int32_t zone = 0;
    std::uint32_t accuracy = 0;
    std::uint32_t snap_bytes = 0;
    std::uint32_t link_type = LINK_ETHERNET;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
    std::uint32_t seconds = 0;
    std::uint32_t fraction = 0;
    std::uint32_t captured = 0;
    std::uint32_t original = 0;
};
static_assert(sizeof(RecordHeader) == 16);

// pcapng: blocks of a type, their length before and after the body, in the byte order of their section.
namespace ng {

inline constexpr std::uint32_t ORDER_MAGIC = 0x1A2B3C4D;
inline constexpr std::uint32_t SECTION = MAGIC_PCAPNG;
inline constexpr std::uint32_t INTERFACE = 1;
inline constexpr std::uint32_t OLD_PACKET = 2;
inline constexpr std::uint32_t SIMPLE_PACKET = 3;
inline constexpr std::uint32_t NAMES = 4;
inline constexpr std::uint32_t STATISTICS = 5;
inline constexpr std::uint32_t PACKET = 6;
inline constexpr std::size_t BLOCK_FRAME = 12;  // type and both lengths

inline constexpr std::uint16_t OPTION_END = 0;
inline constexpr std::uint16_t OPTION_NAME = 2;         // of an interface
inline constexpr std::uint16_t OPTION_RESOLUTION = 9;   // of an interface's time stamps
inline constexpr std::uint16_t OPTION_OFFSET = 14;      // seconds to add to an interface's time stamps
inline constexpr std::uint16_t OPTION_RECEIVED = 4;     // of statistics
inline constexpr std::uint16_t OPTION_DROPPED = 5;      // of statistics
inline constexpr std::uint8_t RESOLUTION_NANO = 9;

struct PacketHeader {
    std::uint32_t interface = 0;
    std::uint32_t time_high = 0;
    std::uint32_t time_low = 0;
    std::uint32_t captured = 0;
    std::uint32_t original = 0;
};
static_assert(sizeof(PacketHeader) == 20);

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 3) & ~std::size_t{3}; }

}  // namespace ng

}  // namespace cbn::pcap
