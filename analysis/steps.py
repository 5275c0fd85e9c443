"""From one capture to the next: where each message was seen one after the other, and the time between.

Without a plan. What is known of two captures decides whether a step from one to the other can be told:

- They are the two ends of a link if their frames are between the same two addresses. A step over a link is
  between sightings of equal hop count, to the end from which the message went on through its router, or from
  the end to which it had come through its router; if neither is known, from the earlier to the later.
- They are of one router if their names say so (`<router>-eth<number>`). A step through a router is from a
  sighting to one with a hop count one higher.
- Where names do not say it, a sighting with a hop count one higher is a step from the only place where the
  message can have come from; if there are several, the step is ambiguous, and is counted and not guessed.

A task takes the messages published in a span of time, and reads no row group without any of them. So what is
in memory is what was published in a span, and time grows with the packets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.distribution import Distribution
from analysis.drift.correction import HostClock, corrected
from analysis.host_clocks import Times, Windows, least_of_steps
from nodes.wire.packets import PacketType

ROWS_A_TASK = 1_000_000
SCHEMA = pa.schema(
    [
        ("source", pa.int64()),
        ("sequence", pa.int64()),
        ("publish_time_ns", pa.int64()),
        ("from_interface", pa.string()),
        ("to_interface", pa.string()),
        ("over", pa.string()),
        ("hop_count", pa.int32()),
        ("latency_ns", pa.int64()),
    ]
)
"""Of `steps.parquet`: `over` is `link` or `router`, `hop_count` that of the later sighting."""
_READ = ["interface", "type", "time_ns", "source", "sequence", "publish_time_ns", "hop_count", "content"]
_ROUTER = re.compile(r"(.+)-eth\d+$")

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


def router_of(interface: str) -> str | None:
    """The router whose interface it is, if the name says it."""
    found = _ROUTER.fullmatch(interface)
    return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Places:
    """The captures by number, and what is known of every two of them."""

    names: tuple[str, ...]
    linked: Flags
    """Whether they are two ends of a link."""
    together: Flags
    """Whether they are of one router."""
    perhaps: Flags
    """Whether they may be of one router: names do not say it."""

    @classmethod
    def of(cls, names: Sequence[str], ends: Mapping[str, tuple[str, str]]) -> Places:
        """From the names, and the addresses between which each one's frames are, where they are known."""
        routers = [router_of(name) for name in names]
        between = [ends.get(name) for name in names]
        other = ~np.eye(len(names), dtype=bool)
        linked = np.array([[a is not None and a == b for b in between] for a in between], bool) & other
        together = np.array([[a is not None and a == b for b in routers] for a in routers], bool) & other
        perhaps = np.array([[a is None or b is None for b in routers] for a in routers], bool) & other
        return cls(tuple(names), linked, together, perhaps & ~linked)


class Span(NamedTuple):
    """Messages published in [from, until), and the row groups that can have some."""

    from_ns: int
    until_ns: int
    groups: tuple[tuple[str, int], ...]


