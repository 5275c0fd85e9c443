"""Corrected times are exact integers, however large they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.drift.correction import HostClock, corrected

START_NS = 1_700_000_000_123_456_789


def clock(offset_ns: int, ppb: int = 0, **more: object) -> HostClock:
    return HostClock("h", offset_ns, ppb / 1e9, START_NS, 0, 0, **more)  # type: ignore[arg-type]


def once(time_ns: int, by: HostClock) -> int:
    return int(corrected(np.array([4]), np.array([time_ns], np.int64), {4: by})[0])


@given(st.integers(-(10**18), 10**18), st.integers(0, 10**14))
def test_an_offset_is_taken_away_to_the_nanosecond(offset_ns: int, later_ns: int) -> None:
    time_ns = START_NS + later_ns
    assert once(time_ns + offset_ns, clock(offset_ns)) == time_ns


@given(st.integers(-(10**10), 10**10), st.integers(-500_000, 500_000), st.integers(0, 10**14))
def test_drift_is_taken_away_to_the_nanosecond(offset_ns: int, ppb: int, later_ns: int) -> None:
    shown = START_NS + later_ns + offset_ns + round(Fraction(ppb, 10**9) * later_ns)
    assert abs(once(shown, clock(offset_ns, ppb)) - (START_NS + later_ns)) <= 1


@given(st.lists(st.integers(0, 10**12), min_size=2), st.integers(-500_000, 500_000))
def test_the_order_of_one_clocks_times_stays(times: list[int], ppb: int) -> None:
    column = START_NS + np.sort(np.array(times, np.int64))
    after = corrected(np.full(len(times), 4), column, {4: clock(17, ppb)})
    assert (np.diff(after) >= 0).all()


def test_times_of_other_nodes_and_of_clocks_that_cannot_be_corrected_stay() -> None:
    nodes, times = np.array([1, 4, 9, 12]), START_NS + np.arange(4, dtype=np.int64)
    clocks = {4: clock(5), 9: clock(5, even=False), 11: clock(7)}
    assert (corrected(nodes, times, clocks) - times).tolist() == [0, -5, 0, 0]
    assert corrected(nodes, times, {1: clock(0)}) is times


def test_what_is_said_of_a_clock() -> None:
    assert not clock(0).off
    assert clock(0, 3).off
    assert clock(0, 3).drift_ppm == 0.003
    assert clock(1, even=False).off
