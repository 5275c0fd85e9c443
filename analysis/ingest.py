"""Captures into `packets.parquet`: planning the work and hearing back from it.

What happens inside a Spark task is in `analysis.decode`. Rows never pass through the
JVM: tasks write Parquet themselves and only counts come back.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from analysis.decode import BinReport, Piece, decode_bin, unreadable
from analysis.findings import Ingested
from analysis.rundir import Interface, Run
from analysis.schemas import PACKETS, REPORTS
from fastpath.pcap import PcapError, index_pcap

SPLIT_BYTES = 64 * 1024 * 1024
WORTH_A_TASK_BYTES = 8 * 1024 * 1024


def captured_bytes(run: Run) -> int:
    """Size of all captures that are there."""
    files = (run.path / "captures" / i.file for i in run.interfaces)
    return sum(f.stat().st_size for f in files if f.is_file())


def ingest(
    spark: SparkSession, run: Run, target: Path, split_bytes: int = SPLIT_BYTES
) -> tuple[DataFrame, Ingested]:
    """Decode all captures of a run into Parquet files under `target`; read them back as a table."""
    target.mkdir(parents=True)
    pieces, problems = _pieces(run, split_bytes)
    bins = pack(pieces, spark.sparkContext.defaultParallelism, split_bytes)
    reports = _run_tasks(spark, bins, target) if bins else []
    table = spark.read.schema(PACKETS).parquet(str(target)) if reports else spark.createDataFrame([], PACKETS)
    return table, _summary(reports, problems)


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


def _pieces(run: Run, split_bytes: int) -> tuple[list[Piece], list[str]]:
    pieces: list[Piece] = []
    problems: list[str] = []
    for interface in run.interfaces:
        path = (run.path / "captures" / interface.file).resolve()
        try:
            pieces += [_piece(path, interface, start, end) for start, end in _ranges(path, split_bytes)]
        except FileNotFoundError:
            problems.append(f"captures/{interface.file}: missing, though index.json lists it")
        except (PcapError, OSError) as error:
            problems.append(unreadable(path, error))
    return pieces, problems


def _ranges(path: Path, split_bytes: int) -> list[tuple[int, int]]:
    size = path.stat().st_size
    return index_pcap(path, split_bytes) if size > split_bytes else [(0, size)]


def _piece(path: Path, interface: Interface, start: int, end: int) -> Piece:
    return Piece(
        str(path),
        start,
        end,
        interface.interface,
        interface.mac,
        interface.node_id,
        interface.peer_id,
        interface.peer_is_client,
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


def _summary(reports: list[BinReport], problems: list[str]) -> Ingested:
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report["counts"])
        problems += report["problems"]
    records, packets = counts.pop("records", 0), counts.pop("packets", 0)
    return Ingested(records, packets, {k: v for k, v in sorted(counts.items()) if v}, problems)
