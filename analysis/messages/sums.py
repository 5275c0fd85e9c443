"""What is counted of the messages of a bucket, and the sums of several buckets: small, however many messages.

The sums are what a verdict and a report say of a run; its tables have the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from analysis.columns import Numbers, groups
from analysis.course.moments import slice_of
from analysis.drift import least
from analysis.drift.least import LeastDelays
from analysis.findings import Failure, Oddity, PublicationCounts, TreeCounts
from analysis.messages import counting
from analysis.messages.bucket import Judged
from analysis.messages.counting import BAD, DISAGREEMENTS, MOST_LATENCIES, Tally, first_pairs, tally_of
from analysis.messages.course import CourseSums, added_courses, course_of
from analysis.messages.crossings import FLAWS, Crossings
from analysis.messages.delays import Delays, added_delays, delays_of, least_of
from analysis.messages.numbering import UNKNOWN_NS, Messages
from analysis.messages.sketch import Sketch, by_key, joined
from analysis.messages.times import TimeSums, added_times, times_of
from analysis.oracle import Pair

SHOWN = 50
"""How many missing, spurious and duplicate deliveries are listed one by one."""
MOST_STRETCHES = 20_000
_AT_ONCE = 16
"""Parts that are added up in one step."""
Way = tuple[int, int]
"""From which node to which other."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Of the messages of one bucket, or of several."""

    publishers: Sequence[PublicationCounts]
    published: Numbers
    """Messages by interval of the timeline."""
    clients: Tally
    intervals: Tally
    sides: Tally
    """By sides of `analysis.attacked`; nothing, if nobody attacked."""
    failures: Sequence[Failure]
    """The first pairs of which something is wrong."""
    disagreements: Sequence[Failure]
    """The first pairs of which captures and clients say different things."""
    denied: Sequence[Pair]
    """Those of a sample of which the reference model denies what the oracle found."""
    deliveries: Mapping[int, int]
    """By hop count."""
    latencies: Mapping[int, Sketch]
    """By hop count."""
    in_interval: Mapping[int, Sketch]
    """Latencies by interval in which the message was published."""
    crossings: Mapping[Way, tuple[int, int]]
    """Copies over links between routers, and the wasted ones of them."""
    oddities: Mapping[tuple[str, int, int], tuple[int, int, Pair]]
    """By name and way: how many, when the first was, and its source, sequence and hop count."""
    trees: TreeCounts
    routers: frozenset[int]
    """Where messages entered the network."""
    stretches: Sketch
    delays: Delays
    least: LeastDelays
    times: TimeSums | None
    course: CourseSums
    matches: Mapping[tuple[int, int], int]
    """Matches of descriptors, by the router that made them and slice."""


def sums_of(judged: Judged) -> Sums:
    """Count what became of the messages of a bucket."""
    messages, pairs, outcomes = judged.messages, judged.pairs, judged.outcomes
    context = judged.context
    odd = outcomes.is_counted(counting.UNREPORTED) | outcomes.is_counted(counting.UNSEEN)
    interval = judged.interval[pairs.message]
    timed = np.flatnonzero(judged.latency_ns != UNKNOWN_NS)
    latency_ns = judged.latency_ns[timed]
    hops, counts = np.unique(pairs.hop_count[pairs.copies > 0], return_counts=True)
    return Sums(
        counting.count_publications(messages, pairs.expected, context.history, context.excused, judged.agree),
        np.bincount(judged.interval[messages.published], minlength=context.timeline.size),
        tally_of(pairs.client, outcomes),
        tally_of(interval, outcomes),
        counting.sides_of(context.attacked, messages, pairs, outcomes),
        first_pairs(pairs, messages, outcomes, outcomes.is_one_of(BAD), SHOWN),
        first_pairs(pairs, messages, outcomes, odd, DISAGREEMENTS),
        messages.named(pairs.deviating),
        dict(zip(hops.tolist(), counts.tolist(), strict=True)),
        by_key(pairs.hop_count[timed], latency_ns, MOST_LATENCIES),
        by_key(interval[timed], latency_ns, MOST_LATENCIES),
        _crossings(judged.crossings),
        _oddities(judged.crossings, messages),
        _trees(judged),
        frozenset(np.unique(judged.trees.router).tolist()),
        Sketch.of(judged.stretches, MOST_STRETCHES),
        delays_of(judged.hops, judged.control),
        least_of((judged.hops, judged.control), context.window_ns),
        times_of(judged),
        course_of(judged),
        _matches(judged),
    )


def _crossings(crossings: Crossings) -> dict[Way, tuple[int, int]]:
    met = crossings.met
    rows = np.flatnonzero(~met.access & (met.copies > 0))
    sender, receiver, copies = met.sender[rows], met.receiver[rows], met.copies[rows]
    way, first = groups(sender, receiver)
    columns = (copies, np.where(crossings.wasted[rows], copies, 0))
    sums = [np.bincount(way, each, minlength=len(first)).astype(np.int64).tolist() for each in columns]
    ways = zip(sender[first].tolist(), receiver[first].tolist(), strict=True)
    return dict(zip(ways, zip(*sums, strict=True), strict=True))


