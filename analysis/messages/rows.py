"""Rows about messages, taken from captures and events: what the judging of a run begins with.

Each kind of row has a schema. Rows of one message come together in one place, all kinds of them. Not here:
what they mean (`numbers`, `pairs`, `crossings`), or how they come together (`scatter`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.columns import Numbers
from analysis.drift.correction import HostClock, corrected
from nodes.wire.packets import PacketType

_ID = [("source", pa.int64()), ("sequence", pa.int64())]
ENTERED = pa.schema(
    [
        *_ID,
        ("node_id", pa.int32()),
        ("time_ns", pa.int64()),
        ("publish_time_ns", pa.int64()),
        ("attribute_count", pa.int32()),
        ("attributes", pa.binary()),
        ("content", pa.int64()),
        ("hop_count", pa.int32()),
    ]
)
"""Messages that a router received from the very client that published them."""
MOVED = pa.schema(
    [
        *_ID,
        ("node_id", pa.int32()),
        ("peer_id", pa.int32()),
        ("access", pa.bool_()),
        ("sent", pa.bool_()),
        ("hop_count", pa.int32()),
        ("time_ns", pa.int64()),
        ("content", pa.int64()),
    ]
)
"""Messages that a router sent, or received from another router; `access`: the other node is a client."""
ANNOUNCED = pa.schema([*_ID, ("time_ns", pa.int64()), ("message", pa.string())])
"""Messages that their clients say they published."""
REPORTED = pa.schema([*_ID, ("client", pa.int64()), ("time_ns", pa.int64())])
"""Messages that clients say they got."""
CONTROL = pa.schema(
    [
        ("content", pa.int64()),
        ("from_id", pa.int32()),
        ("to_id", pa.int32()),
        ("sent", pa.bool_()),
        ("time_ns", pa.int64()),
    ]
)
"""CONTROL packets between routers, at the end that sent them and at the other."""
TOLD = pa.schema(
    [
        *((name, pa.int64()) for name in ("publisher", "pcd", "subscriber", "scd")),
        ("node_id", pa.int64()),
        ("peer_id", pa.int64()),
        ("sent", pa.int64()),
        ("time_ns", pa.int64()),
    ]
)
"""Matches that a router told another of, or was told of (`matches`)."""
PACKET_COLUMNS = (
    "interface", "node_id", "peer_id", "peer_is_client", "sent", "time_ns", "frame_bytes", "packet_bytes",
    "type", "source", "sequence", "publish_time_ns", "hop_count", "attribute_count", "attributes", "kind",
    "content", "front",
)  # fmt: skip
"""Of table `packets`, what is read."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows about some messages."""

    entered: pa.Table
    moved: pa.Table
    announced: pa.Table
    reported: pa.Table
    control: pa.Table
    told: pa.Table


SCHEMAS = {
    "entered": ENTERED,
    "moved": MOVED,
    "announced": ANNOUNCED,
    "reported": REPORTED,
    "control": CONTROL,
    "told": TOLD,
}
"""Of the fields of `Rows`."""


OF_PACKETS = (("time_ns", "node_id"), ("publish_time_ns", "source"))
"""Columns of times of table `packets`, each with the column of the nodes by whose clocks it is."""
OF_ANNOUNCED = (("time_ns", "source"),)
OF_REPORTED = (("time_ns", "client"),)


def with_corrected_columns(
    rows: pa.Table, columns: Iterable[tuple[str, str]], clocks: Mapping[int, HostClock]
) -> pa.Table:
    """With times of the reference.

    Args:
        rows: With times as captured.
        columns: Of each column of times, the column of nodes by whose clocks it is.
        clocks: By node.
    """
    if not clocks:
        return rows
    for time, node in columns:
        times = corrected(numbers(rows[node]), numbers(rows[time]), clocks)
        found = pa.array(times, mask=rows[time].is_null().to_numpy())
        rows = rows.set_column(rows.schema.get_field_index(time), rows.schema.field(time), found)
    return rows


def entered_of(packets: pa.Table) -> pa.Table:
    """Of rows of table `packets`."""
    received = pc.and_(packets["peer_is_client"], pc.invert(packets["sent"]))
    own = pc.equal(packets["source"], packets["peer_id"].cast(pa.int64()))
    return _chosen(packets, pc.and_(_of_type(packets, PacketType.MESSAGE), pc.and_(received, own)), ENTERED)


def moved_of(packets: pa.Table) -> pa.Table:
    """Of rows of table `packets`."""
    between = pc.or_(packets["sent"], pc.invert(packets["peer_is_client"]))
    chosen = pc.and_(_of_type(packets, PacketType.MESSAGE), between)
    packets = packets.append_column("access", packets["peer_is_client"])
    return _chosen(packets, chosen, MOVED)


def control_of(packets: pa.Table) -> pa.Table:
    """Of rows of table `packets`."""
    between = pc.invert(packets["peer_is_client"])
    columns = ["content", "node_id", "peer_id", "sent", "time_ns"]
    rows = packets.select(columns).filter(pc.and_(_of_type(packets, PacketType.CONTROL), between))
    sent, node, peer = rows["sent"], rows["node_id"], rows["peer_id"]
    ends = (pc.if_else(sent, node, peer), pc.if_else(sent, peer, node))
    return pa.table([rows["content"], *ends, sent, rows["time_ns"]], schema=CONTROL)


def _of_type(packets: pa.Table, kind: PacketType) -> pa.ChunkedArray:
    return pc.equal(packets["type"], int(kind))


def _chosen(packets: pa.Table, chosen: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    return packets.select(schema.names).filter(chosen).cast(schema)


def numbers(column: pa.Array | pa.ChunkedArray, missing: int = 0) -> Numbers:
    """A column as numbers, with another in the place of null."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        whole = whole.fill_null(missing)
    found: Numbers = whole.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return found


def flags(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A column of conditions."""
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = column.combine_chunks().to_numpy(zero_copy_only=False)
    return found
