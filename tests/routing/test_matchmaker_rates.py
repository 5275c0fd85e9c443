"""How `amsp` measures rates, and when it announces them (K8; E20)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import pytest

from nodes.routing.schemes.matchmaker_costs import MILLION, Measuring, Rates
from nodes.scheme_catalog import OptionValue, complete

SECOND_NS = 1_000_000_000
ALL: Mapping[str, OptionValue] = {"announce_deviations": 0.0, "restart_deviations": 0.0}
"""What chance makes of a rate is announced, too; smoothing never begins anew."""
SEEDS = pytest.mark.parametrize("seed", range(5))


def announced(moments: Iterable[float], seconds: int, options: Mapping[str, OptionValue]) -> list[float]:
    """What a router announces of f, in changes a second, whose descriptors change at these moments."""
    rates = Rates(Measuring.of(complete("amsp", options)), random.Random(0))
    found, coming = list[float](), iter(moments)
    upcoming = next(coming, math.inf)
    rates.count(0, 1, 0)
    while rates.at is not None and rates.at < seconds * SECOND_NS:
        while upcoming * SECOND_NS < rates.at:
            rates.count(round(upcoming * SECOND_NS), 1, 0)
            upcoming = next(coming, math.inf)
        if rates.take(rates.at):
            found.append(rates.announced[0] / MILLION)
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
    assert len(announced(course, 1800, ALL)) > 4 * len(announced(course, 1800, {})) > 0


@SEEDS
@pytest.mark.parametrize(("before", "after"), [(1.0, 10.0), (10.0, 1.0), (4.0, 0.4), (0.5, 5.0)])
def test_K8_a_jump_of_demand_is_announced_within_a_minute(seed: int, before: float, after: float) -> None:
    told = announced(by_chance(seed, (before, 300), (after, 60)), 360, {})
    assert told[-1] == pytest.approx(after, rel=0.5, abs=0.3)


@SEEDS
def test_K8_a_jump_is_followed_sooner_than_smoothing_alone_would(seed: int) -> None:
    course = [*by_chance(seed, (10.0, 100), (1.0, 12))]
    assert announced(course, 112, {})[-1] < 3
    assert announced(course, 112, ALL)[-1] > 4


@SEEDS
@pytest.mark.parametrize("options", [{}, ALL])
def test_K8_a_rate_that_has_become_nothing_is_announced_as_nothing(
    seed: int, options: Mapping[str, OptionValue]
) -> None:
    assert announced(by_chance(seed, (3.0, 100), (0.0, 500)), 600, options)[-1] == 0


def test_K8_smoothing_is_exponential() -> None:
    """After a burst nothing happens any more, and the rate becomes less by a quarter with each interval."""
    told = announced([each / 4 for each in range(1, 19)], 60, {**ALL, "announce_share": 0.0})
    assert len(told) > 8
    assert [later / sooner for sooner, later in pairwise(told)] == pytest.approx(
        [0.75] * (len(told) - 1), rel=1e-4
    )