def _oddities(crossings: Crossings, messages: Messages) -> dict[tuple[str, int, int], tuple[int, int, Pair]]:
    met = crossings.met
    flaws = {name: crossings.flaw == at for at, name in enumerate(FLAWS) if name}
    when = np.where(met.copies > 0, met.time_ns, met.received_ns)
    found: dict[tuple[str, int, int], tuple[int, int, Pair]] = {}
    for name, odd in {"altered": crossings.altered, **flaws}.items():
        columns = (
            met.sender,
            met.receiver,
            when,
            messages.source[met.message],
            messages.sequence[met.message],
        )
        rows = zip(*(column[odd].tolist() for column in (*columns, met.hop)), strict=True)
        for sender, receiver, time_ns, *example in rows:
            one = (1, time_ns, (example[0], example[1], example[2]))
            key = (name, sender, receiver)
            found[key] = _both(found[key], one) if key in found else one
    return found


def _matches(judged: Judged) -> Counter[tuple[int, int]]:
    made = judged.made
    slots = slice_of(made.time_ns, judged.context.slices)
    return Counter(zip(made.router.tolist(), slots.tolist(), strict=True))


def _both(a: tuple[int, int, Pair], b: tuple[int, int, Pair]) -> tuple[int, int, Pair]:
    return (a[0] + b[0], *min(a[1:], b[1:]))


def _trees(judged: Judged) -> TreeCounts:
    trees = judged.trees
    return TreeCounts(
        len(trees.message),
        int(trees.crossings.sum()),
        int(trees.wasted.sum()),
        int(trees.ideal.sum()),
        int((trees.crossings > trees.ideal).sum()),
        int((~trees.exact).sum()),
    )


def merged(parts: Iterable[Callable[[], Sums]]) -> Sums:
    """Those of several buckets together; each is asked for when it is its turn, for they may be many."""
    so_far: list[list[Sums]] = [[]]
    for part in parts:
        so_far[0].append(part())
        for level, waiting in enumerate(so_far):
            if len(waiting) == _AT_ONCE:
                if level + 1 == len(so_far):
                    so_far.append([])
                so_far[level + 1].append(_added(waiting))
                waiting.clear()
    return _added([part for waiting in so_far for part in waiting])


def _added(parts: Sequence[Sums]) -> Sums:
    return Sums(
        counting.all_publications(part.publishers for part in parts),
        reduce(np.add, (part.published for part in parts)),
        counting.added(part.clients for part in parts),
        counting.added(part.intervals for part in parts),
        counting.added(part.sides for part in parts),
        _first((part.failures for part in parts), SHOWN),
        _first((part.disagreements for part in parts), DISAGREEMENTS),
        sorted(pair for part in parts for pair in part.denied),
        dict(sum((Counter(part.deliveries) for part in parts), Counter())),
        _sketches([part.latencies for part in parts]),
        _sketches([part.in_interval for part in parts]),
        _added_ways([part.crossings for part in parts]),
        _added_oddities([part.oddities for part in parts]),
        _added_trees([part.trees for part in parts]),
        frozenset().union(*(part.routers for part in parts)),
        joined((part.stretches for part in parts), MOST_STRETCHES),
        added_delays([part.delays for part in parts]),
        least.merged(part.least for part in parts),
        added_times([part.times for part in parts]),
        added_courses([part.course for part in parts]),
        sum((Counter(part.matches) for part in parts), Counter()),
    )


def _first(parts: Iterable[Sequence[Failure]], most: int) -> list[Failure]:
    everything = (failure for part in parts for failure in part)
    return sorted(everything, key=lambda f: (f.source, f.sequence, f.subscriber))[:most]


def _sketches(parts: Sequence[Mapping[int, Sketch]]) -> dict[int, Sketch]:
    keys = sorted({key for part in parts for key in part})
    return {key: joined((part[key] for part in parts if key in part), MOST_LATENCIES) for key in keys}


def _added_ways(parts: Sequence[Mapping[Way, tuple[int, int]]]) -> dict[Way, tuple[int, int]]:
    found: dict[Way, tuple[int, int]] = {}
    for way, (copies, wasted) in (item for part in parts for item in part.items()):
        before = found.get(way, (0, 0))
        found[way] = (before[0] + copies, before[1] + wasted)
    return found


def _added_oddities(
    parts: Sequence[Mapping[tuple[str, int, int], tuple[int, int, Pair]]],
) -> dict[tuple[str, int, int], tuple[int, int, Pair]]:
    found: dict[tuple[str, int, int], tuple[int, int, Pair]] = {}
    for key, value in (item for part in parts for item in part.items()):
        found[key] = _both(found[key], value) if key in found else value
    return found


def _added_trees(parts: Sequence[TreeCounts]) -> TreeCounts:
    return TreeCounts(*(sum(getattr(part, name) for part in parts) for name in TreeCounts.__slots__))


def all_oddities(sums: Sums) -> list[Oddity]:
    """By direction of a link, then in the order of their names."""
    order = ("altered", *FLAWS)
    found = sorted(sums.oddities.items(), key=lambda item: (item[0][1:], order.index(item[0][0])))
    return [Oddity(*key, count, *example) for key, (count, _, example) in found]
