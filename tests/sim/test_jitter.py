"""Jitter as the link model draws it, for the simulator and for the wires."""

from __future__ import annotations

from itertools import pairwise
from statistics import correlation, fmean, pstdev

import pytest

from fastpath.cable import LinkModel
from testbed.plan.model import Impairment

US = 1000
COUNT = 20_000
SHAPES = {
    # mean, standard deviation, least, most: in units of the jitter
    "uniform": (0, 0.577, -1, 1),
    "normal": (0, 1, -4, 4),
    "pareto": (-0.033, 0.82, -2 / 3, 4),
}


def drawn(seed: int, shape: str, blend: float) -> list[float]:
    """Each frame's jitter. A delay of ten times the jitter keeps all delays above zero."""
    model, jitter_ns = LinkModel(seed), 100 * US
    model.impair(Impairment(10 * jitter_ns, jitter_ns, shape, blend))
    sent = [model.send(0, 100) for _ in range(COUNT)]
    return [copies[0][0] / jitter_ns - 10 for _, copies in sent]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("blend", [0.0, 0.6])
def test_a_shape_of_jitter_is_what_it_says_whatever_its_correlation(shape, blend) -> None:
    seed = 11
    draws = drawn(seed, shape, blend)
    mean, deviation, least, most = SHAPES[shape]
    slack = 5 * deviation / COUNT**0.5 * ((1 + blend) / (1 - blend)) ** 0.5
    assert abs(fmean(draws) - mean) < slack + 0.003, f"seed {seed}"
    assert abs(pstdev(draws) / deviation - 1) < 0.06, f"seed {seed}"
    assert least - 1e-4 <= min(draws) < least + (0.01 if shape != "normal" else 1.5), f"seed {seed}"
    assert most - (0.01 if shape == "uniform" else 1.5) < max(draws) <= most + 1e-4, f"seed {seed}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("blend", [0.0, 0.3, 0.9])
def test_a_frames_jitter_is_like_that_of_the_one_before_as_far_as_is_asked(shape, blend) -> None:
    seed = 5
    draws = drawn(seed, shape, blend)
    # The correlation is of the normal variable behind the shape; a tail's own is a little less.
    assert abs(correlation(*zip(*pairwise(draws), strict=True)) - blend) < 0.1, f"seed {seed}"


def test_full_correlation_gives_every_frame_the_same() -> None:
    same = drawn(3, "uniform", 1.0)
    assert max(same) - min(same) < 1e-6


def test_frames_never_arrive_before_they_are_sent() -> None:
    model = LinkModel(1)
    model.impair(Impairment(0, 100 * US, "normal"))
    assert min(model.send(50, 100)[1][0][0] for _ in range(1000)) == 50
