"""The tests are those of the textbooks, and do not cry wolf."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.diff.statistics import distance_test, holm, rank_test, share_test, shift_of, wandering

samples = st.lists(st.integers(-1000, 1000), min_size=1, max_size=40).map(
    lambda v: np.array(v, dtype=np.int64)
)


def array(*values):
    return np.array(values, dtype=np.int64)


@given(samples, samples)
def test_cliffs_delta_is_what_counting_all_pairs_gives(before, after):
    pairs = [(b > a) - (b < a) for a in before.tolist() for b in after.tolist()]
    assert math.isclose(rank_test(before, after).delta, sum(pairs) / len(pairs), abs_tol=1e-9)


@given(samples, samples)
def test_the_tests_are_fair_to_both_sides(before, after):
    one, other = rank_test(before, after), rank_test(after, before)
    assert math.isclose(one.p_value, other.p_value, abs_tol=1e-9)
    assert math.isclose(one.delta, -other.delta, abs_tol=1e-9)
    assert distance_test(before, after) == pytest.approx(distance_test(after, before))


@given(samples, samples, st.integers(-500, 500))
def test_the_shift_is_the_median_of_all_differences_and_moves_along(before, after, by):
    shift = shift_of(before, after)
    differences = [b - a for a in before.tolist() for b in after.tolist()]
    assert shift.estimate == np.median(differences)
    assert shift.low <= shift.estimate <= shift.high
    assert shift_of(before, after + by).estimate == shift.estimate + by


def test_mann_whitney_by_a_worked_example():
    """n = m = 5, U = 2 of 25: z = (10.5 - 0.5) / sqrt(25 * 11 / 12) = 2.0889, p = 0.0367."""
    found = rank_test(array(1, 2, 3, 4, 7), array(5, 6, 8, 9, 10))
    assert found.delta == pytest.approx(2 * 23 / 25 - 1)
    z = (10.5 - 0.5) / math.sqrt(25 * 11 / 12)
    assert found.p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_kolmogorov_smirnov_sees_a_spread_that_no_median_shows():
    narrow, wide = np.arange(1000, dtype=np.int64), np.arange(-4500, 5500, 10, dtype=np.int64)
    assert rank_test(narrow, wide).p_value > 0.5
    distance, p_value = distance_test(narrow, wide)
    assert distance == pytest.approx(0.45, abs=0.01)
    assert p_value < 1e-9


def test_fishers_exact_test_by_the_lady_who_tasted_tea():
    assert share_test((3, 4), (1, 4)) == pytest.approx(34 / 70)
    assert share_test((0, 700), (7, 700)) == pytest.approx(0.01539, abs=1e-4)
    assert share_test((0, 10), (0, 10)) == share_test((10, 10), (10, 10)) == share_test((0, 0), (1, 2)) == 1


def test_holm_by_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def test_no_difference_is_claimed_of_no_values_or_of_one():
    assert rank_test(array(), array(1)).p_value == 1
    assert rank_test(array(5, 5, 5), array(5, 5)).p_value == 1
    assert distance_test(array(5), array(5))[1] == 1
    assert shift_of(array(), array(1)) is None


@pytest.mark.parametrize("test", [lambda a, b: rank_test(a, b).p_value, lambda a, b: distance_test(a, b)[1]])
def test_one_in_a_hundred_draws_from_one_source_seems_different_at_one_percent(test):
    """2,000 pairs, expected 20, a binomial's 99.9 % bound 36."""
    rng = np.random.default_rng(7)
    draws = (
        (rng.lognormal(12, 1, 80).astype(np.int64), rng.lognormal(12, 1, 60).astype(np.int64))
        for _ in range(2000)
    )
    assert sum(test(*pair) < 0.01 for pair in draws) <= 36, "seed 7"


def test_what_a_run_wanders_by_itself_is_seen_and_white_noise_is_not():
    rng = Random("seed 3")
    calm = np.array([rng.gauss(1000, 100) for _ in range(800)]).astype(np.int64)
    drift = calm + np.repeat([0, 900, 100, 700, 0, 800, 300, 1000], 100)
    assert wandering(calm) < 30
    assert wandering(drift) > 300
    assert wandering(calm[:10]) == 0
