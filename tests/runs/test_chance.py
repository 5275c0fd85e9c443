"""The tails of the binomial distribution, against sums of fractions and each other."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.runs.chance import clumped_tail, tail


def exact(count: int, trials: int, share: Fraction) -> float:
    """The sum itself, in fractions."""
    side = range(count, trials + 1) if count > trials * share else range(count + 1)
    return float(sum(comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in side))


@given(st.integers(1, 60), st.integers(1, 99), st.data())
def test_a_tail_is_the_sum_of_its_terms(trials: int, percent: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, trials))
    share = Fraction(percent, 100)
    assert tail(count, trials, float(share)) == pytest.approx(
        exact(count, trials, share), rel=1e-6, abs=1e-15
    )


def test_millions_of_trials_are_no_matter() -> None:
    assert tail(10_000, 1_000_000, 0.01) == pytest.approx(0.5, abs=0.01)
    assert tail(10_330, 1_000_000, 0.01) == pytest.approx(4.7e-4, rel=0.1)
    assert tail(0, 10_000_000, 0.01) == 0.0


def test_what_never_or_always_happens_is_not_up_to_chance() -> None:
    assert tail(0, 100, 0.0) == 1.0
    assert tail(1, 100, 0.0) == 0.0
    assert tail(100, 100, 1.0) == 1.0
    assert tail(99, 100, 1.0) == 0.0


def test_runs_of_one_vary_about_as_single_ones_and_longer_ones_more() -> None:
    assert clumped_tail(135, 10_000, 0.01, 1.01) == pytest.approx(tail(135, 10_000, 0.01), rel=3)
    tails = [clumped_tail(160, 10_000, 0.01, clump) for clump in (1.0, 2.0, 5.0, 20.0)]
    assert tails == sorted(tails)
