"""The data-plane loop over real UDP sockets on loopback."""

import os
import select
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from fastpath.dataplane import DataPlane
from fastpath.fib import ClassEntry, DropReason, Fib, ForwardingTable, Route
from fastpath.wire.codec import UsageError, encode_ack
from nodes.model import Filter
from nodes.wire.codec import decode_datagram, encode, encode_filter
from nodes.wire.packets import Control, Hello, Message, Pad, Role

pytestmark = pytest.mark.timed

CLIENT = 77
ACK = encode_ack(1, 2, 3, 4)
HELLO = encode(Hello(Role.ROUTER, 1, 2, 2_000, 0, 0))
CONTROL = encode(Control(1, 1, 2, 3, 4, 5, True, True, b"payload"))
PATIENCE_S = 20


def message(sequence=0, **changes):
    fields = {"source": CLIENT, "publish_time_ns": 0, "attributes": {"n": sequence}, **changes}
    return encode(Message(sequence=sequence, **fields))


def fib_to(interfaces, rewrite=1, count=4):
    """Interface 0 is client 77; messages from it go to `interfaces`."""
    table = ForwardingTable()
    for interface in interfaces:
        table.add(interface, encode_filter(Filter()))
    table.commit()
    out = sum(1 << interface for interface in interfaces)
    return Fib(1, [CLIENT] + [0] * (count - 1), [ClassEntry(1, 0, out, 0, rewrite)], [table])


class Router:
    """A data plane with a peer socket at the far end of each interface."""

    def __init__(self, count, **options):
        self.ours = [self.bound() for _ in range(count)]
        self.peers = [self.bound() for _ in range(count)]
        for mine, peer in zip(self.ours, self.peers, strict=True):
            mine.setblocking(False)
            mine.connect(peer.getsockname())
            peer.connect(mine.getsockname())
            peer.settimeout(PATIENCE_S)
        self.plane = DataPlane([mine.fileno() for mine in self.ours], **options)
        self.thread = threading.Thread(target=self.plane.run)

    @staticmethod
    def bound():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", 0))
        return made

    def receive(self, peer):
        return decode_datagram(self.peers[peer].recv(65536))

    def control(self, count):
        """The next `count` control packets, waited for on the descriptor."""
        taken = []
        while len(taken) < count:
            assert select.select([self.plane.control_fd()], [], [], PATIENCE_S)[0], f"only {taken} came"
            taken += self.plane.take_control()
        return taken

    def taken_inside(self, value):
        """Poll the counters of the inner interface, with a deadline, until so many messages are counted."""
        deadline = time.monotonic() + PATIENCE_S
        while self.plane.counters()["inner"]["rx_messages"] < value:
            assert time.monotonic() < deadline, self.plane.counters()
            os.sched_yield()
        return self.plane.counters()["inner"]

    def counted(self, interface, name, value):
        """Poll a counter, with a deadline, until it has the value."""
        deadline = time.monotonic() + PATIENCE_S
        while self.plane.counters()["interfaces"][interface][name] < value:
            assert time.monotonic() < deadline, self.plane.counters()
            os.sched_yield()
        return self.plane.counters()["interfaces"][interface]

    def dropped(self, reason, value):
        deadline = time.monotonic() + PATIENCE_S
        while self.plane.counters()["drops"][reason] < value:
            assert time.monotonic() < deadline, self.plane.counters()
            os.sched_yield()
        assert self.plane.counters()["drops"][reason] == value


@contextmanager
def router(count=4, start=True, **options):
    made = Router(count, **options)
    try:
        if start:
            made.thread.start()
        yield made
    finally:
        made.plane.stop()
        if made.thread.ident is not None:
            made.thread.join(PATIENCE_S)
            assert not made.thread.is_alive()
        for each in made.ours + made.peers:
            each.close()


def test_a_message_goes_where_the_fib_says():
    with router() as r:
        r.plane.install(fib_to([1, 3]))
        r.peers[0].send(message(5))
        for peer in (1, 3):
            (copy,) = r.receive(peer)
            assert (copy.sequence, copy.hop_count, copy.hop_limit, copy.header_class) == (5, 1, 63, 1)
        counters = r.counted(1, "tx_messages", 1)
        assert (counters["tx_datagrams"], counters["tx_bytes"]) == (1, len(message(5)))
        assert r.plane.counters()["interfaces"][2]["tx_messages"] == 0


