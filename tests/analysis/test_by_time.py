"""Counts by slice of time, as the report's figures follow a part of the run."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.by_time import bin_of, bin_start_ns
from analysis.findings import NO_SLICES, Slices
from analysis.messages import times
from analysis.messages.times import added_times, times_of
from tests.analysis.by_hand import context_of, crossing, judge, published


def test_a_bin_holds_what_differs_by_less_than_ten_per_cent() -> None:
    values = np.unique(np.geomspace(1, 1e12, 5000).astype(np.int64))
    bins = bin_of(values)
    starts = np.array([bin_start_ns(int(number)) for number in bins])
    assert np.all(values >= starts * 0.999)
    assert np.all(values < starts * 1.101)
    assert np.all(np.diff(bins) >= 0)


def test_runs_that_are_too_large_or_took_no_time_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [row for n in range(4) for row in (published(n, n), *crossing(1, 2, n + 10, 1, n))]
    assert times_of(judge(seen, context=context_of(slices=NO_SLICES))) is None
    found = times_of(judge(seen, context=context_of(slices=Slices(0, 1, 10))))
    assert found is not None
    assert found.numbers == 4 * 3 + 4 * 9 + 8 * 5
    assert added_times([found, None]) is None
    monkeypatch.setattr(times, "MOST_NUMBERS", found.numbers)
    both = added_times([found, found])
    assert both is not None
    assert both.links.sums.tolist() == (2 * found.links.sums).tolist()
    monkeypatch.setattr(times, "MOST_NUMBERS", found.numbers - 1)
    assert added_times([found]) is None
    assert times_of(judge(seen, context=context_of(slices=Slices(0, 1, 10)))) is None
