"""How long packets take over links: the distribution for each direction of each link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.columns import groups
from analysis.drift.least import LeastDelays, least_by_window, merged
from analysis.messages.hops import Hops
from analysis.messages.numbering import UNKNOWN_NS
from analysis.messages.sketch import Sketch, by_key, joined

SHARES = {"p10_ns": 0.1, "p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
MOST_DELAYS = 2_000
"""Held of those of one direction of a link."""
Way = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Delays:
    """By direction of a link."""

    sent: Mapping[Way, int]
    """Messages; 0, if there were CONTROL packets alone."""
    delays: Mapping[Way, Sketch]
    """Of messages that arrived."""
    ends: Mapping[Way, tuple[int, int]]
    """The least and the largest delay of messages and CONTROL packets, where any arrived."""


def delays_of(hops: Hops, control: Hops) -> Delays:
    """Those of messages, and of CONTROL packets."""
    sent: dict[Way, int] = {}
    delays: dict[Way, Sketch] = {}
    ends: dict[Way, tuple[int, int]] = {}
    for of, is_message in ((hops, True), (control, False)):
        way, first = groups(of.sender, of.receiver)
        ways = list(zip(of.sender[first].tolist(), of.receiver[first].tolist(), strict=True))
        counts = np.bincount(way, minlength=len(ways)).tolist()
        known = of.delay_ns != UNKNOWN_NS
        sketches = by_key(way[known], of.delay_ns[known], MOST_DELAYS)
        for number, each in enumerate(ways):
            sent[each] = sent.get(each, 0) + (counts[number] if is_message else 0)
            sketch = sketches.get(number)
            if sketch is not None:
                ends[each] = _wider(ends.get(each), (int(sketch.values[0]), int(sketch.values[-1])))
                if is_message:
                    delays[each] = sketch
    return Delays(sent, delays, ends)


def least_of(hops: Iterable[Hops], window_ns: int) -> LeastDelays:
    """The least delays of packets in windows of time, by direction of a link."""
    parts = []
    for of in hops:
        known = of.delay_ns != UNKNOWN_NS
        ends, times = (of.sender[known], of.receiver[known]), (of.sent_ns[known], of.received_ns[known])
        parts.append(least_by_window(*ends, *times, window_ns))
    return merged(parts)


def _wider(a: tuple[int, int] | None, b: tuple[int, int]) -> tuple[int, int]:
    return b if a is None else (min(a[0], b[0]), max(a[1], b[1]))


def added_delays(parts: Sequence[Delays]) -> Delays:
    """Those of several parts of a run together."""
    sent: dict[Way, int] = {}
    ends: dict[Way, tuple[int, int]] = {}
    sketches: dict[Way, list[Sketch]] = {}
    for part in parts:
        for way, count in part.sent.items():
            sent[way] = sent.get(way, 0) + count
        for way, both in part.ends.items():
            ends[way] = _wider(ends.get(way), both)
        for way, sketch in part.delays.items():
            sketches.setdefault(way, []).append(sketch)
    return Delays(sent, {way: joined(each, MOST_DELAYS) for way, each in sketches.items()}, ends)


def link_delays(delays: Delays, links: Mapping[Way, str]) -> dict[str, list[Any]]:
    """The columns of table `link_delays`.

    Args:
        delays: Of the whole run.
        links: The name of the link in each direction.
    """
    none = joined((), MOST_DELAYS)
    rows = [_row(way, delays, delays.delays.get(way, none), links.get(way)) for way in sorted(delays.sent)]
    names = [*_row((0, 0), Delays({(0, 0): 0}, {}, {}), none, None)]
    return {name: [row[name] for row in rows] for name in names}


def _row(way: Way, delays: Delays, found: Sketch, link: str | None) -> dict[str, Any]:
    shares: list[float | int | None] = [*found.quantiles((0.0, *SHARES.values(), 1.0))]
    least, *quantiles, most = shares or [None] * (len(SHARES) + 2)
    ends = delays.ends.get(way, (None, None))
    return {
        "link": link,
        "from_id": way[0],
        "to_id": way[1],
        "sent": delays.sent[way],
        "arrived": found.count,
        "min_ns": least,
        **dict(zip(SHARES, quantiles, strict=True)),
        "max_ns": most,
        "mean_ns": found.mean if found.count else None,
        "least_ns": ends[0],
        "most_ns": ends[1],
    }
