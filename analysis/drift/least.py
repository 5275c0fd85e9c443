"""The least delay from one node to another in each of many short times: what is known of two clocks.

Each task finds it for the packets that it has read; least delays of parts give those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

WINDOWS = 64
"""Into how many times a run is divided: a line needs a few at each end, and their number costs little."""
LEAST_WINDOW_NS = 1_000_000


class LeastDelays(NamedTuple):
    """Columns: for each direction of a link and each window, the packet with the least delay in it."""

    from_id: Longs
    to_id: Longs
    window: Longs
    """Counted since 1970, by the time of sending."""
    least_ns: Longs
    """From sending, by the clock of one node, to arrival, by the clock of the other: it may be negative."""
    sent_ns: Longs
    """When that packet was sent, by the sender's clock."""


def window_ns(duration_ns: int) -> int:
    """The length of the windows for a run that took so long."""
    return max(duration_ns // WINDOWS, LEAST_WINDOW_NS)


def least_by_window(
    from_id: Longs, to_id: Longs, sent_ns: Longs, arrived_ns: Longs, length_ns: int
) -> LeastDelays:
    """Of packets that were captured at both ends of a link.

    Args:
        from_id: Node that sent each.
        to_id: Node at which it arrived.
        sent_ns: When, by the clock of the one.
        arrived_ns: When, by the clock of the other.
        length_ns: Of a window.
    """
    columns = (from_id, to_id, sent_ns // length_ns, arrived_ns - sent_ns, sent_ns)
    return _least(LeastDelays(*(np.asarray(column, np.int64) for column in columns)))


def merged(parts: Iterable[LeastDelays]) -> LeastDelays:
    """Of everything, from those of its parts, which have the same windows."""
    found = list(parts)
    if not found:
        return LeastDelays(*(np.empty(0, np.int64) for _ in LeastDelays._fields))
    return _least(LeastDelays(*(np.concatenate(columns) for columns in zip(*found, strict=True))))


def _least(rows: LeastDelays) -> LeastDelays:
    order = np.lexsort([rows.sent_ns, rows.least_ns, rows.window, rows.to_id, rows.from_id])
    rows = LeastDelays(*(column[order] for column in rows))
    first = np.ones(len(order), bool)
    keys = (rows.from_id, rows.to_id, rows.window)
    first[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return LeastDelays(*(column[first] for column in rows))
