"""What of two runs differs, and how that reads: deliveries, times, losses, counts.

A shift of times counts if it is significant and large (`Limits`). Tests alone find a
difference between any two emulated runs: there are many values, and what
disturbs a machine lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.diff.model import CountRow, Limits, LossRow, TimeRow
from analysis.diff.statistics import (
    Sample,
    distance_test,
    holm,
    rank_test,
    share_test,
    shift_of,
    wandering,
)
from analysis.diff.tables import ALL, HOP, PATH, Client, Delivery, Messages, Series, SeriesKey
from analysis.network import drops_of
from analysis.rundir import Run
from topologies.quantities import duration_text

LEAST = 5
"""Values on each side; fewer are not compared."""
LEAST_LOST = 3
ORDER = (ALL, HOP, PATH)
BLOCKS = 8


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
            (p < limits.p_value or (not by_chance and _begins(*pair)))
            and _change_of_share(*pair) > limits.lost_share,
        )
        for key, pair, p in zip(keys, counts, p_values, strict=True)
        if pair[0][0] or pair[1][0]
    ]


def _lost(series: Series | None) -> tuple[int, int]:
    return (0, 0) if series is None else (series.sent - series.arrived, series.sent)


def _begins(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Loses where nothing was lost, or the other way round; a few are what a run's end may cut off."""
    return min(before[0], after[0]) == 0 and max(before[0], after[0]) >= LEAST_LOST


def _change_of_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    shares = [lost / sent if sent else 0.0 for lost, sent in (before, after)]
    return abs(shares[1] - shares[0])


def time_texts(rows: Sequence[TimeRow]) -> list[str]:
    """What moved, in words: links first, for they are causes; then all deliveries, then paths together."""
    links = [r for r in rows if " > " in r.what]
    texts = [_time_text(row, f"link {row.what}") for row in links if row.moved or row.spread]
    texts += [
        _time_text(row, "the latency of all deliveries")
        for row in rows[:1]
        if _is_all(row) and (row.moved or row.spread)
    ]
    paths = [r for r in rows if " to " in r.what and r.moved]
    if paths:
        most = max(paths, key=lambda r: abs(r.shift.estimate))
        texts.append(
            f"{len(paths)} of {sum(' to ' in r.what for r in rows)} paths moved, "
            f"most {_time_text(most, most.what)}"
        )
    return texts


def _is_all(row: TimeRow) -> bool:
    return row.what == name_of((ALL, "", ""))


def _time_text(row: TimeRow, what: str) -> str:
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


def loss_texts(rows: Iterable[LossRow]) -> list[str]:
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


def message_texts(messages: Messages) -> list[str]:
    """What was not published in both, or not the same."""
    texts = []
    for count, what in (
        (messages.gone, "published before alone"),
        (messages.new, "published after alone"),
        (messages.changed, "of the same publisher and number have another content"),
    ):
        if count:
            texts.append(f"messages: {count:,} {what} (in both: {messages.both:,})")
    return texts


def client_texts(clients: list[Client], limits: Limits, by_chance: bool) -> list[str]:
    """Who got what in one run alone; where chance decides, only what it does not explain."""
    texts = []
    for client in clients:
        counts = [f"{n:,} {word}" for n, word in ((client.gone, "missing"), (client.new, "new")) if n]
        if counts and not (by_chance and _by_chance(client, limits)):
            texts.append(f"deliveries to {client.name}: {', '.join(counts)} ({client.both:,} in both)")
        if client.other_hops > 0.01 * client.both:
            texts.append(f"deliveries to {client.name}: {client.other_hops:,} over another number of hops")
    return texts


def _by_chance(client: Client, limits: Limits) -> bool:
    """Whether as much may be missing in either run where links lose packets by plan."""
    owed = client.both + client.gone + client.new
    return share_test((client.new, owed), (client.gone, owed)) >= limits.p_value


def deliveries_json(messages: Messages, clients: list[Client], examples: list[Delivery]) -> dict[str, Any]:
    """The deliveries' part of the JSON."""
    return {
        "messages": asdict(messages),
        "both": sum(c.both for c in clients),
        "gone": sum(c.gone for c in clients),
        "new": sum(c.new for c in clients),
        "clients": [asdict(c) for c in clients if c.gone or c.new or c.may_gone or c.may_new or c.other_hops],
        "examples": [asdict(e) for e in examples],
    }


