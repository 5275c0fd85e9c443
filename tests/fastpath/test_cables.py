"""The loop that carries links, over socket pairs in the place of taps: what frames meet, and its account."""

from __future__ import annotations

import itertools
import select
import socket
import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastpath.cable import Cables
from tests.fastpath.cable_rig import HEADER, MS, PATIENCE_S, Rig, assert_conserved, does, frame, number_of


def test_frames_arrive_whole_and_in_order_and_no_earlier_than_their_delay():
    with Rig(does(delay_ns=20 * MS)) as rig:
        sent = []
        for number in range(200):
            sent.append(time.monotonic_ns())
            rig.send(frame(number, 46 + number))
        told = rig.settle()
    assert [data for _, data in rig.arrived[0]] == [frame(n, 46 + n) for n in range(200)]
    assert all(there - here >= 20 * MS for here, (there, _) in zip(sent, rig.arrived[0], strict=True))
    assert told["delivered"] == told["measured"] == 200
    assert told["bytes"] == sum(46 + n for n in range(200))
    assert 0 <= told["late_p50_ns"] <= told["late_p99_ns"] <= told["late_max_ns"]


def test_lateness_can_be_counted_anew_and_the_rest_goes_on():
    with Rig(does(delay_ns=MS)) as rig:
        rig.send_all(50)
        assert rig.settle()["measured"] == 50
        rig.cables.count_lateness_anew()
        told = rig.cables.measures(0)[0]
        assert (told["measured"], told["late_max_ns"], told["delivered"]) == (0, 0, 50)
        rig.send_all(20)
        told = rig.settle()
    assert (told["measured"], told["delivered"]) == (20, 70)


def test_both_ways_are_carried_each_with_its_own_impairment():
    with Rig(does()) as rig:
        rig.cables.impair(0, does(loss=1.0), does())
        rig.send(frame(1))
        rig.ends[0][1].send(frame(2))
        assert rig.settle()["lost"] == 1
        select.select([rig.ends[0][0]], [], [], PATIENCE_S)
        assert rig.ends[0][0].recv(2000) == frame(2)
        assert rig.cables.measures(0)[1]["delivered"] == 1


@settings(max_examples=15, deadline=None)
@given(
    shares=st.tuples(*[st.sampled_from([0.0, 0.1, 0.5, 1.0])] * 4),
    burst=st.sampled_from([None, 1.0, 5.0]),
    delay=st.integers(0, 3 * MS),
    shape=st.sampled_from(["uniform", "normal", "pareto"]),
    rate=st.sampled_from([None, 100_000_000]),
    queue=st.sampled_from([None, 0, 3]),
)
def test_every_frame_is_accounted_for_whatever_happens_to_it(shares, burst, delay, shape, rate, queue):
    loss, duplicate, reorder, corrupt = shares
    asked = does(
        delay_ns=delay, jitter_ns=delay // 2, jitter_shape=shape, loss=loss, loss_burst=burst,
        duplicate=duplicate, reorder=reorder, corrupt=corrupt, rate_bps=rate, queue_packets=queue,
    )  # fmt: skip
    with Rig(asked) as rig:
        rig.send_all(60)
        told = rig.settle()
    assert_conserved(told)
    assert told["delivered"] == len(rig.arrived[0])
    spoilt = sum(data != frame(number_of(data)) for _, data in rig.arrived[0])
    assert spoilt == told["corrupted"]
    assert told["lost"] == 0 or loss > 0


def test_loss_and_duplication_are_those_asked_for_within_an_interval_of_99_percent():
    count = 4000
    with Rig(does(loss=0.1), does(duplicate=0.1), does(loss=0.2, loss_burst=5.0)) as rig:
        for link in range(3):
            rig.send_all(count, link, size=46)
        lost, doubled, bursts = (rig.settle(link) for link in range(3))
    interval = 2.576 * (count * 0.1 * 0.9) ** 0.5
    assert abs(lost["lost"] - count * 0.1) < interval  # the seeds are fixed: it holds or it does not
    assert abs(doubled["duplicated"] - count * 0.1) < interval
    assert Counter(rig.numbers(1)).most_common(1)[0][1] == 2
    there = {*rig.numbers(2)}
    gone = [number not in there for number in range(count)]
    runs = sum(now and not before for before, now in itertools.pairwise([False, *gone]))
    assert bursts["lost"] == sum(gone)
    assert 0.15 < sum(gone) / count < 0.25
    assert 4 < sum(gone) / runs < 6


