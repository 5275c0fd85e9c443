"""Crossings: every message over every link, where its copies came from, and whether they were for nothing.

A router forwards with one hop more, so what descends from a crossing to router v at hop h left v at hop
h + 1: no clock is needed. All visits of a message are looked at together, over columns, in Spark's Python
workers. Not here: which rows of other tables are visits (`transforms.to_crossings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from analysis.columns import Numbers, coded
from analysis.schemas import CROSSINGS

Flags = NDArray[np.bool_]
OUTSIDE = 0
"""In the place of a node: whence a message enters the network, and where it leaves it."""
_LATEST = np.iinfo(np.int64).max
_ARROW = to_arrow_schema(CROSSINGS)


def crossings_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The crossings of visits that are in order of their messages."""
    rest: list[pa.RecordBatch] = []
    for batch in batches:
        rows = pa.Table.from_batches([*rest, batch])
        begin = _last_message(rows)
        rest = rows.slice(begin).to_batches()
        if begin:
            yield _crossings(rows.slice(0, begin))
    if rest:
        yield _crossings(pa.Table.from_batches(rest))


def _last_message(rows: pa.Table) -> int:
    """Where the rows of the last message begin: there may be more of it in the next batch."""
    if not rows.num_rows:
        return 0
    source, sequence = (_numbers(rows[name]) for name in ("source", "sequence"))
    others = np.flatnonzero((source != source[-1]) | (sequence != sequence[-1]))
    return int(others[-1]) + 1 if len(others) else 0


def _numbers(column: pa.ChunkedArray) -> Numbers:
    numbers: Numbers = column.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


@dataclass(frozen=True, slots=True)
class _Places:
    """Numbers for (message, hop count, node)."""

    hops: int
    nodes: int

    def of(self, message: Numbers, hop: Numbers, node: Numbers) -> Numbers:
        """One for each."""
        return (message * self.hops + hop) * self.nodes + node

    def nodes_of(self, places: Numbers) -> Numbers:
        """The same without the hop count."""
        return places // (self.hops * self.nodes) * self.nodes + places % self.nodes


@dataclass(frozen=True, slots=True)
class _Visits:
    """Columns of rows; nodes by codes, messages by numbers that ascend."""

    message: Numbers
    sender: Numbers
    receiver: Numbers
    hop: Numbers
    sent: Flags
    time_ns: Numbers
    content: Numbers
    known: Flags
    """Whether there is a content."""

    def where(self, chosen: Flags | Numbers) -> _Visits:
        """Some of them."""
        return _Visits(*(getattr(self, name)[chosen] for name in self.__slots__))


