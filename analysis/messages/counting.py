"""Pairs counted: by client, by part of the run, and their latencies.

Pairs that are alike are judged once, by the rules of the oracle; everything else is sums over columns. Sums
of parts of a run are added up to those of all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.advertising import Standing
from analysis.attacked import SIDES, Attacked
from analysis.columns import Numbers, groups
from analysis.counts import ARRIVED, TALLIED, Counts, counts_of
from analysis.dues import Dues
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
from analysis.messages.numbering import UNKNOWN_NS, Flags, Messages
from analysis.messages.pairs import Pairs
from analysis.messages.sketch import Sketch, joined
from analysis.oracle import Due, counted_as, is_unreported, verdict_of

LISTED, UNREPORTED, UNSEEN = "listed", "unreported", "unseen"
COUNTED = (*TALLIED, LISTED, UNREPORTED, UNSEEN)
"""What is counted of pairs: what `Counts` has, rows of table `verdicts`, and contradictions to clients."""
BAD = ("missing", "unknown", "spurious", "duplicate")
"""Verdicts of pairs that are shown one by one."""
DISAGREEMENTS = 3
"""How many deliveries are named of which captures and clients say different things."""
MOST_LATENCIES = 20_000
"""Held of those of one part of a run, or of one hop count."""


@dataclass(frozen=True, slots=True)
class Excused:
    """Clients of which something need not be seen."""

    unseen: frozenset[int]
    """To which what is sent was not captured completely."""
    lossy: frozenset[int]
    """Whose access links lose packets by plan."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of pairs; those that are alike share a kind."""

    kind: Numbers
    """Of each pair."""
    verdicts: Sequence[str]
    """By kind, empty: it is none to count."""
    counts: NDArray[np.int64]
    """By kind, in the order of `COUNTED`: as what one pair counts."""

    def is_counted(self, name: str) -> Flags:
        """Which pairs count as something."""
        found: Flags = (self.counts[:, COUNTED.index(name)] > 0)[self.kind]
        return found

    def is_one_of(self, verdicts: Collection[str]) -> Flags:
        """Which pairs have one of these verdicts."""
        chosen = np.array([verdict in verdicts for verdict in self.verdicts], dtype=bool)
        found: Flags = chosen[self.kind]
        return found


def outcomes_of(pairs: Pairs, excused: Excused) -> Outcomes:
    """Judge every pair."""
    ids = [np.array(sorted(each), np.int64) for each in (excused.unseen, excused.lossy)]
    unseen, lossy = (np.isin(pairs.client, each).astype(np.int64) for each in ids)
    columns = (pairs.due, pairs.copies, np.minimum(pairs.reports, 1), unseen, lossy)
    kind, first = groups(*columns)
    kinds = zip(*(column[first].tolist() for column in columns), strict=True)
    judged = [_judged(pairs.dues[due], *facts) for due, *facts in kinds]
    counts = np.array([weights for _, weights in judged], np.int64).reshape(-1, len(COUNTED))
    return Outcomes(kind, [verdict for verdict, _ in judged], counts)


