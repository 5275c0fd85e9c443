// Where frames come from: a packet socket, read through a ring that it shares with the kernel, or batch by batch.
// Who takes the frames, and what becomes of them, is not known here.
#pragma once

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "wire/types.hpp"

namespace cbn {

[[nodiscard]] constexpr std::int64_t nanoseconds(std::int64_t seconds, std::int64_t rest) noexcept {
    return seconds * 1'000'000'000 + rest;
}

// How much memory the ring of one socket takes.
struct RingSize {
    unsigned block_bytes = 0;
    unsigned blocks = 0;

    // Of `memory_bytes` for all of `sockets`. A block has room for the largest frame: segmentation offload makes
    // them up to 64 KB long. Never fewer than three blocks: one is read while the next is filled.
    [[nodiscard]] static RingSize of(std::size_t memory_bytes, std::size_t sockets, std::size_t snap_bytes) noexcept {
        constexpr std::size_t smallest = 32 << 10, largest = 128 << 10, most = 8 << 20, fewest = 3;
        std::size_t block = smallest;
        while (block < largest && block < snap_bytes + OVERHEAD) block *= 2;
        const std::size_t share = std::min(memory_bytes / std::max<std::size_t>(sockets, 1), most);
        return {static_cast<unsigned>(block), static_cast<unsigned>(std::max(share / block, fewest))};
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{block_bytes} * blocks; }

    // How long a block waits for more frames. Few blocks wait longer, so that whoever reads them may come as late:
    // after all have waited, the next frame is lost, however empty they are.
    [[nodiscard]] unsigned retire_ms() const noexcept { return std::clamp(2000 / blocks, 60U, 500U); }

  private:
    static constexpr std::size_t OVERHEAD = 256;
};

// TPACKET_V3: the kernel fills blocks of frames and hands them over when they are full or have waited long
// enough. It copies each frame once, and wakes us once a block. It also drops a frame that comes on one processor
// just while another hands a block over (its check for room takes no lock): about one in a million.
class Ring {
  public:
    Ring() = default;
    ~Ring() {
        if (memory_ != nullptr) ::munmap(memory_, size_.bytes());
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // 0 or errno. What the socket had received so far is lost.
    [[nodiscard]] int open(int descriptor, const RingSize& size) {
        const int version = TPACKET_V3;
        if (::setsockopt(descriptor, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0) return errno;
        tpacket_req3 request{};
        request.tp_block_size = size.block_bytes;
        request.tp_block_nr = size.blocks;
        request.tp_frame_size = FRAME_BYTES;
        request.tp_frame_nr = size.block_bytes / FRAME_BYTES * size.blocks;
        request.tp_retire_blk_tov = size.retire_ms();
        if (::setsockopt(descriptor, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) return errno;
        void* memory = ::mmap(nullptr, size.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED) return errno;
        memory_ = static_cast<std::uint8_t*>(memory);
        size_ = size;
        return 0;
    }

    [[nodiscard]] bool is_open() const noexcept { return memory_ != nullptr; }
    [[nodiscard]] std::size_t bytes() const noexcept { return is_open() ? size_.bytes() : 0; }

    // All that the kernel has handed over; how many frames. `sink(time_ns, original, frame, status)` takes each.
    template <class Sink>
    std::size_t take(Sink&& sink) {
        std::size_t taken = 0;
        for (unsigned left = size_.blocks; left > 0; --left) {
            auto* block = reinterpret_cast<tpacket_block_desc*>(memory_ + std::size_t{next_} * size_.block_bytes);
            const std::atomic_ref<std::uint32_t> status(block->hdr.bh1.block_status);
            if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) break;
            taken += walk(*block, sink);
            status.store(TP_STATUS_KERNEL, std::memory_order_release);
            next_ = (next_ + 1) % size_.blocks;
        }
        return taken;
    }

  private:
    static constexpr unsigned FRAME_BYTES = 2048;

    template <class Sink>
    static std::size_t walk(tpacket_block_desc& block, Sink&& sink) {
        const std::uint32_t count = block.hdr.bh1.num_pkts;
        const auto* at = reinterpret_cast<const std::uint8_t*>(&block) + block.hdr.bh1.offset_to_first_pkt;
        for (std::uint32_t left = count; left > 0; --left) {
            const auto& header = *reinterpret_cast<const tpacket3_hdr*>(at);
            sink(nanoseconds(header.tp_sec, header.tp_nsec), header.tp_len,
                 wire::Bytes{at + header.tp_mac, header.tp_snaplen}, header.tp_status);
            at += header.tp_next_offset;
        }
        return count;
    }

    std::uint8_t* memory_ = nullptr;
    RingSize size_;
    unsigned next_ = 0;
};

// Frames by recvmmsg, many at a time: dearer than a ring, and exact.
class FrameBatch {
  public:
    static constexpr unsigned SIZE = 64;

    explicit FrameBatch(std::size_t snap_bytes) : snap_(snap_bytes), memory_(new std::uint8_t[SIZE * snap_bytes]) {}

    // 0 or errno. `SO_RCVBUFFORCE` needs a privilege that `SO_RCVBUF` does not, up to the system's limit.
    [[nodiscard]] static int prepare(int descriptor, int room) {
        const int on = 1;
        if (::setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) return errno;
        if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0 &&
            ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) != 0) {
            return errno;
        }
        return 0;
    }