def test_the_random_stream_of_a_link_is_its_own():
    asked = does(loss=0.3, duplicate=0.1)
    with Rig(asked, asked, asked, seeds=[(1, 2), (1, 2), (3, 4)]) as rig:
        for number in range(300):
            rig.send(frame(number), 0)
            rig.send(frame(number), 2)
        for number in range(300):
            rig.send(frame(number), 1)
            rig.gather(0)
        for link in range(3):
            rig.settle(link)
    assert rig.numbers(0) == rig.numbers(1) != rig.numbers(2)


def test_corruption_turns_one_bit_of_what_udp_carries():
    with Rig(does(corrupt=1.0)) as rig:
        rig.send_all(300)
        assert rig.settle()["corrupted"] == 300
    for number, (_, data) in enumerate(rig.arrived[0]):
        whole = frame(number)
        turned = [bin(x ^ y).count("1") for x, y in zip(data, whole, strict=True)]
        assert sum(turned) == 1
        assert turned.index(1) >= 42


@pytest.mark.parametrize("size", [1, 2, 14, 15, 42, 43])
def test_short_frames_are_spoilt_within_their_bytes(size):
    with Rig(does(corrupt=1.0)) as rig:
        rig.send(HEADER[:1] * size)
        rig.settle()
    ((_, data),) = rig.arrived[0]
    assert len(data) == size
    assert data != HEADER[:1] * size


def test_what_overtakes_is_not_delayed():
    with Rig(does(delay_ns=300 * MS, reorder=0.3)) as rig:
        rig.send_all(100)
        told = rig.settle()
    early = told["reordered"]
    assert 15 < early < 45
    order = rig.numbers()
    assert order[:early] == sorted(order[:early])
    assert order[early:] == sorted(order[early:])
    assert order != sorted(order)


def test_a_rate_lets_frames_through_one_after_the_other():
    each_ns = 100 * 8 * 1000  # 100 bytes at 1 Mbit/s
    with Rig(does(rate_bps=1_000_000, delay_ns=2 * MS)) as rig:
        began = time.monotonic_ns()
        rig.send_all(50)
        told = rig.settle()
    assert rig.numbers() == [*range(50)]
    for number, (there, _) in enumerate(rig.arrived[0]):
        assert there - began >= (number + 1) * each_ns + 2 * MS
    assert told["lost_queue"] == 0


@pytest.mark.parametrize("limit", [{"queue_packets": 3}, {"queue_bytes": 300}])
def test_a_queue_with_a_limit_drops_what_comes_on_top(limit):
    with Rig(
        does(rate_bps=8_000, **limit)
    ) as rig:  # 100 ms a frame: all ten are read while the first is sent
        rig.send_all(10)
        told = rig.settle()
    assert rig.numbers() == [0, 1, 2, 3]
    assert told["lost_queue"] == 6


def test_nothing_waits_for_the_rate_longer_than_half_a_second():
    with Rig(does(rate_bps=8_000)) as rig:
        rig.send_all(10)
        assert rig.settle()["lost_queue"] == 4
    assert rig.numbers() == [0, 1, 2, 3, 4, 5]


def test_a_link_that_is_down_loses_what_is_on_it_and_carries_again_once_up():
    with Rig(does(delay_ns=60_000 * MS), does()) as rig:
        rig.send_all(3)
        while rig.cables.measures(0)[0]["underway"] < 3:
            rig.gather(1)
        rig.cables.cut(0)
        rig.send(frame(9))
        assert rig.settle()["lost_down"] == 4
        rig.cables.impair(0, does(), does())
        rig.cables.repair(0)
        rig.send(frame(10))
        told = rig.settle()
        assert rig.numbers() == [10]
        assert_conserved(told)


def test_a_change_is_for_frames_to_come_and_leaves_those_on_their_way():
    with Rig(does(delay_ns=200 * MS)) as rig:
        began = time.monotonic_ns()
        rig.send(frame(1))
        while rig.cables.measures(0)[0]["underway"] < 1:
            rig.gather(1)
        rig.cables.impair(0, does(), does())
        rig.send(frame(2))
        rig.settle()
    assert rig.numbers() == [2, 1]
    assert rig.arrived[0][1][0] - began >= 200 * MS


def test_slowed_time_delays_longer_and_carries_less():
    with Rig(does(delay_ns=5 * MS, rate_bps=8_000_000), dilate=20) as rig:
        began = time.monotonic_ns()
        rig.send_all(5, size=1000)
        told = rig.settle()
    for number, (there, _) in enumerate(rig.arrived[0]):
        assert there - began >= 20 * (5 * MS + (number + 1) * MS)
    assert told["late_max_ns"] * 20 <= rig.arrived[0][-1][0] - began


def test_what_there_is_no_memory_for_is_an_overrun_and_no_loss():
    with Rig(does(delay_ns=50 * MS), memory_bytes=10 * 1600) as rig:
        rig.send_all(100)
        told = rig.settle()
    assert told["overruns"] >= 80
    assert told["lost"] == told["lost_queue"] == 0
    assert_conserved(told)


