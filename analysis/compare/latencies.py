"""Which times moved, by how much, how sure that is; and which link loses more.

A shift counts if it is significant and large (`Limits`). Tests alone find a
difference between any two emulated runs: there are many values, and what
disturbs a machine lasts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.compare.model import Limits, LossRow, TimeRow
from analysis.compare.samples import ALL, HOP, PATH, Series, SeriesKey
from analysis.compare.statistics import (
    Sample,
    distance_test,
    holm,
    rank_test,
    share_test,
    shift_of,
    wandering,
)
from topologies.quantities import duration_text

LEAST = 5
"""Values on each side; of fewer nothing is said."""
LEAST_LOST = 3
ORDER = (ALL, HOP, PATH)
BLOCKS = 8

Sides = tuple[Mapping[SeriesKey, Series], Mapping[SeriesKey, Series]]


def compare_times(
    before: Mapping[SeriesKey, Series], after: Mapping[SeriesKey, Series], limits: Limits
) -> list[TimeRow]:
    """One row a series that both runs have, tests corrected for how many there are."""
    keys = sorted(before.keys() & after.keys(), key=lambda k: (ORDER.index(k[0]), k[1:]))
    keys = [k for k in keys if min(len(before[k].values), len(after[k].values)) >= LEAST]
    pairs = [(before[k].values, after[k].values) for k in keys]
    ranks = [rank_test(*pair) for pair in pairs]
    distances = [distance_test(*pair) for pair in pairs]
    p_values = holm([r.p_value for r in ranks])
    distance_p_values = holm([p for _, p in distances])
    return [
        _row(key, pair, (rank.delta, p), (distance, q), limits)
        for key, pair, rank, p, (distance, _), q in zip(
            keys, pairs, ranks, p_values, distances, distance_p_values, strict=True
        )
    ]


def _row(
    key: SeriesKey,
    pair: tuple[Sample, Sample],
    rank: tuple[float, float],
    distance: tuple[float, float],
    limits: Limits,
) -> TimeRow:
    before, after = pair
    shift = shift_of(before, after)
    assert shift is not None, "neither is empty"
    medians = int(np.median(before)), int(np.median(after))
    blocks = _spreads(before), _spreads(after)
    spreads = int(np.median(blocks[0])), int(np.median(blocks[1]))
    noise = max(wandering(before), wandering(after))
    limit = max(limits.shift_ns, limits.shift_share * abs(medians[0]), limits.wandering * noise)
    moved = abs(shift.estimate) > limit and abs(rank[0]) >= limits.delta and rank[1] < limits.p_value
    spread = (
        not moved
        and abs(spreads[1] - spreads[0]) > 3 * max(limit, *map(_noise, blocks))
        and distance[0] >= limits.delta / 2
        and distance[1] < limits.p_value
    )
    return TimeRow(
        name_of(key),
        len(before),
        len(after),
        *medians,
        *spreads,
        shift,
        *rank,
        *distance,
        limit,
        moved,
        spread,
    )


def name_of(key: SeriesKey) -> str:
    """A series in words."""
    of, a, b = key
    return {ALL: "all deliveries", HOP: f"{a} > {b}", PATH: f"{a} to {b}"}[of]


def _spreads(values: Sample) -> NDArray[np.float64]:
    """From the 10th to the 90th percentile in each block of the run's time.

    Not over the whole of it: one busy spell of the machine would make it wide.
    """
    blocks = BLOCKS if len(values) >= 10 * BLOCKS else 1
    tails = [np.percentile(block, (10, 90)) for block in np.array_split(values, blocks)]
    return np.array([high - low for low, high in tails])


def _noise(blocks: NDArray[np.float64]) -> float:
    return float(np.median(np.abs(blocks - np.median(blocks)))) * 1.4826


def compare_losses(
    before: Mapping[SeriesKey, Series],
    after: Mapping[SeriesKey, Series],
    limits: Limits,
    by_chance: bool = True,
) -> list[LossRow]:
    """One row a direction of a link that lost anything in either run.

    Where a plan loses nothing (not `by_chance`), no test is needed to see that a link that lost
    nothing in one run loses in the other.
    """
    keys = sorted(k for k in before.keys() | after.keys() if k[0] == HOP)
    counts = [(_lost(before.get(k)), _lost(after.get(k))) for k in keys]
    p_values = holm([share_test(*pair) for pair in counts])
    return [
        LossRow(
            name_of(key),
            *pair,
            p,
            (p < limits.p_value or (not by_chance and _begins(*pair))) and _apart(*pair) > limits.lost_share,
        )
        for key, pair, p in zip(keys, counts, p_values, strict=True)
        if pair[0][0] or pair[1][0]
    ]


def _lost(series: Series | None) -> tuple[int, int]:
    return (0, 0) if series is None else (series.sent - series.arrived, series.sent)


def _begins(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Loses where nothing was lost, or the other way round; a few are what a run's end may cut off."""
    return min(before[0], after[0]) == 0 and max(before[0], after[0]) >= LEAST_LOST


def _apart(before: tuple[int, int], after: tuple[int, int]) -> float:
    shares = [lost / sent if sent else 0.0 for lost, sent in (before, after)]
    return abs(shares[1] - shares[0])


def told_times(rows: Sequence[TimeRow]) -> list[str]:
    """What moved, in words: links first, for they are causes; then all deliveries, then paths together."""
    links = [r for r in rows if " > " in r.what]
    said = [_told(row, f"link {row.what}") for row in links if row.moved or row.spread]
    said += [
        _told(row, "the latency of all deliveries")
        for row in rows[:1]
        if _is_all(row) and (row.moved or row.spread)
    ]
    paths = [r for r in rows if " to " in r.what and r.moved]
    if paths:
        most = max(paths, key=lambda r: abs(r.shift.estimate))
        said.append(
            f"{len(paths)} of {sum(' to ' in r.what for r in rows)} paths moved, "
            f"most {_told(most, most.what)}"
        )
    return said


def _is_all(row: TimeRow) -> bool:
    return row.what == name_of((ALL, "", ""))


def _told(row: TimeRow, what: str) -> str:
    if row.spread:
        return (
            f"{what}: spread (p10 to p90) {duration_text(row.before_spread_ns)} before, "
            f"{duration_text(row.after_spread_ns)} after"
        )
    shift = row.shift
    return (
        f"{what}: {signed(shift.estimate)} (95 % interval {signed(shift.low)} to {signed(shift.high)}; "
        f"median {duration_text(row.before_ns)} before, {duration_text(row.after_ns)} after; "
        f"Cliff's delta {row.delta:+.2f})"
    )


def told_losses(rows: Iterable[LossRow]) -> list[str]:
    """Which links lose more or less, in words."""
    return [
        f"link {r.what}: lost {r.before[0]} of {r.before[1]} messages before, "
        f"{r.after[0]} of {r.after[1]} after"
        for r in rows
        if r.differs
    ]


def signed(ns: float) -> str:
    """A difference of times for people."""
    return ("+" if ns >= 0 else "-") + duration_text(abs(ns))