def _crossings(rows: pa.Table) -> pa.RecordBatch:
    """Those of all messages of the rows, which are complete."""
    of = {name: _numbers(rows[name]) for name in rows.schema.names if name not in ("sent", "access")}
    sent, access = (rows[name].combine_chunks().to_numpy(zero_copy_only=False) for name in ("sent", "access"))
    changes = (np.diff(of["source"], prepend=of["source"][0]) != 0) | (
        np.diff(of["sequence"], prepend=of["sequence"][0]) != 0
    )
    ids, codes = np.unique(np.concatenate([of["from_id"], of["to_id"]]), return_inverse=True)
    sender, receiver = np.split(codes.astype(np.int64), 2)
    known = rows["content"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    visits = _Visits(
        np.cumsum(changes), sender, receiver, of["hop_count"], sent, of["time_ns"], of["content"], known
    )
    enters, leaves = of["from_id"] == OUTSIDE, of["to_id"] == OUTSIDE
    crosses = np.flatnonzero(~enters & ~leaves)
    places = _Places(int(of["hop_count"].max()) + 3, len(ids))
    met, first = _met(visits.where(crosses))
    first = crosses[first]
    columns: dict[str, Any] = {
        **{name: of[name][first] for name in ("source", "sequence", "from_id", "to_id", "hop_count")},
        "access": access[first],
        "time_ns": _unless(met.copies == 0, met.time_ns),
        "copies": met.copies,
        "received_ns": _unless(met.arrived == 0, met.received_ns),
        "arrived": met.arrived,
        "wasted": _wasted(met, visits.where(leaves), places),
        "flaw": _flaws(met, visits.where(enters), places),
        "altered": _altered(met, visits.where(enters)),
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in _ARROW]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _unless(missing: Flags, values: Numbers) -> pa.Array:
    return pa.array(values, mask=missing)


@dataclass(frozen=True, slots=True)
class _Met:
    """Crossings: what was captured at both ends of a link, of one message and hop count."""

    message: Numbers
    sender: Numbers
    receiver: Numbers
    hop: Numbers
    time_ns: Numbers
    copies: Numbers
    received_ns: Numbers
    arrived: Numbers
    content: Numbers
    same: Flags
    """Whether all captures have the same content."""

    def before(self, places: _Places) -> Numbers:
        """The places that they left."""
        return places.of(self.message, self.hop, self.sender)

    def after(self, places: _Places) -> Numbers:
        """The places from which goes on what they brought."""
        return places.of(self.message, self.hop + 1, self.receiver)


def _met(moves: _Visits) -> tuple[_Met, Numbers]:
    """Both ends brought together; and a row of each."""
    link = coded((moves.sender << 32) + moves.receiver)
    hops = int(moves.hop.max(initial=0)) + 1
    key = (moves.message * hops + moves.hop) * (int(link.max(initial=0)) + 1) + link
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    first = order[begins]
    rows = moves.where(order)

    def least(values: Numbers) -> Numbers:
        found: Numbers = np.minimum.reduceat(values, begins) if len(begins) else values
        return found

    def total(values: Flags) -> Numbers:
        numbers = values.astype(np.int64)
        found: Numbers = np.add.reduceat(numbers, begins) if len(begins) else numbers
        return found

    lowest = least(np.where(rows.known, rows.content, _LATEST))
    highest = -least(np.where(rows.known, -rows.content, _LATEST))
    return _Met(
        moves.message[first],
        moves.sender[first],
        moves.receiver[first],
        moves.hop[first],
        least(np.where(rows.sent, rows.time_ns, _LATEST)),
        total(rows.sent),
        least(np.where(rows.sent, _LATEST, rows.time_ns)),
        total(~rows.sent),
        lowest,
        lowest == highest,
    ), first


def _wasted(met: _Met, exits: _Visits, places: _Places) -> Flags:
    """From which no delivery descends: a first copy that left the network, as `exits` have it."""
    before, after = met.before(places), met.after(places)
    leaving = places.of(exits.message, exits.hop, exits.sender)
    found = [leaving]
    level, level_hop = leaving[:0], -1
    for hop in np.unique(met.hop)[::-1].tolist():
        onward = np.concatenate([leaving[exits.hop == hop + 1], level if level_hop == hop + 1 else level[:0]])
        here = np.flatnonzero((met.hop == hop) & (met.copies > 0))
        level, level_hop = before[here[np.isin(after[here], onward)]], hop
        found.append(level)
    return ~np.isin(after, np.concatenate(found))


def _flaws(met: _Met, entries: _Visits, places: _Places) -> pa.Array:
    """What is odd about how a message came to where a crossing begins; null: nothing."""
    came = met.arrived > 0
    entered = places.of(entries.message, entries.hop + 1, entries.receiver)
    reached = np.concatenate([met.after(places)[came], entered])
    before = met.before(places)
    in_order = np.isin(before, reached)
    ever = np.isin(places.nodes_of(before), places.nodes_of(reached))
    otherwise = np.where(ever, "hops", "pathless")
    return pa.array(np.where(met.copies == 0, "unsent", otherwise), mask=in_order & (met.copies > 0))


def _altered(met: _Met, entries: _Visits) -> Flags:
    """The first crossing of a message, by time, with another content than that of the publication."""
    count = int(max(met.message.max(initial=-1), entries.message.max(initial=-1))) + 1
    has, entered = np.zeros(count, bool), np.zeros(count, np.int64)
    published = entries.where(entries.known)
    has[published.message], entered[published.message] = True, published.content
    differs = has[met.message] & (met.content != entered[met.message])
    odd = np.flatnonzero(np.where(met.same, differs, True))
    when = np.minimum(met.time_ns, met.received_ns)
    when = np.where(met.copies > 0, met.time_ns, when)
    keys = (met.hop, met.receiver, met.sender, when, met.message)
    order = odd[np.lexsort(tuple(key[odd] for key in keys))]
    altered = np.zeros(len(met.message), bool)
    altered[order[np.flatnonzero(np.diff(met.message[order], prepend=-1))]] = True
    return altered