def test_what_the_far_end_does_not_take_is_an_overrun():
    with Rig(does()) as rig:
        for number in range(3000):
            try:
                rig.ends[0][0].send(frame(number, 1500))
            except BlockingIOError:
                break
            rig.sent[0] += 1
        deadline = time.monotonic() + PATIENCE_S
        while (told := rig.cables.measures(0)[0])["overruns"] == 0 and time.monotonic() < deadline:
            rig.ends[0][0].send(frame(0, 1500)) if select.select([], [rig.ends[0][0]], [], 0.1)[1] else None
        assert told["overruns"] > 0
        assert told["last_errno"] != 0


def test_a_frame_larger_than_the_link_is_an_overrun():
    with Rig(does(), frame_bytes=100) as rig:
        rig.send(frame(1, 100))
        rig.send(frame(2, 101))
        rig.send(frame(3, 5000))
        told = rig.settle()
    assert rig.numbers() == [1]
    assert told["overruns"] == 2


def test_an_end_that_is_gone_takes_nothing_from_the_other_links():
    with Rig(does(), does()) as rig:
        rig.ends[0][0].close()
        rig.ends[0][1].close()
        rig.send_all(100, link=1)
        assert rig.settle(1)["delivered"] == 100
        spent = time.process_time()
        select.select([], [], [], 0.2)
        assert time.process_time() - spent < 0.15, "the loop turns for nothing"


def test_callers_are_let_in_while_the_loop_is_busy():
    with Rig(does(delay_ns=MS, jitter_ns=MS)) as rig:
        flood = threading.Event()

        def send():
            while not flood.is_set():
                rig.send(frame(0))

        sender = threading.Thread(target=send)
        sender.start()
        for number in range(300):
            rig.cables.impair(0, does(delay_ns=number), does())
            rig.cables.cut(0)
            rig.cables.repair(0)
            rig.cables.measures(0)
        flood.set()
        sender.join()
        assert_conserved(rig.settle())


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"delay_ns": -1}, "delay_ns is -1"),
        ({"delay_ns": 1 << 62}, "delay_ns is"),
        ({"jitter_ns": -1}, "jitter_ns is -1"),
        ({"jitter_shape": "gamma"}, "expected one of uniform, normal, pareto"),
        ({"jitter_correlation": 1.5}, "jitter_correlation is 1.5"),
        ({"loss": float("nan")}, "loss is nan"),
        ({"loss": -0.1}, "loss is -0.1"),
        ({"loss_burst": 0.5}, "loss_burst is 0.5"),
        ({"loss_burst": float("inf")}, "loss_burst is inf"),
        ({"duplicate": 2}, "duplicate is 2"),
        ({"reorder": 2}, "reorder is 2"),
        ({"corrupt": 2}, "corrupt is 2"),
        ({"rate_bps": -5}, "rate_bps is -5"),
        ({"queue_packets": -2}, "queue_packets is -2"),
        ({"queue_bytes": 1 << 63}, "queue_bytes is"),
    ],
)
def test_an_impairment_that_makes_no_sense_is_refused_and_changes_nothing(wrong, complaint):
    cables = Cables(1514, 1 << 20)
    with socket.socketpair()[0] as a, socket.socketpair()[0] as b:
        cables.join(a.fileno(), b.fileno(), (1, 2))
        with pytest.raises(ValueError, match=complaint):
            cables.impair(0, does(**wrong), does())
        with pytest.raises(ValueError, match=complaint):
            cables.impair(0, does(), does(**wrong))


def test_links_that_are_not_there_and_senseless_sizes_are_refused():
    cables = Cables(1514, 1 << 20)
    for call in (cables.cut, cables.repair, cables.measures, lambda n: cables.impair(n, does(), does())):
        with pytest.raises(IndexError, match="there is no link 0"):
            call(0)
    for sizes in ((13, 1 << 20), (1 << 18, 1 << 20), (1514, 100), (1514, 1 << 41)):
        with pytest.raises(ValueError, match="expected"):
            Cables(*sizes)
    for options in ({"dilate": 0}, {"dilate": 10**9}, {"tap_frames": 0}):
        with pytest.raises(ValueError, match="expected"):
            Cables(1514, 1 << 20, **options)


def test_a_descriptor_that_cannot_be_watched_ends_the_loop_with_its_reason():
    cables = Cables(1514, 1 << 20)
    cables.join(999_999, 999_998, (1, 2))
    with pytest.raises(OSError, match="cannot be carried on: Bad file descriptor"):
        cables.run()
