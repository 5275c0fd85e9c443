"""What simulated links do to datagrams."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fastpath.cable import LONGEST_QUEUE_NS, LinkModel
from testbed.plan.model import Impairment
from testbed.sim.frames import HEADER_BYTES, Framer, Tap, words_sum
from testbed.sim.link import Channel, End, Flight
from testbed.sim.scheduler import Scheduler

MS = 1_000_000
FAR = 10**18
OPEN_DELAY_NS = 100_000


class Line:
    """One channel and what came out of it, with times."""

    def __init__(self, impairment: Impairment, seed: int = 7, capture: Tap | None = None) -> None:
        self.scheduler = Scheduler(0)
        self.flight = Flight()
        self.arrived: list[tuple[int, bytes]] = []
        self.channel = Channel(
            self.scheduler,
            self.flight,
            Framer("a-eth0", ("02:00:00:00:00:01", "02:00:00:00:00:02"), ("10.0.0.1", "10.0.0.2"), 1500),
            impairment=impairment,
            model=LinkModel(seed, OPEN_DELAY_NS),
            capture=None,
            end=End(0, lambda _, datagram: self.arrived.append((self.scheduler.now_ns, datagram)), capture),
        )

    def send_all(self, count: int, every_ns: int = MS, size: int = 4) -> None:
        for number in range(count):
            datagram = number.to_bytes(size, "big")
            self.scheduler.at(number * every_ns, self.channel.send, datagram, True)
        self.scheduler.run(FAR, FAR)

    @property
    def delays(self) -> list[int]:
        return [time_ns - int.from_bytes(datagram, "big") * MS for time_ns, datagram in self.arrived]


@pytest.mark.parametrize(("delay_ns", "expected"), [(None, OPEN_DELAY_NS), (5 * MS, 5 * MS), (0, 0)])
def test_a_link_delays_by_what_it_says_or_else_by_the_hop_delay(delay_ns: int | None, expected: int) -> None:
    line = Line(Impairment(delay_ns=delay_ns))
    line.send_all(10)
    assert line.delays == [expected] * 10


def test_jitter_varies_the_delay_to_both_sides_and_stays_within_its_bounds() -> None:
    line = Line(Impairment(delay_ns=5 * MS, jitter_ns=2 * MS))
    line.send_all(500)
    assert 3 * MS <= min(line.delays) < 4 * MS
    assert 6 * MS < max(line.delays) <= 7 * MS


def test_loss_takes_its_share_and_counts_it() -> None:
    line = Line(Impairment(loss=0.25))
    line.send_all(2000)
    lost = line.channel.sent()["lost"]
    assert 400 < lost < 600
    assert lost + len(line.arrived) == 2000
    assert line.flight.messages == 0


def test_a_link_that_loses_all_delivers_nothing() -> None:
    line = Line(Impairment(loss=1.0))
    line.send_all(20)
    assert line.arrived == []
    assert line.flight.messages == 0


def test_a_rate_spaces_datagrams_by_the_time_each_takes() -> None:
    line = Line(Impairment(delay_ns=MS, rate_bps=1_000_000))
    line.send_all(5, every_ns=0, size=100)
    each_ns = (100 + HEADER_BYTES) * 8 * 1000
    assert [t for t, _ in line.arrived] == [MS + each_ns * n for n in range(1, 6)]


def test_a_queue_that_is_too_long_drops_its_tail() -> None:
    line = Line(Impairment(rate_bps=1_000_000))
    line.send_all(1000, every_ns=0, size=100)
    each_ns = (100 + HEADER_BYTES) * 8 * 1000
    assert len(line.arrived) == LONGEST_QUEUE_NS // each_ns + 1
    assert line.channel.sent()["lost"] == 1000 - len(line.arrived)
    assert line.flight.messages == 0


def test_the_same_seed_decides_the_same_and_another_seed_otherwise() -> None:
    impairment = Impairment(delay_ns=5 * MS, jitter_ns=MS, loss=0.2)
    lines = [Line(impairment, seed) for seed in (1, 1, 2)]
    for line in lines:
        line.send_all(50)
    assert lines[0].arrived == lines[1].arrived != lines[2].arrived


def test_messages_on_their_way_are_counted_until_they_arrive() -> None:
    line = Line(Impairment(delay_ns=10))
    line.channel.send(b"message", True)
    line.channel.send(b"control", False)
    assert line.flight.messages == 1
    line.scheduler.run(9, FAR)
    assert line.flight.messages == 1
    line.scheduler.run(10, FAR)
    assert line.flight.messages == 0
    assert len(line.arrived) == 2


def test_losses_in_bursts_keep_their_share_and_have_their_length() -> None:
    line = Line(Impairment(loss=0.2, loss_burst=5))
    line.send_all(20_000)
    there = {int.from_bytes(datagram, "big") for _, datagram in line.arrived}
    lost = [n not in there for n in range(20_000)]
    runs = sum(now and not before for before, now in pairwise([False, *lost]))
    assert 0.17 < sum(lost) / len(lost) < 0.23
    assert 4 < sum(lost) / runs < 6
    assert line.flight.messages == 0


def test_a_duplicate_arrives_as_well_and_is_counted_on_its_way() -> None:
    line = Line(Impairment(delay_ns=5 * MS, duplicate=0.3))
    line.send_all(1000)
    assert 1200 < len(line.arrived) < 1400
    assert len({datagram for _, datagram in line.arrived}) == 1000
    assert line.flight.messages == 0


def test_what_is_reordered_overtakes_and_nothing_else_does() -> None:
    line = Line(Impairment(delay_ns=5 * MS, reorder=0.1))
    line.send_all(1000)
    assert {*line.delays} == {0, 5 * MS}
    assert 60 < line.delays.count(0) < 140


class Frames:
    """Sees what passes, as a capture does."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def record(self, time_ns: int, frame: bytes) -> None:
        self.seen.append(frame)


