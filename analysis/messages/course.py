"""What happened to messages when and where: lost on links by slice of time, late, and waiting in routers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from analysis.columns import Grouped, Numbers
from analysis.counts import ARRIVED
from analysis.course.moments import slice_of
from analysis.messages.bucket import Judged
from analysis.messages.numbering import UNKNOWN_NS
from analysis.messages.sketch import Sketch, by_key, joined

MOST_WAITS = 2_000
"""Held of those in one router."""


@dataclass(frozen=True, slots=True)
class CourseSums:
    """Of some messages."""

    lost: Grouped
    """Copies that never arrived over links between routers: by both nodes and the slice of sending."""
    late: Numbers
    """Deliveries that took longer than the network needs to settle, by interval of publication."""
    waits: Mapping[int, Sketch]
    """By router: how long messages were with it, for each hop (`Hops.waited_ns`)."""


def course_of(judged: Judged) -> CourseSums:
    """Of the messages of a bucket."""
    hops = judged.hops
    known = hops.waited_ns != UNKNOWN_NS
    return CourseSums(
        _lost(judged), _late(judged), by_key(hops.sender[known], hops.waited_ns[known], MOST_WAITS)
    )


def _lost(judged: Judged) -> Grouped:
    """What a client received is in no capture."""
    met = judged.crossings.met
    rows = np.flatnonzero(~met.access & (met.copies > met.arrived))
    number = slice_of(met.time_ns[rows], judged.context.slices)
    return Grouped.of([met.sender[rows], met.receiver[rows], number], [(met.copies - met.arrived)[rows]])


def _late(judged: Judged) -> Numbers:
    latency_ns, settle_ns = judged.latency_ns, judged.context.history.settle_ns
    late = judged.outcomes.is_one_of(ARRIVED) & (latency_ns != UNKNOWN_NS) & (latency_ns > settle_ns)
    interval = judged.interval[judged.pairs.message[late]]
    return np.bincount(interval, minlength=judged.context.timeline.size)


def added_courses(parts: Sequence[CourseSums]) -> CourseSums:
    """Those of several parts together."""
    routers = sorted({router for part in parts for router in part.waits})
    waits = {
        router: joined((part.waits[router] for part in parts if router in part.waits), MOST_WAITS)
        for router in routers
    }
    return CourseSums(
        Grouped.added([part.lost for part in parts]), reduce(np.add, (part.late for part in parts)), waits
    )