    // How many arrived, or -1 and errno.
    template <class Sink>
    [[nodiscard]] int take(int descriptor, Sink&& sink) {
        for (unsigned at = 0; at < SIZE; ++at) {
            parts_[at] = {memory_.get() + at * snap_, snap_};
            msghdr& header = headers_[at].msg_hdr;
            header = {};
            header.msg_iov = &parts_[at];
            header.msg_iovlen = 1;
            header.msg_control = ancillary_[at].data;
            header.msg_controllen = sizeof ancillary_[at].data;
        }
        // MSG_TRUNC: the length returned is the frame's own, also where the buffer was too short for it.
        const int count = ::recvmmsg(descriptor, headers_.data(), SIZE, MSG_DONTWAIT | MSG_TRUNC, nullptr);
        for (int index = 0; index < count; ++index) {
            const auto at = static_cast<unsigned>(index);
            const std::size_t original = headers_[at].msg_len;
            sink(time_ns(headers_[at].msg_hdr), static_cast<std::uint32_t>(original),
                 wire::Bytes{memory_.get() + at * snap_, std::min(original, snap_)}, 0U);
        }
        return count;
    }

  private:
    struct alignas(cmsghdr) Ancillary {
        std::uint8_t data[CMSG_SPACE(sizeof(timespec))];
    };

    [[nodiscard]] static std::int64_t time_ns(msghdr& header) {
        timespec stamp{};
        for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
            if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SO_TIMESTAMPNS) continue;
            std::memcpy(&stamp, CMSG_DATA(each), sizeof stamp);
            return nanoseconds(stamp.tv_sec, stamp.tv_nsec);
        }
        ::clock_gettime(CLOCK_REALTIME, &stamp);
        return nanoseconds(stamp.tv_sec, stamp.tv_nsec);
    }

    std::size_t snap_;
    std::unique_ptr<std::uint8_t[]> memory_;
    std::array<iovec, SIZE> parts_{};
    std::array<mmsghdr, SIZE> headers_{};
    std::array<Ancillary, SIZE> ancillary_{};
};

// Lets the kernel copy no more of a frame than is kept; 0 or errno.
[[nodiscard]] inline int limit_snap(int descriptor, std::uint32_t snap_bytes) {
    sock_filter keep{BPF_RET | BPF_K, 0, 0, snap_bytes};
    const sock_fprog program{1, &keep};
    return ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 ? 0 : errno;
}

}  // namespace cbn
