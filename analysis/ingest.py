"""Captures into `packets.parquet`: planning the tasks and collecting their reports.

What happens inside a Spark task is in `analysis.decode`. Rows never pass through the
JVM: tasks write Parquet themselves and only counts come back. If those show that a
capture was split in wrong places, all is done again without its index.
"""

from __future__ import annotations

import heapq
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from analysis.decode import BinReport, Piece, Range, decode_bin, split, unreadable
from analysis.findings import Ingested, KeptPacket
from analysis.rundir import Capture, Run
from analysis.schemas import PACKETS, REPORTS
from fastpath.pcap import PcapError

SPLIT_BYTES = 64 * 1024 * 1024
WORTH_A_TASK_BYTES = 8 * 1024 * 1024


def captured_bytes(run: Run) -> int:
    """Size of all captures that are there."""
    files = (run.path / "captures" / name for c in run.captures for name in c.files)
    return sum(f.stat().st_size for f in files if f.is_file())


def ingest(
    spark: SparkSession, run: Run, target: Path, split_bytes: int = SPLIT_BYTES
) -> tuple[DataFrame, Ingested]:
    """Decode all captures of a run into Parquet files under `target`; read them back as a table."""
    work = _decode(spark, run, target, split_bytes, distrusted=())
    wrong = _wrongly_split(work)
    if wrong:
        shutil.rmtree(target)
        work = _decode(spark, run, target, split_bytes, distrusted=wrong)
        work.problems += [
            f"captures/{Path(path).name}: it changed while it was read" for path in _wrongly_split(work)
        ]
    table = spark.createDataFrame([], PACKETS)
    return spark.read.schema(PACKETS).parquet(str(target)) if work.reports else table, _summary(work)


@dataclass(slots=True)
class _Work:
    """All captures decoded once."""

    reports: list[BinReport]
    problems: list[str]
    unread: list[str]
    """Interfaces of which a capture could not be read."""
    splits: Counter[str]


def _decode(
    spark: SparkSession, run: Run, target: Path, split_bytes: int, distrusted: Collection[str]
) -> _Work:
    target.mkdir(parents=True)
    pieces, work = _plan(run, split_bytes, distrusted)
    bins = pack(pieces, spark.sparkContext.defaultParallelism, split_bytes)
    work.reports = _run_tasks(spark, bins, target) if bins else []
    return work


def _wrongly_split(work: _Work) -> set[str]:
    return {path for report in work.reports for path in report["wrongly_split"]}


def pack(pieces: Sequence[Piece], cores: int, split_bytes: int = SPLIT_BYTES) -> list[list[Piece]]:
    """Pieces into bins of about equal size, one bin a task: largest first, into the emptiest.

    A task costs more than a small file: few bytes make few bins.
    """
    total = sum(p.size for p in pieces)
    wanted = max(1, math.ceil(total / split_bytes), min(cores, math.ceil(total / WORTH_A_TASK_BYTES)))
    bins: list[list[Piece]] = [[] for _ in range(min(len(pieces), wanted))]
    loads = [(0, 0, number) for number in range(len(bins))]
    for piece in sorted(pieces, key=lambda p: (-p.size, p.path, p.start)):
        size, held, number = heapq.heappop(loads)
        bins[number].append(piece)
        heapq.heappush(loads, (size + piece.size, held + 1, number))
    return bins


def _plan(run: Run, split_bytes: int, distrusted: Collection[str]) -> tuple[list[Piece], _Work]:
    """What to decode, and what is known before."""
    pieces: list[Piece] = []
    problems: list[str] = []
    unread: list[str] = []
    splits: Counter[str] = Counter()
    for capture, name in ((c, name) for c in run.captures for name in c.files):
        path = (run.path / "captures" / name).resolve()
        try:
            ranges, how = split(path, split_bytes, trusted=str(path) not in distrusted)
        except FileNotFoundError:
            problems.append(f"captures/{name}: missing, though index.json lists it")
            unread.append(capture.interface.name)
        except (PcapError, OSError) as error:
            problems.append(unreadable(path, error))
            unread.append(capture.interface.name)
        else:
            splits[how] += 1
            pieces += [_piece(path, capture, ranges, each) for each in ranges]
    del splits["whole"]
    return pieces, _Work([], problems, unread, splits)


def _piece(path: Path, capture: Capture, ranges: Sequence[Range], piece: Range) -> Piece:
    return Piece(
        str(path),
        *piece,
        capture.interface.name,
        capture.interface.mac,
        capture.interface.peer_mac,
        capture.node.node_id,
        capture.peer.node_id,
        capture.peer_is_client,
        first=piece == ranges[0],
        last=piece == ranges[-1],
    )


def _run_tasks(spark: SparkSession, bins: list[list[Piece]], target: Path) -> list[BinReport]:
    tasks = spark.range(len(bins), numPartitions=len(bins)).mapInArrow(_task(bins, str(target)), REPORTS)
    return [json.loads(row.report) for row in tasks.collect()]


def _task(
    bins: list[list[Piece]], target: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            reports = [
                json.dumps(decode_bin(number, bins[number], target)) for number in batch["id"].to_pylist()
            ]
            yield pa.RecordBatch.from_pydict({"report": reports})

    return work


def _summary(work: _Work) -> Ingested:
    captures: dict[str, Counter[str]] = {}
    for report in work.reports:
        for interface, counts in report["counts"].items():
            captures.setdefault(interface, Counter()).update(counts)
    totals: Counter[str] = sum(captures.values(), Counter())
    records, packets = totals.pop("records", 0), totals.pop("packets", 0)
    return Ingested(
        records,
        packets,
        {k: v for k, v in sorted(totals.items()) if v},
        work.problems + [problem for report in work.reports for problem in report["problems"]],
        dict(sorted(work.splits.items())),
        captures,
        {*work.unread, *(interface for report in work.reports for interface in report["unreadable"])},
        {name: addresses for report in work.reports for name, addresses in report["foreign"].items()},
        [KeptPacket(name, at, bytes.fromhex(raw)) for r in work.reports for name, at, raw in r["control"]],
    )
