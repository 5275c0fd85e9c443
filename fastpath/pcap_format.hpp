// The numbers of the pcap file format, for those who write and those who read it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cbn::pcap {

inline constexpr std::uint32_t MAGIC_MICRO = 0xA1B2C3D4;
inline constexpr std::uint32_t MAGIC_NANO = 0xA1B23C4D;
inline constexpr std::uint32_t MAGIC_PCAPNG = 0x0A0D0D0A;

inline constexpr std::uint32_t LINK_ETHERNET = 1;
inline constexpr std::uint32_t LINK_RAW = 101;
inline constexpr std::uint32_t LINK_SLL2 = 276;

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

}  // namespace cbn::pcap
