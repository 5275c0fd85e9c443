"""The reliable channel, alone, over a wire that loses, repeats and reorders."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.config import LimitConfig, TimerConfig
from nodes.routing.channel import URGENT, Channel
from nodes.routing.effects import Reason
from nodes.routing.outbound import Made
from nodes.wire.codec import decode
from nodes.wire.packets import Ack, Control, Kind

MS = 1_000_000
SECOND = 1_000 * MS
A, B = 11, 22
LIMITS = LimitConfig(window_packets=16, payload_bytes=1 << 20)


@dataclass
class Pair:
    """Two ends of a session and the wire between them."""

    rng: random.Random
    loss: float = 0.0
    duplicate: float = 0.0
    jitter_ns: int = 0
    mtu: int = 300
    limits: LimitConfig = LIMITS

    def __post_init__(self) -> None:
        timers = TimerConfig()
        self.ends = {
            A: Channel(A, B, self.mtu, timers, self.limits),
            B: Channel(B, A, self.mtu, timers, self.limits),
        }
        self.received: dict[int, list[tuple[int, bytes]]] = {A: [], B: []}
        self.wire: list[tuple[int, int, int, bytes]] = []
        self.packets = 0
        self.now_ns = 0

    def flush(self) -> None:
        for name, end in self.ends.items():
            for packet in end.take_packets():
                self._carry(B if name == A else A, packet)

    def run(self, until_ns: int) -> None:
        """Until nothing is left to do, or the time is over."""
        self.flush()
        while (due := self._next()) is not None and due <= until_ns:
            self.now_ns = due
            while self.wire and self.wire[0][0] <= due:
                _, _, to, packet = heapq.heappop(self.wire)
                got = decode(packet)
                assert isinstance(got, Control | Ack)
                self.received[to] += self.ends[to].receive(due, got)
            for end in self.ends.values():
                end.handle_timer(due)
            self.flush()

    @property
    def idle(self) -> bool:
        return all(end.idle for end in self.ends.values())

    def _carry(self, to: int, packet: bytes) -> None:
        assert len(packet) <= self.mtu - 28
        if self.rng.random() < self.loss:
            return
        for _ in range(2 if self.rng.random() < self.duplicate else 1):
            self.packets += 1
            at = self.now_ns + MS + self.rng.randrange(self.jitter_ns + 1)
            heapq.heappush(self.wire, (at, self.packets, to, packet))

    def _next(self) -> int | None:
        deadlines = [d for end in self.ends.values() if (d := end.next_deadline()) is not None]
        return min([*deadlines, *(at for at, *_ in self.wire[:1])], default=None)


def payloads(rng: random.Random, count: int) -> list[tuple[int, bytes]]:
    return [
        (rng.randrange(1, 6), rng.randbytes(rng.choice([0, 1, 30, 212, 213, 5_000]))) for _ in range(count)
    ]


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0, 10 * MS]))
def test_payloads_arrive_once_whole_and_in_order_whatever_the_wire_does(
    seed: int, loss: float, jitter_ns: int
) -> None:
    rng = random.Random(seed)
    pair = Pair(rng, loss=loss, duplicate=loss, jitter_ns=jitter_ns)
    output = {A: payloads(rng, 30), B: payloads(rng, 10)}
    for name, whole in output.items():
        for kind, payload in whole:
            pair.ends[name].send(0, kind, payload)
    pair.run(600 * SECOND)
    assert pair.idle, seed
    for urgent in (True, False):
        for name, other in ((A, B), (B, A)):
            meant = [each for each in output[name] if (each[0] in URGENT) is urgent]
            assert [each for each in pair.received[other] if (each[0] in URGENT) is urgent] == meant, seed


def test_links_pass_between_the_fragments_of_a_large_payload_of_interest() -> None:
    pair = Pair(random.Random(1))
    large = bytes(300_000)
    pair.ends[A].send(0, Kind.INTEREST, large)
    pair.run(5 * MS)
    assert pair.received[B] == []
    began = pair.now_ns
    pair.ends[A].send(began, Kind.LINK_STATE, b"links " * 100)
    pair.run(began + 8 * MS)
    assert pair.received[B] == [(Kind.LINK_STATE, b"links " * 100)]
    assert not pair.idle, "and the large one is still on its way"
    pair.run(600 * SECOND)
    assert pair.received[B][1:] == [(Kind.INTEREST, large)]


def test_what_is_promised_is_made_when_its_turn_comes_and_not_if_there_is_nothing_to_say() -> None:
    pair = Pair(random.Random(1))
    output = [Made(2, b"first", True), Made(2, b"second", False), None, Made(2, b"third", False)]
    pair.ends[A].send(0, 3, bytes(5_000))
    pair.ends[A].promise(0, "key", lambda: output.pop(0))
    pair.ends[A].promise(0, "key", lambda: output.pop(0))
    assert len(output) == 4, "the window is full"
    pair.run(SECOND)
    assert pair.received[B][1:] == [(2, b"first"), (2, b"second")]
    pair.ends[A].promise(pair.now_ns, "key", lambda: output.pop(0))
    assert pair.idle
    pair.ends[A].promise(pair.now_ns, "key", lambda: output.pop(0))
    pair.run(2 * SECOND)
    assert pair.received[B][-1] == (2, b"third")


def test_open_payloads_of_all_kinds_together_are_bounded() -> None:
    channel = Channel(A, B, 1500, TimerConfig(), replace(LIMITS, payload_bytes=3_000))
    for number in range(1, 5):
        packet = control(kind=number, sequence=number, last=False, fragment=bytes(1_000))
        assert channel.receive(0, packet) == []
    assert channel.drops == [Reason.OVERSIZE_PAYLOAD]
    done = channel.receive(0, control(kind=1, sequence=5, first=False, fragment=b""))
    assert done == [(1, bytes(1_000))]


def test_at_most_a_window_is_unacknowledged() -> None:
    channel = Channel(A, B, 300, TimerConfig(), LIMITS)
    channel.send(0, 1, bytes(100_000))
    assert len(channel.take_packets()) == 8, "before the neighbour has said how much it takes"
    channel.receive(0, Ack(B, A, ack=3, window=12))
    assert len(channel.take_packets()) == 12 - 5
    channel.receive(0, Ack(B, A, ack=15, window=60_000))
    assert len(channel.take_packets()) == LIMITS.window_packets, "we hold to our own bound too"


def test_a_single_loss_is_repaired_without_waiting_for_the_time_out() -> None:
    pair = Pair(random.Random(1))
    pair.ends[A].send(0, 1, bytes(900))
    pair.run(SECOND)
    began = pair.now_ns
    pair.ends[A].send(began, 1, bytes(240 * 8))
    _lost, *others = pair.ends[A].take_packets()
    for packet in others:
        pair._carry(B, packet)
    pair.run(began + 5 * MS)
    assert pair.ends[A].retransmissions == 1
    assert [len(payload) for _, payload in pair.received[B]] == [900, 240 * 8]


def test_a_lost_acknowledgement_is_made_up_for_by_the_next() -> None:
    pair = Pair(random.Random(1))
    pair.ends[A].send(0, 1, b"once")
    (packet,) = pair.ends[A].take_packets()
    control = decode(packet)
    assert isinstance(control, Control)
    assert pair.ends[B].receive(0, control) == [(1, b"once")]
    pair.ends[B].handle_timer(10 * MS)
    assert [type(decode(p)) for p in pair.ends[B].take_packets()] == [Ack]  # and the wire loses it
    pair.run(SECOND)
    assert pair.idle
    assert pair.received[B] == [], "the payload was handed up once, at its first arrival"
    assert pair.ends[B].drops == [Reason.DUPLICATE_CONTROL]


def test_an_answer_carries_the_acknowledgement_and_silence_delays_it() -> None:
    pair = Pair(random.Random(1))
    pair.ends[A].send(0, 1, b"question")
    (packet,) = pair.ends[A].take_packets()
    pair.ends[B].receive(0, decode(packet))  # type: ignore[arg-type]
    assert pair.ends[B].take_packets() == []
    assert pair.ends[B].next_deadline() == 10 * MS
    pair.ends[B].send(MS, 2, b"answer")
    (answer,) = pair.ends[B].take_packets()
    assert decode(answer).ack == 1  # type: ignore[union-attr]
    assert pair.ends[B].next_deadline() == MS + 100 * MS, "what is left is its own time-out"


def test_a_newer_payload_takes_the_place_of_one_that_waits_under_its_key() -> None:
    pair = Pair(random.Random(1))
    channel = pair.ends[A]
    channel.send(0, 1, bytes(10_000))  # fills the window
    first = channel.send(0, 2, b"old", key="k")
    channel.send(0, 3, b"other", key="l")
    assert channel.send(0, 2, b"new", key="k") == first
    channel.send(0, 4, b"known there", key="m")
    channel.forget("m")
    pair.run(SECOND)
    assert [payload for _, payload in pair.received[B]][1:] == [b"new", b"other"]
    assert channel.acknowledged_ticket >= first


def test_a_window_of_zero_is_probed_and_does_not_end_the_session() -> None:
    pair = Pair(random.Random(1))
    channel = pair.ends[A]
    channel.send(0, 1, b"x")
    channel.take_packets()
    channel.receive(0, Ack(B, A, ack=1, window=0))
    channel.send(0, 1, bytes(1_000))
    assert len(channel.take_packets()) == 1


def test_retransmission_backs_off_and_never_gives_up() -> None:
    channel = Channel(A, B, 1500, TimerConfig(), LIMITS)
    channel.send(0, 1, b"x")
    channel.take_packets()
    waits, now_ns = [], 0
    for _ in range(7):
        due = channel.next_deadline()
        assert due is not None
        waits.append((due - now_ns) // MS)
        now_ns = due
        channel.handle_timer(now_ns)
        assert len(channel.take_packets()) == 1
    assert waits == [100, 200, 400, 800, 1600, 2000, 2000]


# --- hostile packets --------------------------------------------------------------------------------------


def control(**changes: object) -> Control:
    return Control(1, B, A, 1, 0, 16, True, True, b"payload")._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("packets", "reason"),
    [
        ([control(first=False)], Reason.FRAGMENT_WITHOUT_FIRST),
        ([control(ack=1)], Reason.IMPOSSIBLE_ACK),
        ([Ack(B, A, ack=7, window=16)], Reason.IMPOSSIBLE_ACK),
        ([control(sequence=18)], Reason.OUTSIDE_WINDOW),
        ([control(sequence=0xFFFF_FFFF)], Reason.OUTSIDE_WINDOW),
        ([control(), control()], Reason.DUPLICATE_CONTROL),
        ([control(sequence=2), control(sequence=2)], Reason.DUPLICATE_CONTROL),
        ([control(last=False), control(sequence=2)], Reason.UNFINISHED_PAYLOAD),
        (
            [control(last=False), control(sequence=2, first=False, kind=3)],
            Reason.FRAGMENT_WITHOUT_FIRST,
        ),
    ],
)
def test_what_is_wrong_is_dropped_and_counted_and_the_session_goes_on(
    packets: list[Control | Ack], reason: Reason
) -> None:
    channel = Channel(A, B, 1500, TimerConfig(), LIMITS)
    arrived = [payload for packet in packets for payload in channel.receive(0, packet)]
    assert channel.drops == [reason]
    assert len(arrived) <= 1
    good = Pair(random.Random(1))
    good.ends[A] = channel
    # A fresh peer continues where the drops left our receiving side.
    good.ends[B]._out._acknowledged = channel._in.received
    good.ends[B].send(0, 9, b"afterwards")
    good.run(SECOND)
    assert (9, b"afterwards") in good.received[A]


def test_a_payload_above_the_limit_is_discarded_whole_and_the_next_arrives() -> None:
    limits = replace(LIMITS, payload_bytes=1_000)
    pair = Pair(random.Random(1), limits=limits)
    for payload in (bytes(1_000), bytes(1_001), b"next"):
        pair.ends[A].send(0, 1, payload)
    pair.run(SECOND)
    assert [payload for _, payload in pair.received[B]] == [bytes(1_000), b"next"]
    assert pair.ends[B].drops == [Reason.OVERSIZE_PAYLOAD]