def test_the_loop_sends_what_the_fib_alone_would():
    """The simulator's call and the loop share `forward_datagram`; bundles are equal byte for byte."""
    datagram = b"".join([message(1), ACK, encode(Pad(8)), message(2), message(3, source=9)])
    fib = fib_to([1, 2])
    control, outputs, drops = fib.forward_datagram(datagram, 0)
    with router() as r:
        r.plane.install(fib)
        r.peers[0].send(datagram)
        assert [(peer, r.peers[peer].recv(65536)) for peer in (1, 2)] == outputs
        assert r.control(1) == [(0, packet) for packet in control]
        r.dropped("SPOOFED_SOURCE", len(drops))


def test_T5_the_loop_sends_what_a_fib_with_destinations_alone_would():
    everything, ways = ForwardingTable(), ((2, 1), (5, 1), (9, 2))
    for interface in range(3):
        everything.add(interface, encode_filter(Filter()))
    everything.commit()
    entry = ClassEntry(1, 0b1110, 0b0001, 0, 1, routed=True)
    fib = Fib(1, [CLIENT, 0, 0, 0], [entry], [everything], route=Route(4, 0, ways))
    with router() as r:
        r.plane.install(fib)
        for peer, datagram in (
            (0, message(1) + message(2)),
            (3, message(3, source=5, header_class=1, route=b"\1\1\7")),
        ):
            _, outputs, drops = fib.forward_datagram(datagram, peer)
            r.peers[peer].send(datagram)
            assert [(out, r.peers[out].recv(65536)) for out, _ in outputs] == outputs
        assert drops == [DropReason.UNREACHABLE]
        r.dropped("UNREACHABLE", 1)


def test_without_a_fib_messages_are_counted_drops():
    with router() as r:
        r.peers[0].send(message() + message())
        r.dropped("NO_FIB", 2)


def test_bad_datagrams_are_counted_and_the_loop_lives_on():
    with router() as r:
        r.plane.install(fib_to([1]))
        for bad in (b"", b"\0", message() + b"\1", os.urandom(3000), bytes(60_000)):
            r.peers[0].send(bad)
        r.dropped("MALFORMED", 5)
        r.peers[0].send(message(8))
        assert r.receive(1)[0].sequence == 8


def test_control_packets_wait_in_order_of_arrival_and_signal_their_descriptor():
    packets = [encode_ack(1, 2, n, 4) for n in range(50)]
    with router() as r:
        assert not select.select([r.plane.control_fd()], [], [], 0)[0]
        for packet in packets:
            r.peers[2].send(packet)
        assert r.control(50) == [(2, packet) for packet in packets]
        assert not select.select([r.plane.control_fd()], [], [], 0)[0]
        assert r.plane.take_control() == []


def test_a_full_control_queue_drops_and_counts_and_recovers():
    with router(queue_packets=10) as r:
        r.peers[1].send(ACK * 25)
        assert r.counted(1, "control_overflows", 15)["rx_control"] == 25
        assert len(r.control(10)) == 10
        r.peers[1].send(ACK)
        assert r.control(1) == [(1, ACK)]


def test_who_floods_the_control_queue_costs_the_others_neither_packets_nor_their_turn():
    with router(queue_packets=16) as r:
        for _ in range(4):
            r.peers[1].send(ACK * 25)
        r.counted(1, "control_overflows", 84)
        for interface in (0, 2, 3):
            r.peers[interface].send(ACK * 4)
            assert r.counted(interface, "rx_control", 4)["control_overflows"] == 0
        taken = [interface for interface, _ in r.plane.take_control()]
        assert [taken.count(each) for each in range(4)] == [4, 16, 4, 4]
        assert sorted(taken[:16]) == sorted([0, 1, 2, 3] * 4)


