"""The tables about what happened when, made of those about packets and messages, and written beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.course import outcomes, ways
from analysis.course.disturbed import Disturbed, convergence_table, faults_table
from analysis.course.links import Known, control_table, links_table
from analysis.course.rates import rates_of
from analysis.course.routers import routers_table
from analysis.course.sums import OF_PACKETS, MessageSums, PacketSums, Times
from analysis.findings import Slices
from analysis.history import History, NetworkChange
from analysis.rundir import Run

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Course:
    """What is known of a run before its packets and messages are counted."""

    run: Run
    slices: Slices
    disturbed: Disturbed
    incomplete: Collection[str] = ()
    """Interfaces whose captures are incomplete."""

    @classmethod
    def of(
        cls,
        run: Run,
        slices: Slices,
        changes: Sequence[NetworkChange],
        history: History,
        incomplete: Collection[str] = (),
    ) -> Course:
        """That of a run, by its events."""
        return cls(run, slices, Disturbed.of(run, changes, history), incomplete)

    @property
    def times(self) -> Times:
        """By what times it is counted."""
        return Times(self.slices, self.disturbed.intervals, self.run.plan.timing.settle_ns)

    def tables(self, packets: PacketSums, messages: MessageSums) -> dict[str, pa.Table]:
        """All tables, by name."""
        rates = rates_of(self.run, self.disturbed.steps)
        known = Known(rates, messages.ways.lost, self.incomplete)
        return {
            "links": links_table(self.run, packets.loads, self.slices, known),
            "control": control_table(self.run, packets.loads, self.slices),
            "faults": faults_table(self.run, self.disturbed, messages.outcomes),
            "convergence": convergence_table(
                self.run, self.disturbed, messages.outcomes, packets.costs, packets.records
            ),
            "routers": routers_table(self.run, packets.loads, messages.ways),
        }


def write(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """Each as a folder with one Parquet file."""
    for name, table in tables.items():
        place = folder / f"{name}.parquet"
        place.mkdir(parents=True)
        pq.write_table(table, place / "part-00000.parquet", compression="zstd")


def count_packets(folder: Path, times: Times, threads: int) -> PacketSums:
    """The sums over table `packets`, file by file."""

    def count(path: Path) -> PacketSums:
        found = PacketSums.none(times)
        for batch in _batches(path, OF_PACKETS):
            found.add(PacketSums.of(batch, times))
        return found

    found = PacketSums.none(times)
    for part in _in_threads(count, _parts(folder, "packets"), threads):
        found.add(part)
    return found


def count_messages(folder: Path, times: Times, threads: int) -> MessageSums:
    """The sums over tables `crossings`, `publications` and `verdicts`. A message is in one file of each."""
    publications = pq.read_table(folder / "publications.parquet", columns=[*_OF_PUBLICATIONS])
    whole = publications.combine_chunks().to_batches()
    entered = whole[0] if whole else publications.schema.empty_table().to_batches()[0]

    def crossings(path: Path) -> MessageSums:
        found = MessageSums.none(times)
        rows = pq.read_table(path, columns=[*ways.OF_CROSSINGS]).combine_chunks()
        for batch in rows.to_batches():
            found.add_crossings(batch, entered, times)
        return found

    def verdicts(path: Path) -> MessageSums:
        found = MessageSums.none(times)
        for batch in _batches(path, outcomes.OF_VERDICTS):
            found.add_verdicts(batch, times)
        return found

    found = MessageSums.none(times)
    found.add_publications(entered, times)
    for part in _in_threads(crossings, _parts(folder, "crossings"), threads):
        found.add(part)
    for part in _in_threads(verdicts, _parts(folder, "verdicts"), threads):
        found.add(part)
    return found


_OF_PUBLICATIONS = tuple(dict.fromkeys((*ways.OF_PUBLICATIONS, *outcomes.OF_PUBLICATIONS)))


def _parts(folder: Path, table: str) -> list[Path]:
    return sorted((folder / f"{table}.parquet").glob("*.parquet"))


def _batches(path: Path, columns: Iterable[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(columns=[*columns], use_threads=False)


def _in_threads(count: Callable[[Path], T], paths: Sequence[Path], threads: int) -> Iterator[T]:
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(count, paths)
