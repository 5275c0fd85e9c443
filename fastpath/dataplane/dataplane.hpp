// The router's socket loop. Messages are forwarded here and never leave C++; what else arrives is queued for
// the control plane, which sends and installs FIBs from its own threads.
//
// What happens to a datagram is decided in fib/fib.hpp, the same code the simulator calls; here are sockets,
// batches and counters.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/io.hpp"
#include "dataplane/ports.hpp"
#include "fib/fib.hpp"
#include "fib/outbox.hpp"
#include "seal/guard.hpp"
#include "signal.hpp"
#include "fib/snapshot.hpp"

namespace cbn {

class Loop {
  public:
    // With `inner`, copies for the interface after the last are messages for the control plane. Without `seals`
    // (null) nothing is sealed.
    Loop(std::vector<int> descriptors, std::size_t queue_packets, bool inner, seal::GuardsPointer seals)
        : inner_(inner),
          seals_(std::move(seals)),
          descriptors_(std::move(descriptors)),
          ports_(descriptors_.size()),
          shut_(descriptors_.size()),
          lost_(descriptors_.size()),
          queue_(descriptors_.size() + (inner ? 1 : 0), queue_packets) {
        for (const int descriptor : descriptors_) prepare(descriptor);
    }

    void install(FibPointer fib) { fib_.set(std::move(fib)); }
    void stop() const noexcept { stop_.raise(); }
    void shut(std::size_t port, bool shut) noexcept { shut_[port].set(shut); }
    [[nodiscard]] int control_descriptor() const noexcept { return queue_.descriptor(); }
    [[nodiscard]] ControlQueue::Packets take_control() { return queue_.take(); }
    [[nodiscard]] std::size_t ports() const noexcept { return ports_.size(); }
    [[nodiscard]] std::uint64_t count(std::size_t port, std::size_t what) const { return ports_[port].get(what); }
    [[nodiscard]] std::uint64_t inner_count(std::size_t what) const { return inside_.get(what); }
    [[nodiscard]] std::uint64_t drops(std::size_t reason) const { return drops_[reason].load(); }

    // Forwards until `stop`; 0, or the errno of what made it impossible to go on.
    [[nodiscard]] int run() {
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll < 0) return errno;
        const int failure = watch(epoll) && serve(epoll) ? 0 : errno;
        ::close(epoll);
        return failure;
    }