def test_of_a_long_queue_a_part_is_taken_at_a_time_and_the_descriptor_says_that_there_is_more():
    with router(queue_packets=10_000) as r:
        for sent in range(50, 2_501, 50):
            for interface in (1, 2):
                r.peers[interface].send(ACK * 50)
                r.counted(interface, "rx_control", sent)
        assert len(r.plane.take_control()) == 4_096
        assert select.select([r.plane.control_fd()], [], [], 0)[0]
        assert len(r.plane.take_control()) == 5_000 - 4_096
        assert not select.select([r.plane.control_fd()], [], [], 0)[0]


def test_a_lane_is_bounded_in_packets_whatever_the_queue_has_room_for():
    with router(queue_packets=100_000) as r:
        for sent in range(50, 5_001, 50):
            r.peers[1].send(ACK * 50)
            counters = r.counted(1, "rx_control", sent)
        assert counters["control_overflows"] == 5_000 - 4_096
        assert len(r.plane.take_control()) == 4_096


def test_a_lane_is_bounded_in_bytes():
    largest = encode(Control(1, 1, 2, 3, 4, 5, True, True, bytes(60_000)))
    fit = 8 * 1024 * 1024 // len(largest)
    with router() as r:
        for sent in range(1, fit + 11):
            r.peers[1].send(largest)
            counters = r.counted(1, "rx_control", sent)
        assert counters["control_overflows"] == 10
        assert len(r.plane.take_control()) == fit
        r.peers[1].send(largest)
        assert len(r.control(1)) == 1


def test_a_full_lane_has_room_for_some_hellos_more():
    with router() as r:
        for sent in range(50, 4_101, 50):
            r.peers[1].send(ACK * 50)
            r.counted(1, "rx_control", sent)
        r.peers[1].send(HELLO * 20)
        assert r.counted(1, "rx_control", 4_120)["control_overflows"] == 4
        taken = r.plane.take_control() + r.plane.take_control()
        assert [packet for _, packet in taken].count(HELLO) == 20
        for _ in range(5):
            r.peers[1].send(HELLO * 20)
        assert r.counted(1, "rx_control", 4_220)["control_overflows"] == 4 + 36
        assert len(r.control(64)) == 64


def test_of_an_interface_that_is_shut_hellos_come_and_the_first_of_what_counts():
    with router() as r:
        r.plane.shut(1, True)
        r.peers[1].send(ACK * 20 + HELLO + CONTROL * 20)
        assert r.counted(1, "rx_control", 41)["over_share"] == 39
        assert r.control(2) == [(1, ACK), (1, HELLO)]
        r.peers[2].send(ACK)
        assert r.control(1) == [(2, ACK)]
        r.plane.shut(1, False)
        r.peers[1].send(ACK + CONTROL)
        assert r.control(2) == [(1, ACK), (1, CONTROL)]
        assert r.counted(1, "rx_control", 43)["over_share"] == 39
        assert r.counted(2, "rx_control", 1)["over_share"] == 0
        with pytest.raises(UsageError, match="interface is 4"):
            r.plane.shut(4, True)


def test_the_control_plane_sends_past_the_loop():
    with router() as r:
        assert r.plane.send(3, ACK + message())
        assert r.peers[3].recv(100) == ACK + message()
        counters = r.plane.counters()["interfaces"][3]
        assert [counters[k] for k in ("tx_control", "tx_messages", "tx_datagrams")] == [1, 1, 1]
        with pytest.raises(UsageError, match="interface is 4"):
            r.plane.send(4, ACK)
        for bad in (b"", ACK[:-1], ACK + b"\0"):
            with pytest.raises(UsageError, match="to be sent"):
                r.plane.send(0, bad)


def test_a_neighbour_that_is_gone_is_an_error_counted_and_not_the_end():
    """Loopback answers a closed port with ICMP: ECONNREFUSED at the next call, on sending or receiving."""
    with router() as r:
        r.plane.install(fib_to([1, 2]))
        r.peers[1].close()
        for sequence in range(20):
            r.peers[0].send(message(sequence))
            assert r.receive(2)[0].sequence == sequence
        counters = r.plane.counters()["interfaces"][1]
        assert counters["rx_errors"] + counters["tx_errors"] > 0


