"""What is counted of packets while they are read: traffic, and the last records of routers.

Sums of parts of a run, which add up. Not here: what routers forward (`rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.calm import LAST_CLASS, RECORDS
from analysis.columns import Numbers, groups
from analysis.findings import Traffic
from analysis.messages.rows import numbers
from nodes.wire.packets import PacketType

_OF_KIND = np.array([{int(kind): of for kind, of in RECORDS.items()}.get(kind, -1) for kind in range(256)])
Load = dict[tuple[str, bool, int, int | None], tuple[int, int]]
"""Packets and bytes, by interface, direction, type and kind."""


def load_of(packets: pa.Table) -> Load:
    """Packets and bytes, once per crossing of a link.

    What a router sends is counted there; only clients' interfaces are not captured, so what they
    send is counted where it arrives.
    """
    sent = pc.fill_null(packets["sent"], False)
    table = packets.select(["interface", "type", "kind", "packet_bytes"]).append_column("sent", sent)
    table = table.filter(pc.or_(sent, packets["peer_is_client"]))
    keys = ["interface", "sent", "type", "kind"]
    sums = table.group_by(keys).aggregate([("packet_bytes", "sum"), ([], "count_all")])
    return {
        (row["interface"], row["sent"], row["type"], row["kind"]): (row["count_all"], row["packet_bytes_sum"])
        for row in sums.to_pylist()
    }


def added_loads(parts: Iterable[Load]) -> Load:
    """Those of several parts together."""
    sums: Load = {}
    for key, (packets, size) in (item for part in parts for item in part.items()):
        before = sums.get(key, (0, 0))
        sums[key] = (before[0] + packets, before[1] + size)
    return sums


def traffic_of(load: Load) -> list[Traffic]:
    """In order of interface, direction and type."""
    rows = (Traffic(*key, *both) for key, both in load.items())
    return sorted(rows, key=lambda t: (t.interface, t.sent, t.type, t.kind or 0))


@dataclass(frozen=True, slots=True)
class Records:
    """Records that routers sent or received, of each origin the last between two fixpoints."""

    columns: NDArray[np.int64]
    """Router, origin, kind of record (`calm.RECORDS`), stage and sequence: a row each.

    `stage` is the number of the first fixpoint at or after it; what comes after the last is left out.
    """

    def named(self) -> dict[str, Numbers]:
        """The columns by name."""
        return dict(zip(("router", "origin", "of", "stage", "sequence"), self.columns.T, strict=True))


def records_of(packets: pa.Table, fixpoints_ns: Sequence[int]) -> Records:
    """Of rows of table `packets`."""
    control = pc.equal(packets["type"], int(PacketType.CONTROL))
    chosen = pc.and_(control, pc.less(packets["sequence"], LAST_CLASS))
    rows = packets.select(["node_id", "source", "kind", "time_ns", "sequence"]).filter(chosen)
    rows = rows.filter(pc.is_valid(rows["source"]))
    stage = np.searchsorted(np.array(fixpoints_ns, np.int64), numbers(rows["time_ns"]), "left")
    columns = (
        numbers(rows["node_id"]),
        numbers(rows["source"]),
        _OF_KIND[numbers(rows["kind"])],
        stage,
        numbers(rows["sequence"]),
    )
    return _last(np.stack(columns, axis=1)[stage < len(fixpoints_ns)])


def added_records(parts: Iterable[Records]) -> Records:
    """The last of several parts."""
    return _last(np.concatenate([np.empty((0, 5), np.int64), *(part.columns for part in parts)]))


def _last(columns: NDArray[np.int64]) -> Records:
    *keys, sequence = columns.T
    group, first = groups(*keys)
    most = np.full(len(first), np.iinfo(np.int64).min)
    np.maximum.at(most, group, sequence)
    return Records(np.concatenate([columns[first, :4], most[:, None]], axis=1))