    // One datagram from the control plane, framed well. False if the kernel would not take it.
    [[nodiscard]] bool send(std::uint32_t interface, wire::Bytes datagram) {
        Counters& port = ports_[interface];
        const auto size = SendBatch::despite_old_errors([&] {
            return ::send(descriptors_[interface], datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        });
        if (size < 0) {
            port.add(Count::TxErrors);
            return false;
        }
        port.add(Count::TxDatagrams);
        port.add(Count::TxBytes, datagram.size());
        wire::FrameCursor frames(datagram);
        for (wire::Frame frame; frames.next(frame);) count_sent(port, frame.type);
        return true;
    }

  private:
    static constexpr std::uint64_t STOP = ~std::uint64_t{0};

    // What forward_datagram tells, for one interface of arrival.
    struct Sink {
        Loop& loop;
        const FibData* fib;
        std::uint32_t ingress;

        void message(wire::Bytes) const noexcept { loop.ports_[ingress].add(Count::RxMessages); }
        void drop(Drop reason, std::size_t count = 1) const noexcept { loop.drop(reason, count); }
        void control(wire::Bytes packet) const {
            loop.ports_[ingress].add(Count::RxControl);
            if (loop.shut_[ingress].drops(packet)) return loop.ports_[ingress].add(Count::OverShare);
            if (!loop.queue_.push(ingress, packet)) loop.ports_[ingress].add(Count::ControlOverflows);
        }
        template <class C>
        void output(std::uint32_t interface, const C& copy) const {
            const std::size_t room = loop.seals_ != nullptr ? loop.seals_->room(interface) : 0;
            loop.outbox_.add(interface, copy, fib->max_datagram[interface], room);
        }
    };

    // Both are offers a kernel may decline: without GRO datagrams come one by one, without the other losses
    // in the socket's own queue are not known.
    static void prepare(int descriptor) noexcept {
        const int on = 1;
        static_cast<void>(::setsockopt(descriptor, IPPROTO_UDP, UDP_GRO, &on, sizeof on));
        static_cast<void>(::setsockopt(descriptor, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on));
    }

    static void count_sent(Counters& port, wire::PacketType type) noexcept {
        if (type == wire::PacketType::Message) port.add(Count::TxMessages);
        else if (type != wire::PacketType::Pad && type != wire::PacketType::Seal) port.add(Count::TxControl);
    }

    [[nodiscard]] bool watch(int epoll) const noexcept {
        for (std::size_t at = 0; at < descriptors_.size(); ++at) {
            if (!watch_readable(epoll, descriptors_[at], at)) return false;
        }
        return watch_readable(epoll, stop_.descriptor(), STOP);
    }

    [[nodiscard]] bool serve(int epoll) {
        std::array<epoll_event, 64> events{};
        while (true) {
            const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
            if (ready < 0 && errno != EINTR) return false;
            for (int at = 0; at < ready; ++at) {
                const std::uint64_t mark = events[static_cast<std::size_t>(at)].data.u64;
                if (mark == STOP) return true;
                receive(static_cast<std::uint32_t>(mark));
            }
        }
    }

    // One batch with one FIB; its outputs leave before anything else is read.
    void receive(std::uint32_t ingress) {
        const int count = received_.receive(descriptors_[ingress]);
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR) ports_[ingress].add(Count::RxErrors);
            return;
        }
        const FibPointer fib = fib_.get();
        Sink sink{*this, fib.get(), ingress};
        for (int at = 0; at < count; ++at) take(received_.arrival(at), sink);
        flush();
    }

    // What GRO has joined is taken apart again: a bad datagram must not take its neighbours with it.
    void take(const ReceiveBatch::Arrival& arrival, Sink& sink) {
        Counters& port = ports_[sink.ingress];
        port.add(Count::RxBytes, arrival.bytes.size());
        if (arrival.has_overflows) {
            port.add(Count::RxOverflows, arrival.overflows - lost_[sink.ingress]);
            lost_[sink.ingress] = arrival.overflows;
        }
        std::size_t at = 0;
        do {
            const std::size_t size = std::min(arrival.segment, arrival.bytes.size() - at);
            port.add(Count::RxDatagrams);
            const wire::Bytes datagram = arrival.bytes.subspan(at, size);
            forward_datagram(sink.fib, datagram, sink.ingress, work_, sink, refusal(datagram, sink.ingress));
            at += size;
        } while (at < arrival.bytes.size());
    }

    // Why no message of a datagram is taken, if so.
    [[nodiscard]] Drop refusal(wire::Bytes datagram, std::uint32_t ingress) {
        if (seals_ == nullptr) return Drop::None;
        const seal::Verdict verdict = seals_->at(ingress).check(datagram);
        if (verdict.refused) return verdict.reason;
        if (verdict.reason != Drop::None) drop(verdict.reason, verdict.messages);
        return Drop::None;
    }

    void flush() {
        outbox_.drain([this](std::uint32_t interface, Outbox::Lane& lane) {
            if (lane.room > 0) seal_all(interface, lane);
            if (interface >= ports_.size()) [[unlikely]] return keep(interface, lane);
            Counters& port = ports_[interface];
            sending_.send(
                descriptors_[interface], lane, [&](const Outbox::Datagram& each) { sent(port, each); },
                [&](const Outbox::Datagram& each) {
                    port.add(Count::TxErrors);
                    drop(Drop::SendFailed, each.packets);
                });
        });
    }

    void seal_all(std::uint32_t interface, Outbox::Lane& lane) {
        const std::span<std::uint8_t> bytes(lane.bytes);
        for (const Outbox::Datagram& each : lane.datagrams) seals_->at(interface).seal(bytes.subspan(each.at, each.size));
    }

    // What no socket is for.
    void keep(std::uint32_t interface, const Outbox::Lane& lane) {
        for (const Outbox::Datagram& each : lane.datagrams) {
            if (!inner_ || interface > ports_.size()) drop(Drop::SendFailed, each.packets);
            else take_in(interface, wire::Bytes(lane.bytes).subspan(each.at, each.size));
        }
    }

    void take_in(std::uint32_t interface, wire::Bytes datagram) {
        wire::FrameCursor frames(datagram);
        for (wire::Frame frame; frames.next(frame);) {
            const bool taken = queue_.push_inner(interface, datagram.subspan(frame.offset, frame.length));
            inside_.add(taken ? Count::RxMessages : Count::ControlOverflows);
        }
    }

    static void sent(Counters& port, const Outbox::Datagram& datagram) noexcept {
        port.add(Count::TxDatagrams);
        port.add(Count::TxMessages, datagram.packets);
        port.add(Count::TxBytes, datagram.size);
    }

    void drop(Drop reason, std::uint64_t packets) noexcept {
        drops_[static_cast<std::size_t>(reason)].fetch_add(packets, std::memory_order_relaxed);
    }

    bool inner_;
    seal::GuardsPointer seals_;
    Counters inside_;
    std::vector<int> descriptors_;
    std::vector<Counters> ports_;
    std::vector<Shut> shut_;
    std::vector<std::uint32_t> lost_;
    std::array<std::atomic<std::uint64_t>, DROPS> drops_{};
    ControlQueue queue_;
    Signal stop_;
    Published<FibData> fib_;
    Workspace work_;
    Outbox outbox_;
    ReceiveBatch received_;
    SendBatch sending_;
};

}  // namespace cbn
