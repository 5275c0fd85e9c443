"""What interfaces sent and received, by slice of time, type and kind of packet: sums that can be added.

The traffic of a run, what its links carried over time, and its control traffic are all made of these sums.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.course.moments import slice_of
from analysis.findings import Slices
from analysis.messages.rows import numbers

KEY = ("interface", "sent", "slice", "type", "kind")
SUMS = ("packets", "bytes", "frames", "frame_bytes")
"""`bytes` are those of packets; a frame, with its headers, is counted with the first packet in it."""
LOADS = pa.schema(
    [
        ("interface", pa.string()),
        ("sent", pa.bool_()),
        ("slice", pa.int32()),
        ("type", pa.int32()),
        ("kind", pa.int32()),
        *((name, pa.int64()) for name in SUMS),
    ]
)
_HEADERS = 42
"""Of Ethernet, IPv4 and UDP; a datagram in fragments has more."""


def loads_of(rows: pa.Table, slices: Slices) -> pa.Table:
    """The sums over packets, which are in the order of their captures."""
    begins = frame_begins(rows)
    counted = {
        "packets": np.ones(len(rows), dtype=np.int64),
        "bytes": numbers(rows["packet_bytes"]),
        "frames": begins.astype(np.int64),
        "frame_bytes": np.where(begins, numbers(rows["frame_bytes"]), 0),
    }
    key = {
        "interface": rows["interface"],
        "sent": pc.fill_null(rows["sent"], False),
        "slice": pa.array(slice_of(numbers(rows["time_ns"]), slices), pa.int32()),
        "type": rows["type"],
        "kind": rows["kind"],
    }
    return _summed(pa.table({**key, **counted}))


def merged(parts: Iterable[pa.Table]) -> pa.Table:
    """The sums of several parts."""
    return _summed(pa.concat_tables([LOADS.empty_table(), *parts]))


def _summed(rows: pa.Table) -> pa.Table:
    sums = rows.group_by(list(KEY), use_threads=False).aggregate([(name, "sum") for name in SUMS])
    return sums.rename_columns([*KEY, *SUMS]).cast(LOADS)


def frame_begins(rows: pa.Table) -> NDArray[np.bool_]:
    """Which packets are the first of their frames.

    Packets of one frame follow each other and have its time, direction and length. So do those of several
    frames of one length at one moment; such frames have equally many bytes of packets each.
    """
    begins = _differs(rows)
    first = np.flatnonzero(begins)
    if len(first) == len(rows):
        return begins
    group = np.cumsum(begins) - 1
    size = numbers(rows["packet_bytes"])
    total = np.maximum(np.add.reduceat(size, first), 1)
    payload = np.maximum(numbers(rows["frame_bytes"])[first] - _HEADERS, 1)
    frames = -(-total // payload)
    before = np.cumsum(size) - size
    frame = (before - before[first][group]) * frames[group] // total[group]
    begins[1:] |= frame[1:] != frame[:-1]
    return begins


def _differs(rows: pa.Table) -> NDArray[np.bool_]:
    """Which packets cannot be in the frame of the packet before."""
    interface = rows["interface"].combine_chunks()
    if not pa.types.is_dictionary(interface.type):
        interface = interface.dictionary_encode()
    sent = numbers(rows["sent"].cast(pa.int8()))
    found = np.zeros(len(rows), dtype=bool)
    found[:1] = True
    columns = (interface.indices.to_numpy(), sent, numbers(rows["time_ns"]), numbers(rows["frame_bytes"]))
    for values in columns:
        found[1:] |= values[1:] != values[:-1]
    return found
