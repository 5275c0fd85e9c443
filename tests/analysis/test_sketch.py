"""Quantiles of parts: exact while there are few values, and near enough beyond."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.messages.sketch import Sketch, by_key, joined

SHARES = (0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0)
PARTS = st.lists(st.lists(st.integers(-(2**40), 2**40), max_size=60), min_size=1, max_size=6)


def array(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


@given(PARTS)
def test_few_values_are_all_held(parts: list[list[int]]) -> None:
    found = joined((Sketch.of(array(part), 400) for part in parts), 400)
    everything = sorted(value for part in parts for value in part)
    places = [max(1, math.ceil(share * len(everything))) - 1 for share in SHARES]
    assert found.count == len(everything)
    assert found.quantiles(SHARES) == ([everything[at] for at in places] if everything else [])
    assert math.isclose(found.mean * len(everything), sum(everything), abs_tol=1e-3)


@given(PARTS, st.integers(5, 20))
def test_of_many_values_a_quantile_is_near_its_position(parts: list[list[int]], most: int) -> None:
    found = joined((Sketch.of(array(part), most) for part in parts), most)
    everything = sorted(value for part in parts for value in part)
    assert len(found.values) <= most
    assert found.count == len(everything)
    if not everything:
        return
    assert (found.values[0], found.values[-1]) == (everything[0], everything[-1])
    for share, value in zip(SHARES, found.quantiles(SHARES), strict=True):
        place = max(1, math.ceil(share * len(everything)))
        before, upto = np.searchsorted(everything, [value, value + 1]).tolist()
        off = max(before + 1 - place, place - upto, 0)
        assert off <= len(everything) / most + len(parts) + 1


def test_values_are_kept_apart_by_key() -> None:
    found = by_key(array([7, 2, 7, 2, 9]), array([5, 1, 3, 2, 8]), 10)
    assert {key: sketch.values.tolist() for key, sketch in found.items()} == {2: [1, 2], 7: [3, 5], 9: [8]}
    assert by_key(array([]), array([]), 10) == {}


def test_shares_of_other_numbers_are_read_as_well() -> None:
    found = Sketch.of(np.array([1.5, 0.5, 2.5]), 10)
    assert (found.quantiles((0.5, 1.0)), found.mean) == ([1.5, 2.5], 1.5)