def test_a_datagram_the_kernel_refuses_is_a_send_failed_drop():
    """65,535 bytes do not fit into UDP over IPv4: EMSGSIZE."""
    giant = message(attributes={"a": "x" * 40_000, "b": "y" * 25_300})
    with router() as r:
        assert not r.plane.send(1, giant[:0] + encode(Pad(65_535)))
        assert r.plane.counters()["interfaces"][1]["tx_errors"] == 1
        fib = fib_to([1, 7], count=8)
        r.plane.install(fib)
        r.peers[0].send(message(1))
        assert r.receive(1)[0].sequence == 1
        r.dropped("SEND_FAILED", 1)


def test_no_message_sees_half_of_a_swapped_fib():
    """Two FIBs that differ in mask and rewrite are swapped while traffic flows; no mixture appears."""
    fibs = {7: fib_to([1, 2], rewrite=7), 8: fib_to([2, 3], rewrite=8)}
    total, window = 3_000, 50
    seen = {peer: {} for peer in (1, 2, 3)}
    with router() as r:

        def note(peer):
            seen[peer] |= {copy.sequence: copy.header_class for copy in r.receive(peer)}

        r.plane.install(fibs[7])
        for start in range(0, total, window):
            for sequence in range(start, start + window):
                r.peers[0].send(message(sequence))
                r.plane.install(fibs[7 + sequence % 2])
            while len(seen[1] | seen[3]) < start + window or len(seen[2]) < start + window:
                for ready in select.select(r.peers[1:], [], [], PATIENCE_S)[0]:
                    note(r.peers.index(ready))
    assert set(seen[2]) == set(range(total))
    assert seen[1] == {n: 7 for n, rewrite in seen[2].items() if rewrite == 7}
    assert seen[3] == {n: 8 for n, rewrite in seen[2].items() if rewrite == 8}


def datagrams_of_all_sizes(rng, most):
    """One datagram full of messages, many of them of equal size, and the FIB to send it on."""
    packets, total = [], 0
    while total < 60_000:
        size = rng.choice([0, 500, 500, 500, rng.randrange(most)])
        packets += [message(len(packets) + n, attributes={"a": "x" * size}) for n in range(rng.randint(1, 9))]
        total = sum(map(len, packets))
    while sum(map(len, packets)) > 65_507:
        packets.pop()
    return b"".join(packets), fib_to([1, 2])


def test_segmented_sends_arrive_as_the_datagrams_they_are(rng):
    """Runs of equal size leave by UDP GSO; the far end cannot tell."""
    for most in (100, 1400, 4000):
        datagram, fib = datagrams_of_all_sizes(rng, most)
        wanted = fib.forward_datagram(datagram, 0)[1]
        with router() as r:
            r.plane.install(fib)
            r.peers[0].send(datagram)
            for peer in (1, 2):
                sent = [each for interface, each in wanted if interface == peer]
                assert [r.peers[peer].recv(65536) for _ in sent] == sent
                counters = r.counted(peer, "tx_datagrams", len(sent))
                assert counters["tx_bytes"] == sum(map(len, sent))


@pytest.mark.emu
def test_where_the_kernel_refuses_segmentation_datagrams_go_one_by_one(namespace):
    """Segments larger than the path's MTU: EINVAL for GSO, IP fragments without it."""
    namespace.ip("link set lo mtu 1280 up")
    packets = [message(n, attributes={"a": "x" * 2000}) for n in range(6)]
    fib = fib_to([1])

    def run():
        with router() as r:
            r.plane.install(fib)
            r.peers[0].send(b"".join(packets))
            arrived = [r.receive(1)[0].sequence for _ in packets]
            return arrived, r.plane.counters()

    arrived, counters = namespace.call(run)
    assert arrived == [0, 1, 2, 3, 4, 5]
    assert counters["drops"]["SEND_FAILED"] == 0


