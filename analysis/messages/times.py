"""What went over links, how long deliveries took and what clients got, by slices of the run's time.

A message belongs to the slice in which it was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.by_time import MOST_NUMBERS, OF_CLIENT, ByTime, bin_of
from analysis.columns import Grouped
from analysis.findings import Slices
from analysis.messages.bucket import Judged
from analysis.messages.counting import COUNTED
from analysis.messages.numbering import UNKNOWN_NS

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

    @property
    def numbers(self) -> int:
        """How many a page would have."""
        return int(self.links.sums.size + self.clients.sums.size)


def times_of(judged: Judged) -> TimeSums | None:
    """Count; None if it is too much for a page, or there is no time to speak of."""
    if not judged.context.slices.count:
        return None
    return _unless_too_many(TimeSums(_links(judged), _clients(judged), _latencies(judged)))


def _unless_too_many(sums: TimeSums) -> TimeSums | None:
    return None if sums.numbers > MOST_NUMBERS else sums


def added_times(parts: Sequence[TimeSums | None]) -> TimeSums | None:
    """Those of several parts together; None, if they are too much for a page."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    names = ("links", "clients", "latencies")
    return _unless_too_many(TimeSums(*(Grouped.added([getattr(p, name) for p in known]) for name in names)))


def _links(judged: Judged) -> Grouped:
    met = judged.crossings.met
    slot = judged.slot[met.message]
    rows = np.flatnonzero((slot >= 0) & (met.copies > 0))
    sender, receiver, copies = met.sender[rows], met.receiver[rows], met.copies[rows]
    wasted = judged.crossings.wasted[rows] & ~met.access[rows]
    up = sender < receiver
    numbers = [np.where(chosen, copies, 0) for chosen in (up, ~up, wasted)]
    return Grouped.of([np.minimum(sender, receiver), np.maximum(sender, receiver), slot[rows]], numbers)


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
    numbers = [np.concatenate([column, np.zeros(len(own), np.int64)]) for column in of_pairs.T]
    published = np.concatenate([np.zeros(len(known), np.int64), np.ones(len(own), np.int64)])
    return _without_empty(Grouped.of(keys, [published, *numbers]))


def _without_empty(found: Grouped) -> Grouped:
    some = found.sums.any(axis=1)
    return Grouped(found.keys[some], found.sums[some])


def _latencies(judged: Judged) -> Grouped:
    slot = judged.slot[judged.pairs.message]
    rows = np.flatnonzero((slot >= 0) & (judged.latency_ns != UNKNOWN_NS))
    return Grouped.of([slot[rows], bin_of(judged.latency_ns[rows])], [np.ones(len(rows), np.int64)])


def by_time(sums: TimeSums | None, slices: Slices) -> ByTime | None:
    """As the report has it; None, if it has none."""
    if sums is None:
        return None
    links: dict[tuple[int, int], dict[int, Sequence[int]]] = {}
    clients: dict[int, dict[int, Sequence[int]]] = {}
    latencies: dict[int, dict[int, int]] = {}
    for (a, b, slot), numbers in sums.links.rows():
        links.setdefault((a, b), {})[slot] = numbers
    for (client, slot), numbers in sums.clients.rows():
        clients.setdefault(client, {})[slot] = numbers
    for (slot, at), (count,) in sums.latencies.rows():
        latencies.setdefault(slot, {})[at] = count
    return ByTime(slices, links, clients, latencies)
