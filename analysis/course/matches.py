"""Table `matches`: at which routers descriptors met, when (MM 2)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from analysis.catalog.matchmaker import MATCHES
from analysis.course.moments import slice_start_ns
from analysis.findings import Slices
from analysis.rundir import Run


def matches_table(run: Run, matches: Mapping[tuple[int, int], int], slices: Slices) -> pa.Table:
    """The table, by router and slice.

    Args:
        run: The run.
        matches: How many were made, by router and slice.
        slices: By which they were counted.
    """
    rows = [
        {
            "node_id": router,
            "name": run.names[router],
            "slice": slot,
            "from_ns": slice_start_ns(slot, slices),
            "matches": count,
        }
        for (router, slot), count in sorted(matches.items())
    ]
    return pa.Table.from_pylist(rows, MATCHES.schema)
