"""What went where, how long and how far deliveries went, and what clients got, by slices of the run's time.

A message belongs to the slice in which it was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from analysis.by_time import MOST_NUMBERS, OF_CLIENT, ByTime, bin_of
from analysis.columns import Grouped, Numbers
from analysis.findings import Slices
from analysis.messages.bucket import Judged
from analysis.messages.counting import COUNTED
from analysis.messages.numbering import UNKNOWN_NS
from analysis.messages.rows import numbers

_PUBLISHED, *_OF_PAIRS = OF_CLIENT


@dataclass(frozen=True, slots=True)
class TimeSums:
    """Of some messages."""

    links: Grouped
    """By both nodes, the smaller first, and slice: copies to the second, to the first, and wasted."""
    clients: Grouped
    """By client and slice: as in `OF_CLIENT`."""
    latencies: Grouped
    """By slice and bin: how many."""
    hops: Grouped
    """By slice and hop count: how many deliveries."""
    routers: Grouped
    """By router and slice: as in `OF_ROUTER`."""

    @property
    def numbers(self) -> int:
        """How many a page would have."""
        return sum(int(each.sums.size) for each in (self.links, self.clients, self.routers))


def times_of(judged: Judged) -> TimeSums | None:
    """Count; None if it is too much for a page, or there is no time to speak of."""
    if not judged.context.slices.count:
        return None
    parts = (_links, _clients, _latencies, _hops, _routers)
    return _unless_too_many(TimeSums(*(part(judged) for part in parts)))


def _unless_too_many(sums: TimeSums) -> TimeSums | None:
    return None if sums.numbers > MOST_NUMBERS else sums


def added_times(parts: Sequence[TimeSums | None]) -> TimeSums | None:
    """Those of several parts together; None, if they are too much for a page."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    names = [field.name for field in fields(TimeSums)]
    return _unless_too_many(TimeSums(*(Grouped.added([getattr(p, name) for p in known]) for name in names)))


def _links(judged: Judged) -> Grouped:
    met = judged.crossings.met
    slot = judged.slot[met.message]
    rows = np.flatnonzero((slot >= 0) & (met.copies > 0))
    sender, receiver, copies = met.sender[rows], met.receiver[rows], met.copies[rows]
    wasted = judged.crossings.wasted[rows] & ~met.access[rows]
    up = sender < receiver
    sums = [np.where(chosen, copies, 0) for chosen in (up, ~up, wasted)]
    return Grouped.of([np.minimum(sender, receiver), np.maximum(sender, receiver), slot[rows]], sums)


def _clients(judged: Judged) -> Grouped:
    """What the pairs of each count, and behind it what it published itself."""
    messages, pairs, outcomes = judged.messages, judged.pairs, judged.outcomes
    slot = judged.slot[pairs.message]
    known = np.flatnonzero(slot >= 0)
    places = [COUNTED.index(name) for name in _OF_PAIRS]
    of_pairs = outcomes.counts[:, places][outcomes.kind[known]]
    own = np.flatnonzero((messages.entered_ns != UNKNOWN_NS) & (judged.slot >= 0))
    keys = [
        np.concatenate([pairs.client[known], messages.source[own]]),
        np.concatenate([slot[known], judged.slot[own]]),
    ]
    sums = [np.concatenate([column, np.zeros(len(own), np.int64)]) for column in of_pairs.T]
    published = np.concatenate([np.zeros(len(known), np.int64), np.ones(len(own), np.int64)])
    return _without_empty(Grouped.of(keys, [published, *sums]))


def _without_empty(found: Grouped) -> Grouped:
    some = found.sums.any(axis=1)
    return Grouped(found.keys[some], found.sums[some])


def _latencies(judged: Judged) -> Grouped:
    slot = judged.slot[judged.pairs.message]
    rows = np.flatnonzero((slot >= 0) & (judged.latency_ns != UNKNOWN_NS))
    return Grouped.of([slot[rows], bin_of(judged.latency_ns[rows])], [np.ones(len(rows), np.int64)])


def _hops(judged: Judged) -> Grouped:
    slot = judged.slot[judged.pairs.message]
    rows = np.flatnonzero((slot >= 0) & (judged.pairs.copies > 0))
    return Grouped.of([slot[rows], judged.pairs.hop_count[rows]], [np.ones(len(rows), np.int64)])


def _routers(judged: Judged) -> Grouped:
    """What entered at each, what it received from others and sent to them, what it delivered."""
    met = judged.crossings.met
    known = (judged.slot[met.message] >= 0) & (met.copies + met.arrived > 0)
    on, out = np.flatnonzero(known & ~met.access), np.flatnonzero(known & met.access)
    own = np.flatnonzero((judged.messages.entered_ns != UNKNOWN_NS) & (judged.slot >= 0))
    of_message = (own, met.message[on], met.message[on], met.message[out], met.message[on])
    homes = numbers(judged.messages.entered["node_id"])[own]
    routers = (homes, met.receiver[on], met.sender[on], met.sender[out], met.receiver[on])
    wasted = np.where(judged.crossings.wasted[on], met.copies[on], 0)
    counts = (np.ones(len(own), np.int64), met.arrived[on], met.copies[on], met.copies[out], wasted)
    keys = [np.concatenate(routers), np.concatenate([judged.slot[which] for which in of_message])]
    return _without_empty(Grouped.of(keys, _apart(counts)))


def _apart(columns: Sequence[Numbers]) -> list[Numbers]:
    """Each below the ones before it, beside zeros."""
    number = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
    values = np.concatenate(columns)
    return [np.where(number == at, values, 0) for at in range(len(columns))]


def by_time(sums: TimeSums | None, slices: Slices) -> ByTime | None:
    """As the report has it; None, if it has none."""
    if sums is None:
        return None
    links: dict[tuple[int, int], dict[int, Sequence[int]]] = {}
    for (a, b, slot), counts in sums.links.rows():
        links.setdefault((a, b), {})[slot] = counts
    return ByTime(
        slices,
        links,
        _by_first(sums.clients),
        {slot: _counts(of) for slot, of in _by_first(sums.latencies).items()},
        {slot: _counts(of) for slot, of in _by_first(sums.hops).items()},
        _by_first(sums.routers),
    )


def _by_first(sums: Grouped) -> dict[int, dict[int, Sequence[int]]]:
    """By the first part of a key, then by the second."""
    found: dict[int, dict[int, Sequence[int]]] = {}
    for (first, second), counts in sums.rows():
        found.setdefault(first, {})[second] = counts
    return found


def _counts(of: Mapping[int, Sequence[int]]) -> dict[int, int]:
    return {key: count for key, (count,) in of.items()}