def _judged(due: Due, copies: int, reports: int, unseen: int, lossy: int) -> tuple[str, list[int]]:
    """The verdict over a pair, and as what it counts."""
    verdict = verdict_of(due, copies, reports, unseen=bool(unseen))
    names = [*counted_as(due, verdict, copies)]
    names += [LISTED] * bool(verdict or reports)
    names += [UNREPORTED] * is_unreported(due, copies, reports, lossy=bool(lossy))
    names += [UNSEEN] * bool(reports and not copies)
    return verdict, [names.count(name) for name in COUNTED]


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts by a key: a client, a part of the run."""

    keys: Numbers
    """Ascending."""
    counts: NDArray[np.int64]
    """A row for each key, in the order of `COUNTED`."""

    def over(self, keys: range) -> Counts:
        """The sums over the keys in a range."""
        begin, end = np.searchsorted(self.keys, [keys.start, keys.stop])
        return _counts(self.counts[begin:end].sum(axis=0))

    def of(self, name: str) -> Numbers:
        """One of the counts, by key."""
        return self.counts[:, COUNTED.index(name)]


def _counts(row: NDArray[np.int64]) -> Counts:
    return counts_of(dict(zip(TALLIED, row.tolist(), strict=False)))  # the others come behind


def tally_of(key: Numbers, outcomes: Outcomes) -> Tally:
    """The counts of pairs by a key; `key` is by pair."""
    keys, code = np.unique(key, return_inverse=True)
    counts = np.zeros((len(keys), len(COUNTED)), np.int64)
    for at in np.flatnonzero(outcomes.counts.any(axis=0)).tolist():
        weights = outcomes.counts[:, at][outcomes.kind]
        counts[:, at] = np.bincount(code, weights, minlength=len(keys)).astype(np.int64)
    return Tally(keys, counts)


def added(tallies: Iterable[Tally]) -> Tally:
    """The counts of several parts together."""
    parts = list(tallies)
    keys, code = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    counts = np.zeros((len(keys), len(COUNTED)), np.int64)
    np.add.at(counts, code, np.concatenate([part.counts for part in parts]))
    return Tally(keys, counts)


def sides_of(attacked: Attacked | None, messages: Messages, pairs: Pairs, outcomes: Outcomes) -> Tally:
    """The counts of pairs by their side; none if nobody attacked."""
    if attacked is None:
        return Tally(np.zeros(0, np.int64), np.zeros((0, len(COUNTED)), np.int64))
    return tally_of(attacked.sides_of(messages.source[pairs.message], pairs.client), outcomes)


def by_side(tally: Tally) -> dict[str, Counts]:
    """The counts of each side, by name; the tally is by side."""
    return {SIDES[side]: _counts(row) for side, row in zip(tally.keys.tolist(), tally.counts, strict=True)}


def by_subscriber(tally: Tally) -> list[SubscriberCounts]:
    """One row a client that was owed, or got, anything, in order of id; the tally is by client."""
    rows = zip(
        tally.keys.tolist(),
        tally.counts,
        *(tally.of(name).tolist() for name in (LISTED, UNREPORTED, UNSEEN)),
        strict=True,
    )
    return [
        SubscriberCounts(client, _counts(counts), unreported, unseen)
        for client, counts, listed, unreported, unseen in rows
        if listed
    ]


def first_pairs(
    pairs: Pairs, messages: Messages, outcomes: Outcomes, chosen: Flags, most: int
) -> list[Failure]:
    """The first of the chosen pairs, by message and client."""
    rows = np.flatnonzero(chosen)
    message = pairs.message[rows]
    columns = (messages.source[message], messages.sequence[message], pairs.client[rows])
    order = np.lexsort(columns[::-1])[:most].tolist()
    found = zip(order, *(column[order].tolist() for column in columns), strict=True)
    return [
        Failure(
            source, sequence, client, outcomes.verdicts[outcomes.kind[rows[at]]], int(pairs.copies[rows[at]])
        )
        for at, source, sequence, client in found
    ]


def delivered_of(pairs: Pairs, messages: Messages, outcomes: Outcomes) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Publisher, sequence and client of what was delivered."""
    rows = np.flatnonzero(outcomes.is_one_of(ARRIVED))
    message, client = pairs.message[rows], pairs.client[rows]
    return pa.array(messages.source[message]), pa.array(messages.sequence[message]), pa.array(client)


def count_publications(
    messages: Messages,
    expected: Dues,
    history: History,
    excused: Excused,
    agree: Sequence[bool | None] | None = None,
) -> list[PublicationCounts]:
    """How many messages there are of each client, and what is odd about them.

    What a client published while the network was not settled may have met a link that was
    down or a router that did not run: it need not be in a capture.

    Args:
        messages: All messages.
        expected: What was due of those that were published.
        history: When the network was settled.
        excused: What such clients publish need not be in a capture either.
        agree: Whether what was captured of each message is what was announced, if that was looked at.
    """
    which = np.flatnonzero(messages.published)
    source, announced_ns = messages.source[which], messages.announced_ns[which]
    captured, announced = messages.entered_ns[which] != UNKNOWN_NS, announced_ns != UNKNOWN_NS
    need_not = np.isin(source, np.array(sorted(excused.unseen | excused.lossy), dtype=np.int64))
    for begin_ns, end_ns in history.unsettled():
        need_not |= (announced_ns >= begin_ns) & (announced_ns <= end_ns)
    otherwise = (
        np.array([each is False for each in agree], bool)[which] if agree else np.zeros(len(which), bool)
    )
    clients, code = np.unique(source, return_inverse=True)
    outside, forbidden = (expected.standing == each for each in (Standing.OUTSIDE, Standing.FORBIDDEN))
    whole = np.ones(len(which), dtype=bool)
    columns = (whole, ~captured & ~need_not, captured & ~announced, otherwise, outside, forbidden)
    sums = [np.bincount(code[each], minlength=len(clients)).tolist() for each in columns]
    first: dict[int, int] = {}
    odd = zip(source[otherwise].tolist(), messages.sequence[which][otherwise].tolist(), strict=True)
    for client, sequence in odd:
        first[client] = min(sequence, first.get(client, sequence))
    totals, not_captured, not_announced, differing, unadvertised, not_permitted = sums
    return [
        PublicationCounts(
            client,
            totals[at],
            not_captured[at],
            not_announced[at],
            differing[at],
            unadvertised[at],
            not_permitted[at],
            first.get(client),
        )
        for at, client in enumerate(clients.tolist())
    ]


