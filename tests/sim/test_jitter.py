"""Jitter: the same shapes in the simulator as in the compiled carrier of links."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from statistics import correlation, fmean, pstdev

import pytest

from fastpath.cable import jitter_draws
from testbed.plan.model import Impairment
from testbed.sim.jitter import Jitter

US = 1000
COUNT = 20_000
SHAPES = {
    # mean, standard deviation, least, most: in units of the jitter
    "uniform": (0, 0.577, -1, 1),
    "normal": (0, 1, -4, 4),
    "pareto": (-0.033, 0.82, -2 / 3, 4),
}


def simulated(seed: int, impairment: Impairment) -> list[float]:
    jitter = Jitter(Random(seed))
    return [jitter.draw_ns(impairment) / impairment.jitter_ns for _ in range(COUNT)]


def compiled(seed: int, impairment: Impairment) -> list[float]:
    """A delay of ten times the jitter keeps all of them above zero."""
    i = impairment
    does = (10 * i.jitter_ns, i.jitter_ns, i.jitter_shape, i.jitter_correlation, *[0.0] * 5, 0, -1, -1)
    return [draw / i.jitter_ns - 10 for draw in jitter_draws(seed, does, COUNT)]


@pytest.mark.parametrize("draw", [simulated, compiled])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("blend", [0.0, 0.6])
def test_a_shape_of_jitter_is_what_it_says_whatever_its_correlation(draw, shape, blend) -> None:
    seed = 11
    draws = draw(seed, Impairment(jitter_ns=100 * US, jitter_shape=shape, jitter_correlation=blend))
    mean, deviation, least, most = SHAPES[shape]
    slack = 5 * deviation / COUNT**0.5 * ((1 + blend) / (1 - blend)) ** 0.5
    assert abs(fmean(draws) - mean) < slack + 0.003, f"seed {seed}"
    assert abs(pstdev(draws) / deviation - 1) < 0.06, f"seed {seed}"
    assert least - 1e-4 <= min(draws) < least + (0.01 if shape != "normal" else 1.5), f"seed {seed}"
    assert most - (0.01 if shape == "uniform" else 1.5) < max(draws) <= most + 1e-4, f"seed {seed}"


@pytest.mark.parametrize("draw", [simulated, compiled])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("blend", [0.0, 0.3, 0.9])
def test_a_frames_jitter_is_like_that_of_the_one_before_as_far_as_is_asked(draw, shape, blend) -> None:
    seed = 5
    draws = draw(seed, Impairment(jitter_ns=100 * US, jitter_shape=shape, jitter_correlation=blend))
    # The correlation is of the normal variable behind the shape; a tail's own is a little less.
    assert abs(correlation(*zip(*pairwise(draws), strict=True)) - blend) < 0.1, f"seed {seed}"


def test_full_correlation_gives_every_frame_the_same() -> None:
    for draw in (simulated, compiled):
        same = draw(3, Impairment(jitter_ns=100 * US, jitter_shape="uniform", jitter_correlation=1.0))
        assert max(same) - min(same) < 1e-6


def test_frames_never_arrive_before_they_are_sent() -> None:
    does = (0, 100 * US, "normal", 0.0, *[0.0] * 5, 0, -1, -1)
    assert min(jitter_draws(1, does, 1000)) == 0
