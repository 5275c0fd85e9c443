"""When routers learned of newer records of links and interest, by interval of time: what can be merged.

Routers flood records whose sequences grow. Of each interval is kept, for each router, origin and kind of
record, the greatest sequence that the router sent or received, and when that was captured for the first time.

Under schemes that flood no interest (`cbcb`, `siena`) neighbours tell each other what is wanted, by payloads
without a sequence. Each is news to its receiver; so its sequence is the time, and its origin nobody (0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.calm import LAST_CLASS, RECORDS
from analysis.columns import Numbers, groups
from analysis.course.moments import Intervals
from analysis.messages.rows import numbers
from nodes.wire.packets import Kind, PacketType

KEY = ("interval", "router", "origin", "of")
SCHEMA = pa.schema([(name, pa.int64()) for name in (*KEY, "sequence", "first_ns")])
TOLD = 3
"""Beside `LINKS`, `INTEREST` and `OFFERS`: what neighbours tell of it, under schemes that flood none."""
TELLING = (
    Kind.CBCB_RA,
    Kind.CBCB_UR,
    Kind.SIENA_SUBSCRIBE,
    Kind.SIENA_UNSUBSCRIBE,
    Kind.SIENA_ADVERTISE,
    Kind.SIENA_UNADVERTISE,
    Kind.CD_UPDATE,
)
"""The payloads that do. A CBCB_SR asks, and a CBCB_ERA proves who is there."""
_KINDS = {int(kind): of for kind, of in RECORDS.items()}
_OF = np.array([_KINDS.get(kind, -1) for kind in range(256)], dtype=np.int64)


def records_of(rows: pa.Table, intervals: Intervals) -> pa.Table:
    """What packets show of records."""
    control = pc.equal(rows["type"], int(PacketType.CONTROL))
    ordinary = pc.fill_null(pc.less(rows["sequence"], LAST_CLASS), False)
    names = ["node_id", "time_ns", "source", "sequence", "kind"]
    chosen = rows.select(names).filter(pc.and_(control, ordinary))
    time_ns = numbers(chosen["time_ns"])
    columns = {
        "interval": intervals.of(time_ns),
        "router": numbers(chosen["node_id"]),
        "origin": numbers(chosen["source"]),
        "of": _OF[numbers(chosen["kind"])],
        "sequence": numbers(chosen["sequence"]),
        "first_ns": time_ns,
    }
    return _newest(pa.concat_tables([pa.table(columns, schema=SCHEMA), _told(rows, intervals)]))


def _told(rows: pa.Table, intervals: Intervals) -> pa.Table:
    """What neighbours told, when."""
    telling = pc.is_in(rows["kind"], pa.array([int(kind) for kind in TELLING], rows["kind"].type))
    received = pc.and_(pc.equal(rows["type"], int(PacketType.CONTROL)), pc.invert(rows["sent"]))
    chosen = rows.select(["node_id", "time_ns"]).filter(pc.and_(telling, received))
    time_ns, nobody = numbers(chosen["time_ns"]), np.zeros(len(chosen), np.int64)
    columns = {
        "interval": intervals.of(time_ns),
        "router": numbers(chosen["node_id"]),
        "origin": nobody,
        "of": nobody + TOLD,
        "sequence": time_ns,
        "first_ns": time_ns,
    }
    return pa.table(columns, schema=SCHEMA)


def merged(parts: Iterable[pa.Table]) -> pa.Table:
    """What several parts show together."""
    return _newest(pa.concat_tables([SCHEMA.empty_table(), *parts]))


def _newest(rows: pa.Table) -> pa.Table:
    """Of each key the greatest sequence, and its least time."""
    if not len(rows):
        return rows
    columns = {name: numbers(rows[name]) for name in SCHEMA.names}
    group, _ = groups(*(columns[name] for name in KEY))
    order = np.lexsort((columns["first_ns"], -columns["sequence"], group))
    first = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
    return pa.table({name: column[first] for name, column in columns.items()}, schema=SCHEMA)


def staged(records: pa.Table, intervals: Intervals, fixpoints_ns: Sequence[int]) -> dict[str, Numbers]:
    """The columns of records, with the number of the first fixpoint at or after them as `stage`.

    What comes after the last fixpoint is left out. The nanosecond after each must be among the edges.
    """
    begins_ns = np.concatenate([[np.iinfo(np.int64).min], intervals.edges])
    columns = {name: numbers(records[name]) for name in ("router", "origin", "of", "sequence")}
    fixpoints = np.array(fixpoints_ns, dtype=np.int64)
    columns["stage"] = np.searchsorted(fixpoints, begins_ns[numbers(records["interval"])], "left")
    chosen = (columns["stage"] < len(fixpoints)) & (columns["of"] != TOLD)
    return {name: column[chosen] for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class Learned:
    """What routers learned that they had not known before, by interval."""

    records: Numbers
    """How often a router learned a newer record of an origin, or was told what is wanted; of several in an
    interval the newest counts."""
    last_ns: Numbers
    """When a router did so for the last time; -1: none did."""

    def within(self, intervals: slice) -> tuple[int, int | None]:
        """How often in some intervals, and when for the last time."""
        last_ns = int(self.last_ns[intervals].max(initial=NEVER))
        return int(self.records[intervals].sum()), None if last_ns == NEVER else last_ns


NEVER = -1


def learned(records: pa.Table, intervals: Intervals, starts: Collection[tuple[int, int]] = ()) -> Learned:
    """What routers learned.

    Args:
        records: As `merged` has them.
        intervals: By which they are told apart.
        starts: Which router started anew when, at one of the edges: it knew nothing of what was before.
    """
    columns = {name: numbers(records[name]) for name in SCHEMA.names}
    group, _ = groups(
        *(columns[name] for name in ("router", "origin", "of")), _lives(columns, intervals, starts)
    )
    order = np.lexsort((columns["interval"], group))
    _, rank = np.unique(columns["sequence"], return_inverse=True)
    greatest = np.maximum.accumulate((group * len(rank) + rank)[order])
    news = order[np.diff(greatest, prepend=NEVER) > 0]
    counts = np.bincount(columns["interval"][news], minlength=intervals.count)
    last_ns = np.full(intervals.count, NEVER, dtype=np.int64)
    np.maximum.at(last_ns, columns["interval"][news], columns["first_ns"][news])
    return Learned(counts, last_ns)


def _lives(columns: dict[str, Numbers], intervals: Intervals, starts: Iterable[tuple[int, int]]) -> Numbers:
    """How often the router of each row had started anew by then."""
    found = np.zeros(len(columns["router"]), dtype=np.int64)
    for router, time_ns in starts:
        since = int(intervals.of(np.array([time_ns]))[0])
        found += (columns["router"] == router) & (columns["interval"] >= since)
    return found
