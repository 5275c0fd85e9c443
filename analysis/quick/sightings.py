"""What captures and events show of a run, as columns in memory.

Captures are decoded as in the analysis (`decode`, `pieces`). Kept are messages on access links, what routers
announce, and how much passed. Not here: what it means (`messages`, `judge`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.columns import Numbers
from analysis.course import loads, records
from analysis.course.links import traffic_of
from analysis.course.loads import loads_of
from analysis.course.moments import Intervals
from analysis.course.records import records_of, staged
from analysis.decode import BinReport, Piece, decode_piece, empty_report, unreadable
from analysis.decoded import decoded_of
from analysis.drift.correction import HostClock
from analysis.findings import NO_SLICES, Ingested, Traffic
from analysis.messages.events import events_of
from analysis.messages.rows import (
    CONTROL,
    ENTERED,
    MOVED,
    OF_ANNOUNCED,
    OF_PACKETS,
    OF_REPORTED,
    PACKET_COLUMNS,
    TOLD,
    Rows,
    entered_of,
    moved_of,
    with_corrected_columns,
)
from analysis.pieces import pieces_of
from analysis.rundir import Run
from fastpath.pcap import PcapError

WHOLE = 1 << 62
"""No capture is so large that it would be split."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """All that is used of captures and events."""

    ingested: Ingested
    rows: Rows
    """About messages, on access links alone."""
    traffic: Sequence[Traffic]
    records: Mapping[str, Numbers]
    """The last records of routers by stage (`analysis.course.records.staged`)."""


def sightings_of(run: Run, fixpoints_ns: Sequence[int], clocks: Mapping[int, HostClock]) -> Sightings:
    """Read a run's captures and events.

    Args:
        run: The run.
        fixpoints_ns: When the network said that it had converged.
        clocks: By node: those that times are corrected by. What is kept of routers' announcements
            (`Ingested.control`) has times as captured.
    """
    pieces, work = pieces_of(run, WHOLE, ())
    report = empty_report()
    collected = _Collected(Intervals.between(after + 1 for after in fixpoints_ns), clocks)
    work.reports.append(report)
    for piece in pieces:
        _collect(piece, report, collected)
    decoded = decoded_of(run)
    work.problems += decoded.problems
    work.unread += decoded.unread
    for part in decoded.parts:
        work.reports.append(part.report)
        collected.add(pq.read_table(part.path, columns=list(PACKET_COLUMNS)))
    events = events_of(run.path / "events.jsonl", run.client_ids)
    return Sightings(
        work.summary(),
        Rows(
            pa.concat_tables([ENTERED.empty_table(), *collected.entered]),
            pa.concat_tables([MOVED.empty_table(), *collected.moved]),
            with_corrected_columns(events.announced, OF_ANNOUNCED, clocks),
            with_corrected_columns(events.reported, OF_REPORTED, clocks),
            CONTROL.empty_table(),
            TOLD.empty_table(),
        ),
        traffic_of(run, loads.merged(collected.loads)),
        staged(records.merged(collected.records), collected.intervals, fixpoints_ns),
    )


@dataclass(slots=True)
class _Collected:
    """From all captures so far."""

    intervals: Intervals
    clocks: Mapping[int, HostClock]
    entered: list[pa.Table] = field(default_factory=list)
    moved: list[pa.Table] = field(default_factory=list)
    loads: list[pa.Table] = field(default_factory=list)
    records: list[pa.Table] = field(default_factory=list)

    def add(self, packets: pa.Table) -> None:
        """Rows of table `packets`, of whole captures."""
        packets = with_corrected_columns(packets, OF_PACKETS, self.clocks)
        self.loads.append(loads_of(packets, NO_SLICES))
        self.records.append(records_of(packets, self.intervals))
        of_clients = packets.filter(pc.equal(packets["peer_is_client"], True))
        self.entered.append(entered_of(of_clients))
        self.moved.append(moved_of(of_clients))


def _collect(piece: Piece, report: BinReport, into: _Collected) -> None:
    try:
        packets = pa.Table.from_batches([decode_piece(piece, report)]).select(list(PACKET_COLUMNS))
    except (PcapError, OSError) as error:
        report["problems"].append(unreadable(Path(piece.path), error))
        report["unreadable"].append(piece.interface)
        return
    into.add(packets)
