"""The simulator's event queue and clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.sim.scheduler import Scheduler, SimulationStuckError

FAR = 10**18


@given(st.lists(st.integers(0, 20), max_size=50))
def test_events_happen_in_order_of_time_and_of_asking(times: list[int]) -> None:
    scheduler = Scheduler(0)
    happened: list[tuple[int, int]] = []
    for number, time_ns in enumerate(times):
        scheduler.at(time_ns, lambda t, n: happened.append((t, n)), time_ns, number)
    assert scheduler.run(FAR, FAR)
    assert happened == sorted((t, n) for n, t in enumerate(times))


def test_the_clock_jumps_to_each_event_and_then_to_the_limit() -> None:
    scheduler = Scheduler(100)
    seen: list[int] = []
    for time_ns in (300, 200):
        scheduler.at(time_ns, lambda a, b: seen.append(scheduler.now_ns))
    scheduler.run(1000, FAR)
    assert seen == [200, 300]
    assert scheduler.now_ns == 1000


def test_an_event_beyond_the_limit_waits() -> None:
    scheduler = Scheduler(0)
    seen: list[int] = []
    scheduler.at(11, lambda a, b: seen.append(a), 1)
    scheduler.run(10, FAR)
    assert (seen, scheduler.next_ns) == ([], 11)
    scheduler.run(11, FAR)
    assert (seen, scheduler.next_ns) == ([1], None)


def test_a_spent_budget_leaves_the_rest_for_the_next_call() -> None:
    scheduler = Scheduler(0)
    seen: list[int] = []
    for number in range(5):
        scheduler.at(number, lambda a, b: seen.append(a), number)
    assert not scheduler.run(100, 3)
    assert seen == [0, 1, 2]
    assert scheduler.now_ns == 2
    assert scheduler.run(100, 3)
    assert seen == [0, 1, 2, 3, 4]


def test_what_is_done_ends_the_run_at_that_very_event() -> None:
    scheduler = Scheduler(0)
    seen: list[int] = []
    for number in range(5):
        scheduler.at(number, lambda a, b: seen.append(a), number)
    assert scheduler.run(100, FAR, done=lambda: len(seen) == 2)
    assert (seen, scheduler.now_ns) == ([0, 1], 1)


def test_a_clock_that_stands_still_is_an_error_that_says_so() -> None:
    scheduler = Scheduler(0, instant_bound=1000)

    def again(a: None, b: None) -> None:
        scheduler.at(scheduler.now_ns, again)

    scheduler.at(7, again)
    with pytest.raises(SimulationStuckError, match="more than 1000 events at 7 ns"):
        scheduler.run(FAR, FAR)


def test_many_events_are_no_livelock_as_long_as_the_clock_moves() -> None:
    scheduler = Scheduler(0, instant_bound=10)
    left = 5000

    def again(a: None, b: None) -> None:
        nonlocal left
        left -= 1
        if left:
            scheduler.at(scheduler.now_ns + 1, again)

    scheduler.at(1, again)
    assert scheduler.run(FAR, FAR)
    assert left == 0
