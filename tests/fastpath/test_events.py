"""The queue of events against a sorted list."""

from __future__ import annotations

import gc
import random
from bisect import insort

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastpath.events import EventQueue

LEAST, MOST = -(2**63), 2**63 - 1


class Owner:
    """Somebody to whom something is to happen."""

    def act(self, a: object, b: object) -> None:
        """Nobody calls it."""


def of_nobody(a: object, b: object) -> None:
    """Nobody calls it."""


@given(st.integers(0, 2**32))
def test_events_come_out_by_time_and_at_one_time_as_they_went_in(seed: int) -> None:
    rng, queue = random.Random(seed), EventQueue()
    owners = [Owner(), Owner()]
    actions = [of_nobody, *(owner.act for owner in owners)]
    waiting: list[tuple[int, int, int]] = []
    for number in range(300):
        drawn = rng.random()
        if drawn < 0.5:
            time_ns, whose = rng.choice((LEAST, MOST, *range(20))), rng.randrange(3)
            insort(waiting, (time_ns, number, whose))
            queue.push(time_ns, actions[whose], number, whose)
        elif drawn < 0.52:
            whose = rng.randrange(2)
            gone = [(n, w) for _, n, w in waiting if w == whose + 1]
            waiting = [each for each in waiting if each[2] != whose + 1]
            assert [event[1:] for event in queue.withdraw(owners[whose])] == gone, seed
        elif waiting:
            assert queue.first_ns() == waiting[0][0], seed
            time_ns, *event = waiting.pop(0)
            action, *said = queue.pop()
            assert (said, action) == (event, actions[event[1]]), seed
        assert len(queue) == len(waiting), seed
    assert [queue.pop()[1] for _ in waiting] == [number for _, number, _ in waiting], seed


def test_where_nothing_is_to_happen_asking_says_so() -> None:
    queue = EventQueue()
    for ask in (queue.first_ns, queue.pop):
        with pytest.raises(IndexError, match="nothing is to happen"):
            ask()
    assert queue.withdraw(queue) == []


@pytest.mark.parametrize("time_ns", [LEAST - 1, MOST + 1])
def test_a_time_that_does_not_fit_is_refused(time_ns: int) -> None:
    queue = EventQueue()
    with pytest.raises(OverflowError):
        queue.push(time_ns, of_nobody, None, None)
    assert len(queue) == 0


def test_a_queue_and_what_waits_in_it_for_the_queue_itself_are_found_by_the_collector() -> None:
    class Holder:
        """Refers to the queue that refers to it."""

        alive = 0

        def __init__(self) -> None:
            Holder.alive += 1
            self.queue = EventQueue()
            self.queue.push(1, self.act, self, None)

        def act(self, a: object, b: object) -> None:
            """Nobody calls it."""

        def __del__(self) -> None:
            Holder.alive -= 1

    Holder()
    gc.collect()
    assert Holder.alive == 0
