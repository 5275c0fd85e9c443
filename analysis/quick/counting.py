"""Pairs counted: by client, by part of the run, and their latencies.

Rows that are alike are counted together, and each kind is judged once, by the rules of the oracle.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis import digest
from analysis.counts import ARRIVED, counts_of
from analysis.findings import (
    QUANTILES,
    SHARES,
    Failure,
    LatencyCurve,
    PublicationCounts,
    Scope,
    ScopeCounts,
    SubscriberCounts,
)
from analysis.history import History
from analysis.oracle import Due, counted_as, is_unreported, verdict_of
from analysis.quick.pairs import UNKNOWN_NS, Messages, Pairs
from analysis.quick.sightings import Column

SHOWN = 3
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Kind:
    """Pairs that are alike: so many of one client, published in one interval."""

    interval: int
    client: int
    due: Due
    copies: int
    reports: int
    pairs: int


def kinds_of(pairs: Pairs, interval: Column) -> tuple[list[Kind], Column]:
    """The kinds of pairs, and that of each pair; `interval` is by pair."""
    columns = (interval, pairs.client, pairs.due, pairs.copies, np.minimum(pairs.reports, 1))
    key = np.zeros(len(interval), dtype=np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, key = np.unique(key * (1 + code.max(initial=0)) + code, return_inverse=True)
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    rows = zip(*(column[first].tolist() for column in columns), count.tolist(), strict=True)
    return [Kind(i, c, pairs.dues[due], copies, reports, n) for i, c, due, copies, reports, n in rows], key


@dataclass(frozen=True, slots=True)
class Excused:
    """Clients of which something need not be seen."""

    unseen: frozenset[int]
    """To which what is sent was not captured completely."""
    lossy: frozenset[int]
    """Whose access links lose packets by plan."""


def tally_of(kinds: Sequence[Kind], excused: Excused) -> Counter[str]:
    """The numbers of `counts.TALLIED` over some kinds."""
    tally: Counter[str] = Counter()
    for kind in kinds:
        verdict = verdict_of(kind.due, kind.copies, kind.reports, unseen=kind.client in excused.unseen)
        for name in counted_as(kind.due, verdict, kind.copies):
            tally[name] += kind.pairs
    return tally


def count_by_subscriber(kinds: Sequence[Kind], excused: Excused) -> list[SubscriberCounts]:
    """One row a client that was owed, or got, anything, in order of id."""
    by_client: dict[int, list[Kind]] = {}
    for kind in kinds:
        by_client.setdefault(kind.client, []).append(kind)
    return [
        SubscriberCounts(
            client,
            counts_of(tally_of(of, excused)),
            sum(kind.pairs for kind in of if unreported(kind, excused)),
            sum(kind.pairs for kind in of if unseen(kind)),
        )
        for client, of in sorted(by_client.items())
    ]


def unreported(kind: Kind, excused: Excused) -> bool:
    """A copy left for the client, which does not report it."""
    return is_unreported(kind.due, kind.copies, kind.reports, lossy=kind.client in excused.lossy)


def unseen(kind: Kind) -> bool:
    """The client reports what no copy left for."""
    return bool(kind.reports) and not kind.copies


def first_of_kind(
    pairs: Pairs, messages: Messages, kinds: Sequence[Kind], of: Column, odd: Callable[[Kind], bool]
) -> list[Failure]:
    """The first pairs, by message and client, of the kinds that are odd."""
    chosen = np.array([odd(kind) for kind in kinds], dtype=bool)
    rows = np.flatnonzero(chosen[of]) if len(of) else np.empty(0, dtype=np.int64)
    sources, sequences = messages.source[pairs.message[rows]], messages.sequence[pairs.message[rows]]
    order = np.lexsort((pairs.client[rows], sequences, sources))[:SHOWN]
    return [
        Failure(int(sources[at]), int(sequences[at]), int(pairs.client[row]), "", int(pairs.copies[row]))
        for at, row in ((at, rows[at]) for at in order.tolist())
    ]


def delivered_digest(
    pairs: Pairs, messages: Messages, kinds: Sequence[Kind], of: Column, names: Mapping[int, str]
) -> str:
    """Of what was delivered."""
    came = np.array([verdict_of(kind.due, kind.copies) in ARRIVED for kind in kinds], dtype=bool)
    rows = np.flatnonzero(came[of]) if len(of) else of
    message = pairs.message[rows]
    source, sequence = pa.array(messages.source[message]), pa.array(messages.sequence[message])
    return digest.delivered_digest(source, sequence, pa.array(pairs.client[rows]), names)


def count_publications(
    messages: Messages, history: History, excused: Collection[int]
) -> list[PublicationCounts]:
    """How many messages there are of each client, as `summary.count_publications` counts them."""
    which = np.flatnonzero(messages.published)
    source, announced_ns = messages.source[which], messages.announced_ns[which]
    captured, announced = messages.entered_ns[which] != UNKNOWN_NS, announced_ns != UNKNOWN_NS
    need_not = np.isin(source, np.array(sorted(excused), dtype=np.int64))
    for begin_ns, end_ns in history.unsettled():
        need_not |= (announced_ns >= begin_ns) & (announced_ns <= end_ns)
    clients, code = np.unique(source, return_inverse=True)
    columns = (np.ones(len(which), dtype=bool), ~captured & ~need_not, captured & ~announced)
    sums = [np.bincount(code[each], minlength=len(clients)).tolist() for each in columns]
    return [PublicationCounts(*row) for row in zip(clients.tolist(), *sums, strict=True)]


def latency_curves(pairs: Pairs, latency_ns: Column) -> list[LatencyCurve]:
    """The distribution over all deliveries first; then, without latencies, how many had each hop count."""
    left = pairs.copies > 0
    if not left.any():
        return []
    timed = np.sort(latency_ns[left & (latency_ns != UNKNOWN_NS)])
    hops, counts = np.unique(pairs.hop_count[left], return_counts=True)
    mean = float(timed.mean()) if len(timed) else 0.0
    quantiles = tuple(quantile(timed, share) for share in QUANTILES) if len(timed) else ()
    by_hops = zip(hops.tolist(), counts.tolist(), strict=True)
    return [
        LatencyCurve(None, int(left.sum()), len(timed), mean, quantiles),
        *(LatencyCurve(hop_count, count, 0, 0.0, ()) for hop_count, count in by_hops),
    ]


def quantile(ascending: Column, share: float) -> int:
    """The value at position ceil(share * n), the first being 1."""
    return int(ascending[max(1, math.ceil(share * len(ascending))) - 1])


@dataclass(frozen=True, slots=True)
class Timeline:
    """The intervals between all moments at which a part of the run begins or ends."""

    scopes: Sequence[Scope]
    edges: Column

    @classmethod
    def of(cls, scopes: Sequence[Scope]) -> Timeline:
        """That of some parts."""
        edges = {moment for scope in scopes for moment in (scope.from_ns, scope.until_ns)}
        return cls(scopes, np.array(sorted(edges), dtype=np.int64))

    def interval(self, messages: Messages) -> Column:
        """In which each message was published; 0, which is in no part, if it is no publication."""
        found = np.searchsorted(self.edges, messages.time_ns, "right")
        return np.where(messages.published, found, 0)

    def intervals(self, scope: Scope) -> range:
        """Those of a part."""
        first, last = np.searchsorted(self.edges, [scope.from_ns, scope.until_ns]).tolist()
        return range(first + 1, last + 1)


def count_by_scope(
    timeline: Timeline,
    kinds: Sequence[Kind],
    published: Column,
    latencies: Mapping[int, Column],
    excused: Excused,
) -> Iterator[ScopeCounts]:
    """One row a part.

    Args:
        timeline: The parts.
        kinds: The pairs.
        published: How many messages were, by interval.
        latencies: Of deliveries of what was, by interval.
        excused: Clients of which something need not be seen.
    """
    for scope in timeline.scopes:
        intervals = timeline.intervals(scope)
        of = [kind for kind in kinds if kind.interval in intervals]
        none = np.empty(0, dtype=np.int64)
        known = np.sort(np.concatenate([none, *(latencies.get(interval, none) for interval in intervals)]))
        latency = {name: quantile(known, share) for name, share in SHARES.items()} if len(known) else None
        yield ScopeCounts(
            scope,
            int(published[intervals.start : intervals.stop].sum()),
            counts_of(tally_of(of, excused)),
            latency and {**latency, "mean": round(float(known.mean()))},
        )


def by_interval(interval: Column, latency_ns: Column) -> dict[int, Column]:
    """The latencies that are known, by interval."""
    known = latency_ns != UNKNOWN_NS
    interval, latency_ns = interval[known], latency_ns[known]
    order = np.argsort(interval, kind="stable")
    which, begins = np.unique(interval[order], return_index=True)
    ends = np.append(begins[1:], len(order))
    rows = zip(which.tolist(), begins.tolist(), ends.tolist(), strict=False)  # there is always an end
    return {at: latency_ns[order[begin:end]] for at, begin, end in rows}