def test_corruption_is_dropped_and_counted_by_the_receiver_and_seen_by_its_capture() -> None:
    capture = Frames()
    line = Line(Impairment(corrupt=0.25), capture=capture)
    line.send_all(1000)
    got = line.channel.received()
    assert 180 < got["rx_checksum_errors"] == 1000 - got["rx_datagrams"] < 320
    assert len(line.arrived) == got["rx_datagrams"]
    assert (len(capture.seen), line.flight.messages) == (1000, 0)
    bad = 0
    for frame in capture.seen:
        length = (len(frame) - 34).to_bytes(2, "big")
        # A right checksum makes the sum of pseudo-header, header and datagram 0xffff, which is 0 here.
        bad += words_sum(frame[26:34] + b"\0\x11" + length + frame[34:]) != 0
    assert bad == got["rx_checksum_errors"]


@pytest.mark.parametrize(
    ("limit", "fit"), [({"queue_packets": 3}, 3), ({"queue_bytes": 3 * (100 + HEADER_BYTES)}, 3)]
)
def test_a_queue_with_a_limit_drops_what_comes_on_top(limit: dict[str, int], fit: int) -> None:
    line = Line(Impairment(rate_bps=1_000_000, **limit))
    line.send_all(10, every_ns=0, size=100)
    assert [int.from_bytes(datagram, "big") for _, datagram in line.arrived] == [*range(1 + fit)]
    assert line.channel.sent()["lost"] == 10 - 1 - fit
    line.channel.send(b"later", False)
    line.scheduler.run(2 * FAR, FAR)
    assert line.arrived[-1][1] == b"later"


def test_a_link_that_changes_leaves_what_is_on_its_way_as_it_is() -> None:
    line = Line(Impairment(delay_ns=5 * MS))
    line.channel.send(b"slow", True)
    line.channel.impair(Impairment(delay_ns=MS))
    line.channel.send(b"fast", True)
    line.scheduler.run(FAR, FAR)
    assert line.arrived == [(MS, b"fast"), (5 * MS, b"slow")]


@pytest.mark.parametrize(("shape", "least", "most"), [("normal", -4, 4), ("pareto", -2 / 3, 4)])
def test_jitter_has_the_shape_that_is_asked_for(shape: str, least: float, most: float) -> None:
    line = Line(Impairment(delay_ns=20 * MS, jitter_ns=2 * MS, jitter_shape=shape))
    line.send_all(1000)
    assert 20 * MS + least * 2 * MS - 1 <= min(line.delays)
    assert 22 * MS < max(line.delays) <= 20 * MS + most * 2 * MS


def test_a_link_that_is_down_loses_what_is_on_it_and_carries_again_once_up() -> None:
    line = Line(Impairment(delay_ns=10, rate_bps=1_000_000))
    for _ in range(3):
        line.channel.send(b"on its way", True)
    line.channel.take_down()
    line.channel.send(b"into nothing", True)
    line.scheduler.run(FAR, FAR)
    assert (line.arrived, line.flight.messages, line.channel.sent()["lost"]) == ([], 0, 4)
    line.channel.bring_up()
    line.channel.send(b"again", True)
    line.scheduler.run(2 * FAR, FAR)
    assert [datagram for _, datagram in line.arrived] == [b"again"]


def test_what_waits_when_a_link_changes_leaves_and_arrives_as_it_would_have() -> None:
    line = Line(Impairment(delay_ns=MS, rate_bps=1_000_000))
    for name in (b"first", b"second"):
        line.channel.send(name, True)
    line.channel.impair(Impairment(delay_ns=MS, loss=1.0))
    line.channel.send(b"third", True)
    line.scheduler.run(FAR, FAR)
    assert [datagram for _, datagram in line.arrived] == [b"first", b"second"]
    assert line.flight.messages == 0


def test_what_is_not_asked_for_draws_nothing() -> None:
    """A link that loses frames decides alike whether or not they also wait for a rate."""
    lines = [Line(Impairment(delay_ns=0, loss=0.3, rate_bps=rate)) for rate in (None, 10**9)]
    for line in lines:
        line.send_all(300)
    plain, rated = ([datagram for _, datagram in line.arrived] for line in lines)
    assert plain == rated