def test_joined_datagrams_are_taken_apart_before_framing():
    """UDP GSO and GRO: one bad segment is dropped, its neighbours are forwarded."""
    udp_segment = 103
    size = len(message(0))
    segments = [message(0), b"\7" * size, message(2), message(3)]
    with router() as r:
        r.plane.install(fib_to([1]))
        level = [(socket.IPPROTO_UDP, udp_segment, size.to_bytes(2, "little"))]
        r.peers[0].sendmsg([b"".join(segments)], level)
        r.dropped("MALFORMED", 1)
        counters = r.counted(0, "rx_datagrams", 4)
        assert counters["rx_messages"] == 3
        assert [copy.sequence for copy in r.receive(1)] == [0, 2, 3]


def test_datagrams_lost_in_the_sockets_queue_are_counted():
    with router(start=False) as r:
        r.ours[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for sequence in range(500):
            r.peers[0].send(message(sequence))
        r.thread.start()
        r.counted(0, "rx_datagrams", 1)
        r.peers[0].send(ACK)
        r.control(1)
        counters = r.plane.counters()["interfaces"][0]
        assert counters["rx_overflows"] == 500 - counters["rx_messages"] > 0


def test_stop_before_run_and_twice_is_fine():
    with router(start=False) as r:
        r.plane.stop()
        r.plane.stop()
        r.thread.start()
        r.thread.join(PATIENCE_S)
        assert not r.thread.is_alive()


def test_a_descriptor_that_cannot_be_watched_ends_the_run_with_its_error(tmp_path):
    with (tmp_path / "no socket").open("wb") as file, pytest.raises(OSError, match="cannot go on"):
        DataPlane([file.fileno()]).run()


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        DataPlane(["x"])
    with pytest.raises(TypeError):
        DataPlane([]).install(None)


def fib_with_inner(interfaces, count=2):
    """As `fib_to`, with an interface more: to the control plane."""
    table = ForwardingTable()
    for interface in interfaces:
        table.add(interface, encode_filter(Filter()))
    table.commit()
    out = sum(1 << interface for interface in interfaces)
    return Fib(1, [CLIENT] + [0] * (count - 1) + [9], [ClassEntry(1, 0, out, 0, 1)], [table])


def test_what_is_for_the_inner_interface_is_taken_by_the_control_plane():
    with router(2, inner=True) as r:
        r.plane.install(fib_with_inner([1, 2]))
        r.peers[0].send(message(1) + ACK + message(2))
        taken = r.control(3)
        assert [packet for interface, packet in taken if interface == 0] == [ACK]
        inside = [decode_datagram(packet) for interface, packet in taken if interface == 2]
        assert [(m.sequence, m.hop_count, m.header_class) for (m,) in inside] == [(1, 1, 1), (2, 1, 1)]
        assert [m.sequence for m in r.receive(1)] == [1, 2], "others have their copies"
        assert r.taken_inside(2) == {"rx_messages": 2, "control_overflows": 0}


def test_a_message_at_its_last_hop_still_comes_to_the_inner_interface():
    with router(2, inner=True) as r:
        r.plane.install(fib_with_inner([1, 2]))
        r.peers[0].send(message(1, hop_limit=1))
        ((interface, packet),) = r.control(1)
        assert (interface, decode_datagram(packet)[0].hop_limit) == (2, 0)
        r.dropped("HOP_LIMIT", 1)


def test_messages_for_the_control_plane_leave_half_of_the_queue_to_its_packets():
    with router(2, inner=True, queue_packets=8) as r:
        r.plane.install(fib_with_inner([2]))
        for sequence in range(10):
            r.peers[0].send(message(sequence))
        r.counted(0, "rx_messages", 10)
        for _ in range(6):
            r.peers[0].send(ACK)
        r.counted(0, "control_overflows", 2)
        assert [interface for interface, _ in r.plane.take_control()] == [0, 2] * 4
        assert r.plane.counters()["inner"] == {"rx_messages": 4, "control_overflows": 6}


def test_without_an_inner_interface_there_is_nowhere_for_its_copies():
    with router(2) as r:
        r.plane.install(fib_with_inner([2]))
        r.peers[0].send(message(1))
        r.dropped("SEND_FAILED", 1)
        assert r.plane.counters()["inner"] == {"rx_messages": 0, "control_overflows": 0}
