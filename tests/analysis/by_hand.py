"""Packets and events written by hand, and what becomes of their messages.

    p(11) --- r1 --- r2 --- r3 --- c(13)
               |      |
             a(12)   r4

All messages are published by p at router 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.catalog.model import Table
from analysis.decode import SCHEMA
from analysis.findings import NO_SLICES, Scope, Slices
from analysis.history import FOREVER, History, SettledPeriod
from analysis.messages import tables
from analysis.messages.bucket import Judged, judged
from analysis.messages.context import Context
from analysis.messages.counting import Excused, Timeline
from analysis.messages.matches import told_of
from analysis.messages.rows import ANNOUNCED, REPORTED, Rows, control_of, entered_of, moved_of
from analysis.oracle import Claim, Clock
from topologies.ideal import Edge

P, A, C = 11, 12, 13
CLIENTS = {P, A, C}
HOMES = {P: 1, A: 1, C: 3}
CLOCK = Clock(start_ns=0, settle_ns=0)
TREE: Sequence[Edge] = [(1, 2, 1.0), (2, 3, 1.0), (2, 4, 1.0)]
CALM = History([SettledPeriod(-1, FOREVER, dict.fromkeys((1, 2, 3, 4, P, A, C), 0))], 0)
Row = dict[str, Any]


def message(node: int, peer: int, time_ns: int, hop_count: int | None, sequence: int = 1, **more: Any) -> Row:
    """A message of p on a router's interface, as captured there: leaving, unless `more` says otherwise."""
    sent = more.pop("sent", True)
    row = {
        "interface": f"r{node}-{peer}",
        "node_id": node,
        "peer_id": peer,
        "peer_is_client": peer in CLIENTS,
        "sent": sent,
        "time_ns": time_ns,
        "packet_bytes": 100,
        "frame_bytes": 142,
        "type": 1,
        "source": P,
        "sequence": sequence,
        "publish_time_ns": time_ns - 5,
        "hop_count": hop_count,
        "content": 7,
        "attribute_count": 0,
        "attributes": b"" if peer in CLIENTS and not sent else None,
    }
    return row | more


def published(time_ns: int = 1000, sequence: int = 1, **more: Any) -> Row:
    """A message of p, as its router receives it."""
    return message(1, P, time_ns, 0, sequence, sent=False, **more)


def crossing(a: int, b: int, time_ns: int, hop_count: int, sequence: int = 1, took_ns: int = 50) -> list[Row]:
    """A message over a link between routers, at both ends."""
    arrived = message(b, a, time_ns + took_ns, hop_count, sequence, sent=False)
    return [message(a, b, time_ns, hop_count, sequence), arrived]


def announced(time_ns: int, sequence: int = 1, text: str = "x = 1") -> Row:
    """What p says that it published."""
    return {"source": P, "sequence": sequence, "time_ns": time_ns, "message": text}


def reported(client: int, time_ns: int, sequence: int = 1) -> Row:
    """What a client says that it got."""
    return {"source": P, "sequence": sequence, "time_ns": time_ns, "client": client}


def packets(rows: Sequence[Row]) -> pa.Table:
    """Table `packets` of some rows."""
    return pa.Table.from_pylist(list(rows), SCHEMA)


def claim(client: int, predicate: str = "all", from_ns: int = -1, until_ns: int | None = None) -> Claim:
    """A subscription that is in force from the beginning."""
    return CLOCK.claim(client, predicate, from_ns, until_ns)


def context_of(
    claims: Sequence[Claim] = (),
    *,
    excused: Excused | None = None,
    scopes: Sequence[Scope] = (),
    slices: Slices = NO_SLICES,
    history: History | None = None,
) -> Context:
    """Of a run over the network above, in which every link takes 100 ns."""
    return Context(
        claims,
        history or CALM,
        excused or Excused(frozenset(), frozenset()),
        Timeline.of([*scopes, *slices.scopes()]),
        slices,
        HOMES,
        TREE,
        [(a, b, 100.0) for a, b, _ in TREE],
        window_ns=1_000_000,
    )


def rows_of(captured: Sequence[Row], announcements: Sequence[Row] = (), reports: Sequence[Row] = ()) -> Rows:
    """All rows about the messages."""
    table = packets(captured)
    return Rows(
        entered_of(table),
        moved_of(table),
        pa.Table.from_pylist(list(announcements), ANNOUNCED),
        pa.Table.from_pylist(list(reports), REPORTED),
        control_of(table),
        told_of(table),
    )


def judge(
    captured: Sequence[Row],
    announcements: Sequence[Row] = (),
    reports: Sequence[Row] = (),
    context: Context | None = None,
) -> Judged:
    """What became of the messages."""
    return judged(context or context_of(), rows_of(captured, announcements, reports))


def table_of(found: Judged, table: Table) -> list[Row]:
    """The rows of a table, in their order."""
    columns = tables.parts_of_tables(found)[table]
    rows = tables.in_schema(table, columns).to_pylist()
    names = ("source", "sequence", "subscriber", "hop_count", "from_id", "to_id")
    known = [name for name in names if name in table.schema.names]
    return sorted(rows, key=lambda row: [row[name] for name in known])


def numbers(*values: int) -> np.ndarray[Any, Any]:
    """A column."""
    return np.array(values, np.int64)
