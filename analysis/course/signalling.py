"""What routers told each other of descriptors and of marks of links: sums over packets that can be added.

Under `bp`, `bs` and `amsp` alone (decision 31); elsewhere all of it is empty. Not here: which mark a link had
when (`markings`), and where matches were made (`analysis.messages.matches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from analysis.catalog.matchmaker import SIGNALLING
from analysis.columns import Grouped, Numbers, groups
from analysis.course.fronts import MCD, PCD, SCD, Told
from analysis.course.moments import slice_of, slice_start_ns
from analysis.course.rates import Way
from analysis.findings import Slices
from analysis.traffic import kind_name
from nodes.wire.matchmaker_payloads import AGAIN, KEPT, WITHDRAWN
from nodes.wire.packets import PacketType

NAMES = {PCD: "PCD", SCD: "SCD", MCD: "MCD"}
"""What an update is of."""
SAYS = {0: "new", AGAIN: "again", WITHDRAWN: "withdrawn", WITHDRAWN | KEPT: "kept"}
"""What an update says, by its flags."""
COUNTED = ("messages", "descriptors", "packets", "bytes")
CHANGES = (
    "time_ns", "router", "peer", "sent", "incarnation", "peer_incarnation",
    "packet", "kind", "begins", "ends", "change", "marking",
)  # fmt: skip
"""Columns of `Signals.changes`; the incarnations are those of the router, and of its peer."""
SESSION = 0
"""In the place of a kind: the first packet of a session in one direction."""
NO_LOADS = Grouped(np.zeros((0, 5), np.int64), np.zeros((0, len(COUNTED)), np.int64))
NO_CHANGES: Numbers = np.zeros((0, len(CHANGES)), np.int64)


@dataclass(frozen=True, slots=True)
class Signals:
    """What was counted of some packets, or of all of a run."""

    loads: Grouped
    """By sender, receiver, slice, what, and what is said of it: `COUNTED`."""
    changes: Numbers
    """A row a packet that begins or ends a change of a mark or a reply, and one that begins a session."""

    @classmethod
    def of(cls, packets: pa.Table, slices: Slices) -> Self:
        """Of rows of table `packets`."""
        told = Told.of(packets)
        return cls(_loads(told, slices), _changes(told)) if len(told.fronts) else cls(NO_LOADS, NO_CHANGES)

    @classmethod
    def added(cls, parts: Iterable[Signals]) -> Self:
        """Of several parts together."""
        parts = list(parts)
        changes = np.concatenate([NO_CHANGES, *(part.changes for part in parts)])
        return cls(Grouped.added([NO_LOADS, *(part.loads for part in parts)]), _earliest(changes))


def _loads(told: Told, slices: Slices) -> Grouped:
    slots = slice_of(told.column("time_ns"), slices)
    keys = [told.column("node_id"), told.column("peer_id"), slots, told.what, told.said]
    sizes = told.column("packet_bytes")
    counts = [told.begins.astype(np.int64), told.descriptors, np.ones_like(sizes), sizes]
    sent = told.sent
    return Grouped.of([each[sent] for each in keys], [each[sent] for each in counts])


def _changes(told: Told) -> Numbers:
    """The packets of changes, and of each session the first of any."""
    sent, begins, ends, whole = told.sent, told.begins, told.ends, told.says_mark
    incarnations = told.field("incarnation"), told.field("peer_incarnation")
    session = [
        told.column("time_ns"), told.column("node_id"), told.column("peer_id"), sent,
        np.where(sent, *incarnations), np.where(sent, *reversed(incarnations)),
    ]  # fmt: skip
    marks = [np.where(whole, told.field(name), 0) for name in ("change", "marking")]
    change = [told.field("packet"), told.field("kind"), begins, ends, *marks]
    rows = np.stack([np.asarray(column, np.int64) for column in (*session, *change)], axis=1)
    sessions = rows.copy()
    sessions[:, len(session) :] = SESSION
    return _earliest(np.concatenate([rows[told.of_change & (begins | ends)], sessions]))


def _earliest(rows: Numbers) -> Numbers:
    """Of rows that differ in nothing but their time the earliest; in order of time."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    _, first = groups(*rows[:, 1:].T)
    return rows[np.sort(first)]


def signalling_table(signals: Signals, names: Mapping[Way, str], slices: Slices) -> pa.Table:
    """Table `signalling`.

    Args:
        signals: Of the whole run.
        names: Of the link of each direction.
        slices: By which they were counted.
    """
    rows = [
        {
            "link": names[sender, receiver],
            "from_id": sender,
            "to_id": receiver,
            "what": NAMES.get(what) or kind_name(int(PacketType.CONTROL), what),
            "said": SAYS.get(said),
            "slice": slot,
            "from_ns": slice_start_ns(slot, slices),
            **dict(zip(COUNTED, counts, strict=True)),
        }
        for (sender, receiver, slot, what, said), counts in sorted(signals.loads.rows())
    ]
    return pa.Table.from_pylist(rows, SIGNALLING.schema)
