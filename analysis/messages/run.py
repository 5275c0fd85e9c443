"""The messages of a run judged, in two waves of tasks: rows go to buckets, then each bucket is judged.

Tasks leave files, and say no more than that they are done. Here: how many buckets there are, where the files
are, and what is read back of them.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from analysis.course.sums import PacketSums
from analysis.digest import delivered_lines, merged_digest, write_lines
from analysis.drift.correction import HostClock
from analysis.messages.bucket import judged
from analysis.messages.context import Context
from analysis.messages.counting import delivered_of
from analysis.messages.scatter import Scatter
from analysis.messages.sums import Sums, merged, sums_of
from analysis.messages.tables import write_tables

WORTH_A_BUCKET = 50_000
"""Rows: of fewer no part is judged by itself."""
LARGEST_BUCKET = 1_000_000
"""Rows that a task holds in memory; about 300 bytes each."""
T = TypeVar("T")


class Tasks(Protocol):
    """Carries out numbered tasks (`numbered_tasks`)."""

    def __call__(self, count: int, work: Callable[[int], object], phase: str) -> list[object]:
        """What `work` returns for 0, 1, ..., `count` - 1, in this order."""


def buckets_for(rows: int, cores: int) -> int:
    """How many parts a run is judged in."""
    return max(1, -(-rows // LARGEST_BUCKET), min(cores, rows // WORTH_A_BUCKET))


@dataclass(frozen=True, slots=True)
class Work:
    """Both waves of one run."""

    scatter: Scatter
    tasks: Tasks
    tables: Path
    """Where the tables go."""

    def with_clocks(self, clocks: Mapping[int, HostClock]) -> Work:
        """The same once more with corrected times, in the place of what there is."""
        shutil.rmtree(self.scatter.folder)
        return replace(self, scatter=replace(self.scatter, clocks=clocks))

    def sort_out(self) -> PacketSums:
        """The first wave; what was counted of the packets."""
        folder = Path(self.scatter.folder)
        folder.mkdir(parents=True)
        self.tasks(self.scatter.tasks, partial(_sort_out, self.scatter), "messages")
        return self.scatter.added(
            _read(_passed(folder, number), PacketSums) for number in range(self.scatter.tasks)
        )

    def judge(self, context: Context) -> Sums:
        """The second wave: all tables about messages are written, and what is counted of them is added up."""
        self.tasks(self.scatter.buckets, partial(_judge, self.scatter, context, str(self.tables)), "messages")
        folder = Path(self.scatter.folder)
        found = [partial(_read, _sums(folder, number), Sums) for number in range(self.scatter.buckets)]
        return merged(found)

    def digest(self) -> str:
        """Of what was delivered, once all is judged."""
        return merged_digest([_delivered(Path(self.scatter.folder), n) for n in range(self.scatter.buckets)])


def _sort_out(scatter: Scatter, number: int) -> None:
    _write(_passed(Path(scatter.folder), number), scatter.perform(number))


def _judge(scatter: Scatter, context: Context, tables: str, number: int) -> None:
    found = judged(context, scatter.rows(number))
    write_tables(found, Path(tables), number)
    delivered = delivered_of(found.pairs, found.messages, found.outcomes)
    write_lines(_delivered(Path(scatter.folder), number), delivered_lines(*delivered, context.names))
    _write(_sums(Path(scatter.folder), number), sums_of(found))


def _passed(folder: Path, number: int) -> Path:
    return folder / f"passed-{number:06d}"


def _sums(folder: Path, number: int) -> Path:
    return folder / f"sums-{number:06d}"


def _delivered(folder: Path, number: int) -> Path:
    return folder / f"delivered-{number:06d}"


def _write(path: Path, value: object) -> None:
    partial_path = path.with_name(f".{path.name}.{os.getpid()}")
    partial_path.write_bytes(pickle.dumps(value))
    partial_path.replace(path)


def _read(path: Path, kind: type[T]) -> T:
    """What a task of ours has left."""
    value = pickle.loads(path.read_bytes())
    assert isinstance(value, kind)
    return value


def packet_files(table: Path) -> Sequence[str]:
    """Of table `packets`."""
    return sorted(map(str, table.glob("*.parquet")))
