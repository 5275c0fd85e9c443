"""A node's clock begins at the machine's real time, however busy the machine is."""

from __future__ import annotations

import itertools

import pytest

from nodes.daemon import clock

REAL_AHEAD_NS = 1_700_000_000_000_000_000
PAUSE_NS = 9_000_000


class Machine:
    """Two clocks, and a process that does not run for a while after some of its readings."""

    def __init__(self, paused_after: set[int], read_ns: int = 100) -> None:
        self._paused_after = paused_after
        self._readings = itertools.count()
        self._read_ns = read_ns
        self._monotonic = 0
        self.last_read_ns = 0

    def monotonic_ns(self) -> int:
        self.last_read_ns = self._monotonic
        self._monotonic += self._read_ns + PAUSE_NS * (next(self._readings) in self._paused_after)
        return self.last_read_ns

    def time_ns(self) -> int:
        return REAL_AHEAD_NS + self.monotonic_ns()


def started_on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> int:
    """How far a clock that is made on this machine is from its real time."""
    monkeypatch.setattr(clock.time, "monotonic_ns", machine.monotonic_ns)
    monkeypatch.setattr(clock.time, "time_ns", machine.time_ns)
    made = clock.Clock()
    return made.now_ns() - (machine.last_read_ns + REAL_AHEAD_NS)


@pytest.mark.parametrize("reading", range(4))
def test_a_process_that_is_paused_between_two_readings_starts_with_the_right_time(reading, monkeypatch):
    machine = Machine({reading})
    assert abs(started_on(machine, monkeypatch)) <= clock.CLOSE_NS


def test_of_readings_that_are_all_disturbed_the_closest_counts(monkeypatch):
    machine = Machine({n for n in range(300) if n not in (150, 151, 152)})
    assert abs(started_on(machine, monkeypatch)) <= clock.CLOSE_NS
