"""All lines between bounds, and only those, are in the polygon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.drift.lines import ROUNDING_NS, Bounds, Line, Points, box_of, middle_of

NS = st.integers(-1_000, 1_000)
POINTS = st.lists(st.tuples(st.integers(0, 64), NS), min_size=1, max_size=12)
SLOPE = 5_000.0


def points(rows: list[tuple[int, int]]) -> Points:
    return Points(np.array([at / 64 for at, _ in rows]), np.array([float(ns) for _, ns in rows]))


def bounds(above: list[tuple[int, int]], below: list[tuple[int, int]]) -> Bounds:
    return Bounds(points(above), points(below), SLOPE)


def test_two_good_clocks_are_uncertain_by_half_the_sum_of_the_least_delays() -> None:
    found = bounds([(0, 500), (64, 500)], [(0, -300), (64, -300)])
    box = box_of(found.lines())
    assert box.low == pytest.approx((-300, -300), abs=2 * ROUNDING_NS)
    assert box.high == pytest.approx((500, 500), abs=2 * ROUNDING_NS)
    assert found.constant_beside(Line(0, 0)) == 100
    assert box.farthest_ns(Line(100, 100)) == pytest.approx((500 + 300) / 2, abs=2 * ROUNDING_NS)


def test_a_line_between_two_close_hulls_is_found() -> None:
    found = bounds([(0, 1), (32, 51), (64, 101)], [(0, -1), (32, 49), (64, 99)])
    assert found.constant_beside(Line(0, 0)) is None
    assert middle_of(found.lines()) == pytest.approx((0, 100), abs=1)


@given(POINTS, POINTS, NS, NS)
def test_a_line_between_the_bounds_is_within_the_box(
    above: list[tuple[int, int]], below: list[tuple[int, int]], first: int, last: int
) -> None:
    found, line = bounds(above, below), Line(float(first), float(last))
    assume(found.violation_ns(line) <= 0)
    box = box_of(found.lines())
    assert box.farthest_ns(line) <= box.width_ns + ROUNDING_NS
    for low, at, high in zip(box.low, line, box.high, strict=True):
        assert low - ROUNDING_NS <= at <= high + ROUNDING_NS


@given(POINTS, POINTS)
def test_the_middle_is_between_the_bounds(above: list[tuple[int, int]], below: list[tuple[int, int]]) -> None:
    found = bounds(above, below)
    corners = found.lines()
    assume(corners)
    assert found.violation_ns(middle_of(corners)) <= 2 * ROUNDING_NS
    assert all(found.violation_ns(corner) <= 2 * ROUNDING_NS for corner in corners)


@given(POINTS, POINTS)
def test_bounds_that_contradict_each_other_need_slack(
    above: list[tuple[int, int]], below: list[tuple[int, int]]
) -> None:
    found = bounds(above, below)
    assume(not found.lines())
    slack_ns = found.slack_ns(10_000.0)
    assert slack_ns is not None
    assert found.lines(slack_ns)
    assert not found.lines(slack_ns - max(2.0, slack_ns / 100))
    assert found.violation_ns(middle_of(found.lines(slack_ns))) <= slack_ns + 2 * ROUNDING_NS
