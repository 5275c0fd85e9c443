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

#include "outbox.hpp"
#include "wire.hpp"

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
class SendBatch {
  public:
    template <class Sent, class Failed>
    void send(int descriptor, Outbox::Lane& lane, Sent&& sent, Failed&& failed) {
        for (std::size_t next = 0; next < lane.datagrams.size();) {
            const unsigned count = load(lane, next);
            const int taken = call(descriptor, count);
            for (int at = 0; at < taken; ++at) sent(lane.datagrams[next++]);
            if (taken <= 0) failed(lane.datagrams[next++]);
        }
    }

    // A socket may hold the error of an earlier datagram (an ICMP said nobody listens there): it is told once,
    // and what was to be sent now has not been tried yet.
    template <class Call>
    [[nodiscard]] static auto despite_old_errors(Call&& call) {
        auto result = call();
        if (result < 0 && (errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == EINTR)) result = call();
        return result;
    }

  private:
    unsigned load(Outbox::Lane& lane, std::size_t next) {
        const auto count = static_cast<unsigned>(std::min<std::size_t>(BATCH, lane.datagrams.size() - next));
        for (unsigned at = 0; at < count; ++at) {
            const Outbox::Datagram& each = lane.datagrams[next + at];
            parts_[at] = {lane.bytes.data() + each.at, each.size};
            headers_[at] = {};
            headers_[at].msg_hdr.msg_iov = &parts_[at];
            headers_[at].msg_hdr.msg_iovlen = 1;
        }
        return count;
    }

    [[nodiscard]] int call(int descriptor, unsigned count) {
        return despite_old_errors(
            [&] { return ::sendmmsg(descriptor, headers_.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL); });
    }

    std::array<iovec, BATCH> parts_{};
    std::array<mmsghdr, BATCH> headers_{};
};

}  // namespace cbn