_JUDGED = (
    "wanted", "owed", "delivered", "missing", "duplicate", "spurious", "allowed",
    "duplicate_allowed", "lost", "unknown",
    "wasted_crossings",
)  # fmt: skip
_EXACT = ("duplicate", "spurious")
"""Never by chance, unless links double packets or faults happen."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """A run with its verdict."""

    run: Run
    verdict: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """From the scenario's time zero to the end of the run."""
        return max((self.run.end_ns - self.run.start_ns) / 1e9, 1e-9)


def verdict_rows(before: Analysed, after: Analysed, by_chance: bool) -> list[CountRow]:
    """The counts of the verdicts; deliveries are compared one by one elsewhere."""
    pairs = [(name, before.verdict[name], after.verdict[name]) for name in _JUDGED]
    return [CountRow(name, a, b, a != b and name in _EXACT and not by_chance) for name, a, b in pairs]


def control_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """Packets and bytes by kind, and packets a second.

    What is sent once does not grow with the length of a run, and what is sent
    again and again does: a kind differs if its count and its rate both do.
    """
    sides = [_control(each.run) for each in (before, after)]
    rows = []
    for kind in sorted({*sides[0], *sides[1]}):
        packets = [side.get(kind, (0, 0))[0] for side in sides]
        rates = [count / each.seconds for count, each in zip(packets, (before, after), strict=True)]
        differs = _far(packets[0], packets[1], limits) and _apart(rates[0], rates[1], limits.count_share)
        name = f"control {kind}"
        rows.append(CountRow(name, packets[0], packets[1], differs))
        rows.append(CountRow(name, round(rates[0], 1), round(rates[1], 1), False, "/s"))
        sizes = [side.get(kind, (0, 0))[1] for side in sides]
        rows.append(CountRow(name, sizes[0], sizes[1], False, "bytes"))
    return rows


def _control(run: Run) -> dict[str, tuple[int, int]]:
    columns = pq.read_table(run.path / "tables" / "control.parquet").to_pydict()
    sums: dict[str, tuple[int, int]] = {}
    for kind, packets, size in zip(columns["kind_name"], columns["packets"], columns["bytes"], strict=True):
        held = sums.get(kind, (0, 0))
        sums[kind] = (held[0] + packets, held[1] + size)
    return sums


def drop_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """By reason, over all nodes; and what the captures dropped."""
    sides = [_drops(each.run) for each in (before, after)]
    for side, each in zip(sides, (before, after), strict=True):
        side["the captures"] = int(each.verdict["captures"]["drops"])
    reasons = sorted(reason for reason in {*sides[0], *sides[1]} if sides[0][reason] or sides[1][reason])
    return [
        CountRow(f"dropped: {r}", sides[0][r], sides[1][r], _far(sides[0][r], sides[1][r], limits))
        for r in reasons
    ]


def _drops(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in run.plan.nodes:
        with suppress(OSError, ValueError):  # a node that was killed has none; the verdict reports that
            found.update(drops_of(run, node.name))
    return found


def convergence_rows(before: Analysed, after: Analysed, limits: Limits) -> list[CountRow]:
    """How long the network took after the start, and after what was done to it."""
    sides = [each.verdict.get("convergence_ns") or {} for each in (before, after)]
    rows = []
    for key in ("start", "p50", "max"):
        times = [side.get(key) for side in sides]
        if times[0] is None or times[1] is None:
            continue
        apart = abs(times[1] - times[0])
        differs = apart > max(limits.time_ns, limits.time_share * max(times[0], 1))
        rows.append(CountRow(f"convergence: {key}", times[0], times[1], differs, "ns"))
    return rows


def count_texts(rows: list[CountRow]) -> list[str]:
    """Those that differ, in words."""
    return [
        f"{row.what}: {figure(row, row.before)} before, {figure(row, row.after)} after"
        for row in rows
        if row.differs
    ]


def figure(row: CountRow, value: float) -> str:
    """A value with its unit."""
    if row.unit == "ns":
        return duration_text(value)
    return f"{value:,}{' ' if row.unit[:1].isalpha() else ''}{row.unit}"


def _far(before: int, after: int, limits: Limits) -> bool:
    return abs(after - before) >= limits.count and _apart(before, after, limits.count_share)


def _apart(before: float, after: float, share: float) -> bool:
    return abs(after - before) > share * max(before, after)
