"""All sums that the tables about what happened when are made of, over parts of the tables of a run.

A part is any rows of table `packets` in their order, and whole messages of the others. Parts can be counted
anywhere, in any order; `add` brings them together.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.course import convergence, loads, records
from analysis.course.convergence import Costs, costs_of, no_costs
from analysis.course.loads import loads_of
from analysis.course.moments import Intervals
from analysis.course.outcomes import Outcomes, none_of, outcomes_of, published_of
from analysis.course.records import records_of
from analysis.course.ways import Ways, ways_of
from analysis.findings import Slices

OF_PACKETS = tuple(dict.fromkeys((*loads.NEEDED, *records.NEEDED, *convergence.NEEDED)))
"""The columns of table `packets` that are counted."""


@dataclass(frozen=True, slots=True)
class Times:
    """By what times a run is counted."""

    slices: Slices
    intervals: Intervals
    settle_ns: int
    """What takes longer is late."""


@dataclass(slots=True)
class PacketSums:
    """Over packets."""

    loads: pa.Table
    costs: Costs
    records: pa.Table

    @classmethod
    def none(cls, times: Times) -> PacketSums:
        """Over no packets."""
        return cls(loads.merged([]), no_costs(times.intervals), records.merged([]))

    @classmethod
    def of(cls, packets: pa.RecordBatch, times: Times) -> PacketSums:
        """Over some packets."""
        return cls(
            loads_of(packets, times.slices),
            costs_of(packets, times.intervals),
            records_of(packets, times.intervals),
        )

    def add(self, other: PacketSums) -> None:
        """Take in those of another part."""
        self.loads = loads.merged([self.loads, other.loads])
        self.costs = self.costs + other.costs
        self.records = records.merged([self.records, other.records])


@dataclass(slots=True)
class MessageSums:
    """Over messages, where they went and who got them."""

    ways: Ways
    outcomes: Outcomes

    @classmethod
    def none(cls, times: Times) -> MessageSums:
        """Over no messages."""
        return cls(Ways(), none_of(times.intervals))

    def add(self, other: MessageSums) -> None:
        """Take in those of another part."""
        self.ways.add(other.ways)
        self.outcomes = {name: numbers + other.outcomes[name] for name, numbers in self.outcomes.items()}

    def add_crossings(self, crossings: pa.RecordBatch, publications: pa.RecordBatch, times: Times) -> None:
        """Count the crossings of some messages; publications may be more than of these."""
        self.ways.add(ways_of(crossings, publications, times.slices))

    def add_verdicts(self, verdicts: pa.RecordBatch, times: Times) -> None:
        """Count pairs."""
        counted = outcomes_of(verdicts, times.intervals, times.settle_ns)
        self.outcomes = {name: numbers + counted[name] for name, numbers in self.outcomes.items()}

    def add_publications(self, publications: pa.RecordBatch, times: Times) -> None:
        """Count messages."""
        counted = published_of(publications, times.intervals)
        self.outcomes = {name: numbers + counted[name] for name, numbers in self.outcomes.items()}
