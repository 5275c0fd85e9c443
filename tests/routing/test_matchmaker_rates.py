"""How `amsp` measures rates, and when it announces them (K8; E20)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.routing.schemes.matchmaker_rates import MILLION, Measuring, Rates, Seen
from nodes.scheme_catalog import OptionValue, complete

SECOND_NS = 1_000_000_000
ALL: Mapping[str, OptionValue] = {"announce_deviations": 0.0, "restart_deviations": 0.0}
"""What chance makes of a rate is announced, too; smoothing never begins anew."""
SEEDS = pytest.mark.parametrize("seed", range(5))


def announced(moments: Iterable[float], seconds: int, options: Mapping[str, OptionValue]) -> list[float]:
    """What a router announces of f, in changes a second, whose descriptors change at these moments."""
    rates = Rates(Measuring.of(complete("amsp", options)), random.Random(0))
    found = list[float]()
    for moment in (0.0, *moments, math.inf):
        at_ns = min(moment, seconds) * SECOND_NS
        while rates.at is not None and rates.at <= at_ns:
            if rates.take(rates.at):
                found.append(rates.announced[0] / MILLION)
        if moment < seconds:
            rates.count(round(at_ns), 1, 0)
    return found


def by_chance(seed: int, *phases: tuple[float, int]) -> Iterator[float]:
    """Moments of a Poisson process that has each rate for so many seconds."""
    rng, begin = random.Random(seed), 0.0
    for rate, seconds in phases:
        at = begin + rng.expovariate(rate) if rate else math.inf
        while at < begin + seconds:
            yield at
            at += rng.expovariate(rate)
        begin += seconds


@SEEDS
@pytest.mark.parametrize("rate", [0.2, 2.0, 20.0])
def test_K8_what_chance_makes_of_a_rate_is_seldom_announced(seed: int, rate: float) -> None:
    half_an_hour = 1800
    told = announced(by_chance(seed, (rate, half_an_hour)), half_an_hour, {})
    assert 1 <= len(told) <= 60
    assert told[-1] == pytest.approx(rate, rel=0.8 if rate < 1 else 0.35)


@SEEDS
def test_K8_without_that_a_low_rate_is_announced_in_most_intervals(seed: int) -> None:
    course = [*by_chance(seed, (0.2, 1800))]
    assert len(announced(course, 1800, ALL)) > 3 * len(announced(course, 1800, {})) > 0


@SEEDS
@pytest.mark.parametrize(("before", "after"), [(1.0, 10.0), (10.0, 1.0), (4.0, 0.4), (0.5, 5.0)])
def test_K8_a_jump_of_demand_is_announced_within_a_minute(seed: int, before: float, after: float) -> None:
    told = announced(by_chance(seed, (before, 300), (after, 60)), 360, {})
    assert told[-1] == pytest.approx(after, rel=0.5, abs=0.3)


@SEEDS
def test_K8_a_jump_is_followed_sooner_than_smoothing_alone_would(seed: int) -> None:
    course = [*by_chance(seed, (10.0, 100), (1.0, 12))]
    assert announced(course, 112, {})[-1] < 4
    assert announced(course, 112, ALL)[-1] > 6


FALLS = 1.0, 0.1
"""Five changes in an interval, and then one in two. Of five, none come by chance now and then."""


def errors(options: Mapping[str, OptionValue]) -> list[float]:
    """By how much each of forty routers is wrong a minute after its demand has fallen."""
    before, after = FALLS
    courses = (by_chance(seed, (before, 300), (after, 60)) for seed in range(40))
    return [abs(announced(course, 360, options)[-1] - after) for course in courses]


def test_K8_a_fall_that_no_interval_shows_is_seen_in_several_together() -> None:
    together, smoothed = errors({}), errors({"restart_deviations": 0.0})
    assert sum(error < 0.15 for error in together) >= 35
    assert sum(error < 0.15 for error in smoothed) <= 5


def test_K8_few_changes_differ_by_chance_as_many_do() -> None:
    """Of few changes, none are often too few; differences grow with the time that they were counted over."""
    assert Seen(0, 10).differs_by(Seen(0, 100)) == 0
    assert Seen(0, 10).differs_by(Seen(10, 100)) < 2
    assert Seen(0, 100).differs_by(Seen(100, 1000)) > 4
    assert Seen(1, 5).differs_by(Seen(0, 0)) == math.inf


@given(st.integers(10_000, 100_000), st.floats(-3, 3))
def test_K8_many_changes_differ_by_their_standard_deviation(usual: int, off: float) -> None:
    """By the normal distribution, beside a rate that is known for sure."""
    found = Seen(usual + off * math.sqrt(usual), 10).differs_by(Seen(usual * 1e6, 1e7))
    assert found == pytest.approx(abs(off), abs=0.1)


@SEEDS
@pytest.mark.parametrize("options", [{}, ALL])
def test_K8_a_rate_that_has_become_nothing_is_announced_as_nothing(
    seed: int, options: Mapping[str, OptionValue]
) -> None:
    assert announced(by_chance(seed, (3.0, 100), (0.0, 500)), 600, options)[-1] == 0


def test_K8_smoothing_is_exponential() -> None:
    """After a burst nothing happens any more, and the rate becomes less by a quarter with each interval."""
    options = {**ALL, "announce_share": 0.0, "alpha": 0.25}
    told = announced([each / 4 for each in range(1, 19)], 60, options)
    assert len(told) > 8
    assert [later / sooner for sooner, later in pairwise(told)] == pytest.approx(
        [0.75] * (len(told) - 1), rel=1e-4
    )
