"""Least delays of parts of the packets are merged into those of all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.drift.least import LEAST_WINDOW_NS, LeastDelays, least_by_window, merged, window_ns

ROWS = st.lists(
    st.tuples(
        st.integers(1, 3), st.integers(1, 3), st.integers(0, 5_000), st.integers(-300, 300)
    ),  # from, to, sent, delay
    max_size=60,
)
BASE_NS = 1_700_000_000_123_456_789


def found(rows: list[tuple[int, int, int, int]]) -> LeastDelays:
    from_id, to_id, sent, delay = np.array(rows, np.int64).reshape(-1, 4).T
    return least_by_window(from_id, to_id, BASE_NS + sent, BASE_NS + sent + delay, 1_000)


@given(ROWS, st.integers(0, 60))
def test_parts_come_to_the_same_as_the_whole(rows: list[tuple[int, int, int, int]], cut: int) -> None:
    whole = found(rows)
    parts = merged([found(rows[cut:]), found(rows[:cut])])
    for name in LeastDelays._fields:
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()


@given(ROWS)
def test_each_window_of_each_direction_has_its_least(rows: list[tuple[int, int, int, int]]) -> None:
    expected: dict[tuple[int, int, int], int] = {}
    for from_id, to_id, sent, delay in rows:
        key = (from_id, to_id, (BASE_NS + sent) // 1_000)
        expected[key] = min(delay, expected.get(key, delay))
    least = found(rows)
    keys = zip(least.from_id.tolist(), least.to_id.tolist(), least.window.tolist(), strict=True)
    assert dict(zip(keys, least.least_ns.tolist(), strict=True)) == expected


def test_without_parts_there_is_nothing() -> None:
    assert len(merged([]).from_id) == 0


def test_windows_of_short_runs_are_not_too_short() -> None:
    assert window_ns(0) == LEAST_WINDOW_NS
    assert window_ns(64_000_000_000) == 1_000_000_000