def spans(folder: Path, rows_a_task: int = ROWS_A_TASK) -> list[Span]:
    """The messages of `packets.parquet` in spans of about so many rows."""
    groups = list(_groups(folder))
    if not groups:
        return []
    total = sum(rows for *_, rows in groups)
    starts = np.array(sorted(low for _, low, _, _ in groups))
    shares = np.linspace(0, 1, -(-total // rows_a_task), endpoint=False)[1:]
    # Row groups begin where messages are: the denser they are, the shorter is a span.
    last = max(high for _, _, high, _ in groups) + 1
    spread = np.quantile(np.concatenate([starts, [last]]), shares).astype(np.int64).tolist()
    edges = sorted({int(starts[0]), *spread, last})
    return [
        Span(low, high, tuple(key for key, first, end, _ in groups if first < high and end >= low))
        for low, high in pairwise(edges)
    ]


def _groups(folder: Path) -> Iterator[tuple[tuple[str, int], int, int, int]]:
    """Row groups with messages: file and number, first and last time of publication, rows."""
    column = None
    for path in sorted(folder.glob("*.parquet")):
        about = pq.read_metadata(path)
        column = column or about.schema.to_arrow_schema().get_field_index("publish_time_ns")
        for number in range(about.num_row_groups):
            group = about.row_group(number)
            found = group.column(column).statistics
            if found is not None and found.has_min_max:
                yield (path.name, number), int(found.min), int(found.max), group.num_rows


@dataclass(slots=True)
class Sighted:
    """Sightings of messages, those of one message together, in order of hop count."""

    source: Longs
    sequence: Longs
    published_ns: Longs
    place: Longs
    hops: Longs
    time_ns: Longs
    first: Flags
    """Whether the sighting is the first of its message."""
    clashes: int
    """Messages that share publisher and sequence with another."""

    @property
    def number(self) -> Longs:
        """Of each sighting's message."""
        return np.cumsum(self.first)


def read_span(folder: Path, span: Span, places: Places, clocks: Mapping[int, HostClock]) -> Sighted:
    """The sightings of the messages of a span, at times as corrected by these clocks, by place."""
    tables = [_messages(_row_group(folder / name, number), span, places) for name, number in span.groups]
    columns = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    order = _order(columns["source"], columns["sequence"], columns["content"], columns["hops"])
    columns = {key: column[order] for key, column in columns.items()}
    source, sequence = columns["source"], columns["sequence"]
    first = _differs(source) | _differs(sequence) | _differs(columns["content"])
    return Sighted(
        source,
        sequence,
        columns["published"],
        columns["place"],
        columns["hops"],
        corrected(columns["place"], columns["time"], clocks),
        first,
        _clashes(source[first], sequence[first]),
    )


def _order(source: Longs, sequence: Longs, content: Longs, hops: Longs) -> Longs:
    """Sightings of a message together, in order of hop count.

    Sorting one number is five times as fast as sorting four. If two messages have one, all four are sorted.
    """
    number = (_mixed(source, sequence, content) & ~np.uint64(0xFF)) | hops.astype(np.uint64)
    order = np.argsort(number)
    number = number[order] >> np.uint64(8)
    same = number[1:] == number[:-1]
    for column in (source, sequence, content):
        ordered = column[order]
        if np.any(same & (ordered[1:] != ordered[:-1])):
            return np.lexsort([hops, content, sequence, source])
    return order


def _mixed(*columns: Longs) -> NDArray[np.uint64]:
    state = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        state = (state ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
    return state


def _clashes(source: Longs, sequence: Longs) -> int:
    """Of messages, one an entry: how many have publisher and sequence of another one before."""
    number = np.sort(_mixed(source, sequence))
    if not np.any(number[1:] == number[:-1]):
        return 0
    order = np.lexsort([sequence, source])
    return int((~(_differs(source[order]) | _differs(sequence[order]))).sum())


def _row_group(path: Path, number: int) -> pa.Table:
    return pq.ParquetFile(path, read_dictionary=["interface"]).read_row_group(number, columns=_READ)


def _messages(table: pa.Table, span: Span, places: Places) -> dict[str, Longs]:
    published = table["publish_time_ns"]
    inside = pc.and_(pc.greater_equal(published, span.from_ns), pc.less(published, span.until_ns))
    table = table.filter(pc.and_(pc.equal(table["type"], int(PacketType.MESSAGE)), inside))
    interface = table["interface"].combine_chunks()
    named = pc.index_in(interface.dictionary, pa.array(places.names)).to_numpy(zero_copy_only=False)
    return {
        "source": table["source"].to_numpy(),
        "sequence": table["sequence"].to_numpy(),
        "content": table["content"].to_numpy(),
        "published": table["publish_time_ns"].to_numpy(),
        "hops": table["hop_count"].to_numpy().astype(np.int64),
        "time": table["time_ns"].to_numpy(),
        "place": named.astype(np.int64)[interface.indices.to_numpy()],
    }


def _differs(values: Longs) -> Flags:
    """Of sorted values: whether each is another than the one before."""
    found = np.ones(len(values), bool)
    found[1:] = values[1:] != values[:-1]
    return found


class Pairs(NamedTuple):
    """Sightings one after the other, by their place among all sightings."""

    earlier: Longs
    later: Longs
    over_link: Flags


def pairs(seen: Sighted, places: Places) -> tuple[Pairs, int]:
    """The steps that can be told, and how many sightings came by one of several."""
    number = seen.number
    found: list[tuple[Longs, Longs, bool]] = []
    candidates: list[tuple[Longs, Longs]] = []
    left, distance = np.arange(len(number)), 0
    while True:
        distance += 1
        left = left[left + distance < len(number)]
        left = left[number[left] == number[left + distance]]
        if not len(left):
            break
        right = left + distance
        here, there = seen.place[left], seen.place[right]
        risen = seen.hops[right] - seen.hops[left]
        link = (risen == 0) & places.linked[here, there]
        inside = (risen == 1) & places.together[here, there]
        unsure = (risen == 1) & places.perhaps[here, there]
        found += [(left[link], right[link], True), (left[inside], right[inside], False)]
        candidates.append((left[unsure], right[unsure]))
    sure, ambiguous = _only_ones(seen, places, candidates)
    return _joined([*found, (*sure, False)]), ambiguous


def _joined(parts: list[tuple[Longs, Longs, bool]]) -> Pairs:
    empty = np.empty(0, np.int64)
    return Pairs(
        np.concatenate([empty, *(earlier for earlier, _, _ in parts)]),
        np.concatenate([empty, *(later for _, later, _ in parts)]),
        np.concatenate([np.empty(0, bool), *(np.full(len(e), link) for e, _, link in parts)]),
    )


def _only_ones(
    seen: Sighted, places: Places, candidates: list[tuple[Longs, Longs]]
) -> tuple[tuple[Longs, Longs], int]:
    """Of the places where a message may have come from: the only one, or the far end of the only link."""
    earlier = np.concatenate([np.empty(0, np.int64), *(e for e, _ in candidates)])
    later = np.concatenate([np.empty(0, np.int64), *(after for _, after in candidates)])
    order = np.lexsort([seen.time_ns[earlier], later])
    earlier, later = earlier[order], later[order]
    start = np.flatnonzero(_differs(later)) if len(later) else np.empty(0, np.int64)
    size = np.diff(np.append(start, len(later)))
    end = start + size - 1
    two = size == 2
    ends = places.linked[seen.place[earlier[start]], seen.place[earlier[end]]] if len(start) else two
    sure = (size == 1) | (two & ends)
    return (earlier[end[sure]], later[end[sure]]), int((~sure).sum())


class StepsReport(NamedTuple):
    """What a task reports: plain values, in lists."""

    messages: list[list[int]]
    """Publisher, how many messages, and how many of them were seen with hop count 0."""
    steps: list[list[Any]]
    """From, to, over what, and the spread of latencies."""
    ages: list[list[Any]]
    """Capture, and the spread of the times since publication."""
    clashes: int
    ambiguous: int
    least: list[list[int]]
    """The columns of the least delays over links (`LeastDelays`), of captures by their places."""


def take_steps(folder: Path, span: Span, places: Places, times: Times, target: Path | None) -> StepsReport:
    """The steps of the messages of a span, written to `target` if it is given."""
    seen = read_span(folder, span, places, times.clocks)
    found, ambiguous = pairs(seen, places)
    found, certain = _directed(seen, found)
    latency = seen.time_ns[found.later] - seen.time_ns[found.earlier]
    if target is not None:
        pq.write_table(_table(seen, found, latency, places), target, compression="zstd")
    return StepsReport(
        _by_publisher(seen),
        _by_step(seen, found, latency, places),
        _ages(seen, places),
        seen.clashes,
        ambiguous,
        _least(seen, found.earlier[certain], found.later[certain], places, times.windows),
    )


def _least(seen: Sighted, earlier: Longs, later: Longs, places: Places, windows: Windows) -> list[list[int]]:
    ends, times = (seen.place[earlier], seen.place[later]), (seen.time_ns[earlier], seen.time_ns[later])
    return [column.tolist() for column in least_of_steps(ends, times, places.linked, windows)]


def _directed(seen: Sighted, found: Pairs) -> tuple[Pairs, Flags]:
    """Each step over a link from the end that sent it; and of which this is certain.

    The hop counts in routers say it better than clocks; where they do not say it, it is the earlier end.
    """
    inside = ~found.over_link
    went_on, had_come = np.zeros(len(seen.time_ns), bool), np.zeros(len(seen.time_ns), bool)
    went_on[found.earlier[inside]] = True
    had_come[found.later[inside]] = True
    forwards = had_come[found.earlier] | went_on[found.later]
    backwards = had_come[found.later] | went_on[found.earlier]
    earlier_is_later = seen.time_ns[found.later] < seen.time_ns[found.earlier]
    turned = found.over_link & np.where(forwards == backwards, earlier_is_later, backwards)
    earlier = np.where(turned, found.later, found.earlier)
    later = np.where(turned, found.earlier, found.later)
    return Pairs(earlier, later, found.over_link), found.over_link & (forwards != backwards)


def _by_publisher(seen: Sighted) -> list[list[int]]:
    started = np.bincount(seen.number - 1, seen.hops == 0) if len(seen.hops) else np.empty(0)
    publishers, which = np.unique(seen.source[seen.first], return_inverse=True)
    counts, fresh = np.bincount(which), np.bincount(which, started > 0)
    return [[int(p), int(n), int(f)] for p, n, f in zip(publishers, counts, fresh, strict=True)]


def _by_step(seen: Sighted, found: Pairs, latency: Longs, places: Places) -> list[list[Any]]:
    size = len(places.names)
    key = (seen.place[found.earlier] * size + seen.place[found.later]) * 2 + found.over_link
    return [
        [
            places.names[step // 2 // size],
            places.names[step // 2 % size],
            "link" if step % 2 else "router",
            Distribution.of(values).plain(),
        ]
        for step, values in _grouped(key, latency)
    ]


def _ages(seen: Sighted, places: Places) -> list[list[Any]]:
    age = seen.time_ns - seen.published_ns
    return [[places.names[at], Distribution.of(values).plain()] for at, values in _grouped(seen.place, age)]


def _grouped(key: Longs, values: Longs) -> Iterator[tuple[int, Longs]]:
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    starts = np.flatnonzero(_differs(key)) if len(key) else np.empty(0, np.int64)
    for start, part in zip(starts, np.split(values, starts[1:]), strict=False):
        yield int(key[start]), part


def _table(seen: Sighted, found: Pairs, latency: Longs, places: Places) -> pa.Table:
    names = pa.array(places.names, pa.string())
    columns = [
        seen.source[found.later],
        seen.sequence[found.later],
        seen.published_ns[found.later],
        names.take(pa.array(seen.place[found.earlier])),
        names.take(pa.array(seen.place[found.later])),
        pa.array(["router", "link"]).take(pa.array(found.over_link.astype(np.int64))),
        seen.hops[found.later].astype(np.int32),
        latency,
    ]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=SCHEMA)
