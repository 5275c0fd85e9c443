"""What became of messages and of who wanted them, by the interval in which they were published: sums to add.

The counts are those of `analysis.counts`; `late` and `published` are counted here alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.columns import Numbers
from analysis.counts import ARRIVED
from analysis.course.moments import Intervals

OF_VERDICTS = ("published_ns", "verdict", "owed", "wanted", "reason", "copies", "latency_ns")
OF_PUBLICATIONS = ("time_ns", "announced_ns")
"""Columns of the tables."""
COUNTS = (
    "published", "wanted", "owed", "arrived", "missing", "lost", "cut_off", "unknown", "duplicate", "late",
)  # fmt: skip
"""`arrived` are of those wanted; `duplicate` are copies beyond the first, whether allowed or not."""
Outcomes = dict[str, Numbers]
"""By the names of `COUNTS`: a number for each interval."""
Flags = NDArray[np.bool_]


def none_of(intervals: Intervals) -> Outcomes:
    """Nothing at any time."""
    return {name: np.zeros(intervals.count, dtype=np.int64) for name in COUNTS}


def outcomes_of(rows: pa.RecordBatch, intervals: Intervals, settle_ns: int) -> Outcomes:
    """Counts over rows of table `verdicts`; those that nobody published are left out.

    Args:
        rows: Of the table.
        intervals: In which they may have been published.
        settle_ns: A delivery is late if it took longer.
    """
    known = rows.select(list(OF_VERDICTS)).filter(pc.is_valid(rows["published_ns"]))
    verdict = known["verdict"].to_numpy(zero_copy_only=False).astype(object)
    wanted, owed = _flags(known, "wanted"), _flags(known, "owed")
    kinds = {name: verdict == name for name in ("missing", "lost", "unknown")}
    failed = kinds["missing"] | kinds["lost"] | kinds["unknown"]
    weights = {
        "wanted": wanted,
        "owed": owed,
        "arrived": wanted & ~failed,
        **kinds,
        "cut_off": kinds["lost"]
        & (known["reason"].to_numpy(zero_copy_only=False).astype(object) == "cut_off"),
        "duplicate": np.maximum(known["copies"].to_numpy() - 1, 0),
        "late": np.isin(verdict, ARRIVED) & _flags_of(pc.greater(known["latency_ns"], settle_ns)),
    }
    which = intervals.of(known["published_ns"].to_numpy())
    return none_of(intervals) | {name: _sums(which, each, intervals) for name, each in weights.items()}


def published_of(rows: pa.RecordBatch, intervals: Intervals) -> Outcomes:
    """How many messages there are, over rows of table `publications`."""
    when = pc.coalesce(rows["time_ns"], rows["announced_ns"]).to_numpy(zero_copy_only=False)
    return none_of(intervals) | {"published": _sums(intervals.of(when), np.ones(len(when)), intervals)}


def merged(parts: Iterable[Outcomes], intervals: Intervals) -> Outcomes:
    """The sums of several parts."""
    return reduce(lambda a, b: {name: a[name] + b[name] for name in COUNTS}, parts, none_of(intervals))


def within(outcomes: Mapping[str, Numbers], intervals: slice) -> dict[str, int]:
    """The sums over some intervals."""
    return {name: int(numbers[intervals].sum()) for name, numbers in outcomes.items()}


def _sums(which: Numbers, weights: NDArray[np.generic], intervals: Intervals) -> Numbers:
    sums = np.bincount(which, weights=weights.astype(np.float64), minlength=intervals.count)
    found: Numbers = sums.astype(np.int64)
    return found


def _flags(rows: pa.RecordBatch, name: str) -> Flags:
    return _flags_of(rows[name])


def _flags_of(column: pa.BooleanArray) -> Flags:
    """What is null is not true."""
    found: Flags = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found
