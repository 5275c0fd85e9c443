"""The first wave of tasks: rows about messages go to buckets, and what needs no bucket is counted on the way.

A task reads a file of decoded packets, or a piece of the events. All rows about one message go to one bucket,
all repetitions of one CONTROL packet, too. So a bucket can be judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.columns import Numbers
from analysis.course.sums import PacketSums, Times
from analysis.drift.correction import HostClock
from analysis.messages.events import events_of
from analysis.messages.exchange import Writer, buckets_of, file_name, rows_of
from analysis.messages.matches import told_of
from analysis.messages.rows import (
    OF_ANNOUNCED,
    OF_PACKETS,
    OF_REPORTED,
    PACKET_COLUMNS,
    SCHEMAS,
    Rows,
    control_of,
    entered_of,
    moved_of,
    numbers,
    with_corrected_columns,
)

ROWS_AT_ONCE = 1_000_000
"""Packets that a task has in memory."""
_OF_PACKETS = ("entered", "moved", "control", "told")
_OF_EVENTS = ("announced", "reported")


@dataclass(frozen=True, slots=True)
class Scatter:
    """What is read, and where it goes."""

    folder: str
    buckets: int
    packets: Sequence[str]
    """Files of table `packets`."""
    events: str
    """The file of events."""
    event_pieces: Sequence[tuple[int, int]]
    clients: Mapping[str, int]
    """Ids by name."""
    times: Times
    """By what times packets are counted on the way."""
    clocks: Mapping[int, HostClock] = field(default_factory=dict)
    """By node: those that times are corrected by."""

    @property
    def tasks(self) -> int:
        """How many there are."""
        return len(self.packets) + len(self.event_pieces)

    def perform(self, number: int) -> PacketSums:
        """One task: a file of packets, or a piece of the events. What was counted of the packets."""
        if number < len(self.packets):
            return self._packets(number)
        self._events(number)
        return self.added(())

    def added(self, parts: Iterable[PacketSums]) -> PacketSums:
        """What was counted in several parts."""
        return PacketSums.added(parts, self.times)

    def _packets(self, number: int) -> PacketSums:
        counted: list[PacketSums] = []
        with ExitStack() as files:
            to = {name: self._writer(files, name, number) for name in _OF_PACKETS}
            for captured in _tables(Path(self.packets[number])):
                packets = with_corrected_columns(captured, OF_PACKETS, self.clocks)
                counted.append(PacketSums.of(packets, self.times))
                self._write(to["entered"], entered_of(packets), "source", "sequence")
                self._write(to["moved"], moved_of(packets), "source", "sequence")
                self._write(to["control"], control_of(packets), "content")
                self._write(to["told"], told_of(packets), "publisher", "pcd", "subscriber", "scd")
        return self.added(counted)

    def _events(self, number: int) -> None:
        start, end = self.event_pieces[number - len(self.packets)]
        announced, reported = events_of(Path(self.events), self.clients, start, end)
        events = (
            with_corrected_columns(announced, OF_ANNOUNCED, self.clocks),
            with_corrected_columns(reported, OF_REPORTED, self.clocks),
        )
        with ExitStack() as files:
            for name, table in zip(_OF_EVENTS, events, strict=True):
                self._write(self._writer(files, name, number), table, "source", "sequence")

    def _writer(self, files: ExitStack, name: str, task: int) -> Writer:
        writer = Writer(Path(self.folder), file_name(name, task), SCHEMAS[name], self.buckets)
        return files.enter_context(writer)

    def _write(self, writer: Writer, rows: pa.Table, *key: str) -> None:
        columns: list[Numbers] = [numbers(rows[name]) for name in key]
        writer.write(rows, buckets_of(self.buckets, *columns))

    def rows(self, bucket: int) -> Rows:
        """All that came to a bucket."""
        folder = Path(self.folder)
        tables = {
            name: rows_of(folder, name, schema, bucket, self.buckets) for name, schema in SCHEMAS.items()
        }
        return Rows(**tables)


def _tables(path: Path) -> Iterator[pa.Table]:
    """The rows of a file, so many at once."""
    with pq.ParquetFile(path, read_dictionary=["interface"]) as file:
        groups: list[int] = []
        size = 0
        for number in range(file.num_row_groups):
            groups.append(number)
            size += file.metadata.row_group(number).num_rows
            if size >= ROWS_AT_ONCE or number + 1 == file.num_row_groups:
                table = file.read_row_groups(groups, columns=list(PACKET_COLUMNS))
                yield table.unify_dictionaries()
                groups, size = [], 0
