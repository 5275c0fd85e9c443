"""What is counted of packets while they are read: traffic by slice, its cost by interval, records of routers.

Parts are rows of table `packets` in their order; they can be counted anywhere, and their sums are added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import pyarrow as pa

from analysis.course import loads, records
from analysis.course.convergence import Costs, costs_of, no_costs
from analysis.course.loads import loads_of
from analysis.course.moments import Intervals
from analysis.course.records import records_of
from analysis.course.signalling import Signals
from analysis.findings import Slices


@dataclass(frozen=True, slots=True)
class Times:
    """By what times packets are counted."""

    slices: Slices
    intervals: Intervals


@dataclass(frozen=True, slots=True)
class PacketSums:
    """Of some packets, or of all of a run."""

    loads: pa.Table
    costs: Costs
    records: pa.Table
    signals: Signals

    @classmethod
    def of(cls, packets: pa.Table, times: Times) -> PacketSums:
        """Of some packets."""
        return cls(
            loads_of(packets, times.slices),
            costs_of(packets, times.intervals),
            records_of(packets, times.intervals),
            Signals.of(packets, times.slices),
        )

    @classmethod
    def added(cls, parts: Iterable[PacketSums], times: Times) -> PacketSums:
        """Of several parts together."""
        parts = list(parts)
        return cls(
            loads.merged(part.loads for part in parts),
            reduce(add, (part.costs for part in parts), no_costs(times.intervals)),
            records.merged(part.records for part in parts),
            Signals.added(part.signals for part in parts),
        )
