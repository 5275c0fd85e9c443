// Many datagrams a system call: receiving a batch, sending a batch. Knows sockets, not packets.
#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "fib/outbox.hpp"
#include "wire/wire.hpp"

namespace cbn {

inline constexpr unsigned BATCH = 64;

// Reads up to BATCH datagrams at once. With UDP GRO each may be several of equal size joined by the kernel.
class ReceiveBatch {
  public:
    static constexpr std::size_t LARGEST = 65'536;

    struct Arrival {
        wire::Bytes bytes{};
        std::size_t segment = 0;      // size of the datagrams joined in it, the last may be shorter
        std::uint32_t overflows = 0;  // datagrams the socket has lost since it was made
        bool has_overflows = false;
    };

    ReceiveBatch() : memory_(new std::uint8_t[BATCH * LARGEST]) {}

    // How many arrived, or -1 and errno.
    [[nodiscard]] int receive(int descriptor) {
        for (unsigned at = 0; at < BATCH; ++at) {
            parts_[at] = {memory_.get() + at * LARGEST, LARGEST};
            msghdr& header = headers_[at].msg_hdr;
            header = {};
            header.msg_iov = &parts_[at];
            header.msg_iovlen = 1;
            header.msg_control = ancillary_[at].data;
            header.msg_controllen = sizeof ancillary_[at].data;
        }
        return ::recvmmsg(descriptor, headers_.data(), BATCH, MSG_DONTWAIT, nullptr);
    }

    [[nodiscard]] Arrival arrival(int index) {
        const auto at = static_cast<unsigned>(index);
        Arrival arrival{{memory_.get() + at * LARGEST, headers_[at].msg_len}, headers_[at].msg_len, 0, false};
        msghdr& header = headers_[at].msg_hdr;
        for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
            read_ancillary(*each, arrival);
        }
        return arrival;
    }

  private:
    struct alignas(cmsghdr) Ancillary {
        std::uint8_t data[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint32_t))];
    };

    static void read_ancillary(const cmsghdr& each, Arrival& arrival) {
        if (each.cmsg_level == IPPROTO_UDP && each.cmsg_type == UDP_GRO) {
            int size = 0;
            std::memcpy(&size, CMSG_DATA(&each), sizeof size);
            if (size > 0) arrival.segment = static_cast<std::size_t>(size);
        } else if (each.cmsg_level == SOL_SOCKET && each.cmsg_type == SO_RXQ_OVFL) {
            std::memcpy(&arrival.overflows, CMSG_DATA(&each), sizeof arrival.overflows);
            arrival.has_overflows = true;
        }
    }

    std::unique_ptr<std::uint8_t[]> memory_;  // touched only as far as datagrams reach
    std::array<iovec, BATCH> parts_{};
    std::array<mmsghdr, BATCH> headers_{};
    std::array<Ancillary, BATCH> ancillary_{};
};

// Sends a lane's datagrams, never waits: sent(datagram) or failed(datagram) is called for each.
//
// Datagrams of equal size in a row, the last of them shorter perhaps, are one segmented send (UDP GSO): they
// lie side by side in the lane, and the kernel cuts them apart as late as it can. Where it will not, they
// are sent one by one.
class SendBatch {
  public:
    template <class Sent, class Failed>
    void send(int descriptor, Outbox::Lane& lane, Sent&& sent, Failed&& failed) {
        bool segmented = true;
        for (std::size_t next = 0; next < lane.datagrams.size();) {
            const unsigned count = load(lane, next, segmented);
            const int taken = call(descriptor, count);
            for (int run = 0; run < taken; ++run) {
                for (unsigned left = runs_[static_cast<unsigned>(run)]; left > 0; --left) sent(lane.datagrams[next++]);
            }
            if (taken > 0) continue;
            if (runs_[0] > 1 && segmentation_refused(errno)) segmented = false;
            else for (unsigned left = runs_[0]; left > 0; --left) failed(lane.datagrams[next++]);
        }
    }

    // A socket may hold the error of an earlier datagram (an ICMP said nobody listens there): it is reported once,
    // and what was to be sent now has not been tried yet.
    template <class Call>
    [[nodiscard]] static auto despite_old_errors(Call&& call) {
        auto result = call();
        if (result < 0 && (errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == EINTR)) result = call();
        return result;
    }

  private:
    static constexpr std::size_t MOST_SEGMENTS = 64;
    static constexpr std::size_t MOST_BYTES = 65'000;

    struct alignas(cmsghdr) SegmentSize {
        std::uint8_t data[CMSG_SPACE(sizeof(std::uint16_t))];
    };

    // Too large for the path, or a device without checksum offload.
    [[nodiscard]] static bool segmentation_refused(int error) noexcept {
        return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
    }

    // How many datagrams from `first` on can go as one send.
    [[nodiscard]] static unsigned run_length(const Outbox::Lane& lane, std::size_t first) noexcept {
        const std::size_t size = lane.datagrams[first].size;
        std::size_t end = first + 1, total = size;
        while (end < lane.datagrams.size() && end - first < MOST_SEGMENTS) {
            const std::size_t each = lane.datagrams[end].size;
            if (each > size || total + each > MOST_BYTES) break;
            total += each;
            ++end;
            if (each < size) break;
        }
        return static_cast<unsigned>(end - first);
    }

    unsigned load(Outbox::Lane& lane, std::size_t next, bool segmented) {
        unsigned count = 0;
        for (; count < BATCH && next < lane.datagrams.size(); next += runs_[count++]) {
            runs_[count] = segmented ? run_length(lane, next) : 1;
            const Outbox::Datagram& first = lane.datagrams[next];
            const Outbox::Datagram& last = lane.datagrams[next + runs_[count] - 1];
            parts_[count] = {lane.bytes.data() + first.at, last.at + last.size - first.at};
            headers_[count] = {};
            headers_[count].msg_hdr.msg_iov = &parts_[count];
            headers_[count].msg_hdr.msg_iovlen = 1;
            if (runs_[count] > 1) say_size(headers_[count].msg_hdr, sizes_[count], first.size);
        }
        return count;
    }

    static void say_size(msghdr& header, SegmentSize& place, std::size_t size) noexcept {
        header.msg_control = place.data;
        header.msg_controllen = sizeof place.data;
        cmsghdr* message = CMSG_FIRSTHDR(&header);
        message->cmsg_level = IPPROTO_UDP;
        message->cmsg_type = UDP_SEGMENT;
        message->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto value = static_cast<std::uint16_t>(size);
        std::memcpy(CMSG_DATA(message), &value, sizeof value);
    }

    [[nodiscard]] int call(int descriptor, unsigned count) {
        return despite_old_errors(
            [&] { return ::sendmmsg(descriptor, headers_.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL); });
    }

    std::array<unsigned, BATCH> runs_{};
    std::array<iovec, BATCH> parts_{};
    std::array<mmsghdr, BATCH> headers_{};
    std::array<SegmentSize, BATCH> sizes_{};
};

}  // namespace cbn