def all_publications(parts: Iterable[Sequence[PublicationCounts]]) -> list[PublicationCounts]:
    """Those of several parts together."""
    sums: dict[int, PublicationCounts] = {}
    for each in (client for part in parts for client in part):
        so_far = sums.get(each.source, PublicationCounts(each.source, 0))
        firsts = [first for first in (so_far.first_otherwise, each.first_otherwise) if first is not None]
        sums[each.source] = PublicationCounts(
            each.source,
            so_far.total + each.total,
            so_far.not_captured + each.not_captured,
            so_far.not_announced + each.not_announced,
            so_far.otherwise_announced + each.otherwise_announced,
            so_far.unadvertised + each.unadvertised,
            so_far.not_permitted + each.not_permitted,
            min(firsts, default=None),
        )
    return [sums[source] for source in sorted(sums)]


def latency_curves(deliveries: Mapping[int, int], latencies: Mapping[int, Sketch]) -> list[LatencyCurve]:
    """The distribution over all deliveries first, then by hop count, ascending.

    Args:
        deliveries: How many had each hop count.
        latencies: By hop count, of those that are known.
    """
    if not deliveries:
        return []
    everything = joined(latencies.values(), MOST_LATENCIES)
    none = joined((), MOST_LATENCIES)
    rows = [(hops, number, latencies.get(hops, none)) for hops, number in sorted(deliveries.items())]
    return [
        _curve(None, sum(deliveries.values()), everything),
        *(_curve(hops, number, sketch) for hops, number, sketch in rows),
    ]


def _curve(hop_count: int | None, deliveries: int, latencies: Sketch) -> LatencyCurve:
    quantiles = tuple(map(int, latencies.quantiles(QUANTILES)))
    return LatencyCurve(hop_count, deliveries, latencies.count, latencies.mean, quantiles)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The intervals between all moments at which a part of the run begins or ends."""

    scopes: Sequence[Scope]
    edges: Numbers

    @classmethod
    def of(cls, scopes: Sequence[Scope], moments: Iterable[int] = ()) -> Timeline:
        """That of some parts; and there are edges at other moments, too."""
        edges = {moment for scope in scopes for moment in (scope.from_ns, scope.until_ns)}
        return cls(scopes, np.array(sorted(edges.union(moments)), dtype=np.int64))

    @property
    def size(self) -> int:
        """How many intervals there are, with the one before all others."""
        return len(self.edges) + 1

    def interval(self, messages: Messages) -> Numbers:
        """In which each message was published; 0, which is in no part, if it is no publication."""
        found = np.searchsorted(self.edges, messages.time_ns, "right")
        return np.where(messages.published, found, 0)

    def intervals(self, scope: Scope) -> range:
        """Those of a part."""
        return self.between(scope.from_ns, scope.until_ns)

    def between(self, from_ns: int, until_ns: int) -> range:
        """Those from one of the edges until before another."""
        first, last = np.searchsorted(self.edges, [from_ns, until_ns]).tolist()
        return range(first + 1, last + 1)


def count_by_scope(
    timeline: Timeline, published: Numbers, tally: Tally, latencies: Mapping[int, Sketch]
) -> list[ScopeCounts]:
    """One row a part.

    Args:
        timeline: The parts.
        published: How many messages were, by interval.
        tally: Of pairs, by interval.
        latencies: Of deliveries of what was published, by interval.
    """
    return [
        ScopeCounts(
            scope,
            int(published[intervals.start : intervals.stop].sum()),
            tally.over(intervals),
            _shares(joined((latencies[at] for at in intervals if at in latencies), MOST_LATENCIES)),
        )
        for scope, intervals in ((scope, timeline.intervals(scope)) for scope in timeline.scopes)
    ]


def _shares(latencies: Sketch) -> dict[str, int] | None:
    if not latencies.count:
        return None
    quantiles = map(int, latencies.quantiles(SHARES.values()))
    return dict(zip(SHARES, quantiles, strict=True)) | {"mean": round(latencies.mean)}
