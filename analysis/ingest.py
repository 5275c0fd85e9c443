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
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from analysis.decode import BinReport, Piece, decode_bin
from analysis.findings import Ingested
from analysis.pieces import Work, pieces_of
from analysis.rundir import Run
from analysis.schemas import PACKETS, REPORTS

SPLIT_BYTES = 64 * 1024 * 1024
WORTH_A_TASK_BYTES = 8 * 1024 * 1024


def ingest(
    spark: SparkSession, run: Run, target: Path, split_bytes: int = SPLIT_BYTES
) -> tuple[DataFrame, Ingested]:
    """Decode all captures of a run into Parquet files under `target`; read them back as a table."""
    work = _decode(spark, run, target, split_bytes, distrusted=())
    wrong = work.wrongly_split
    if wrong:
        shutil.rmtree(target)
        work = _decode(spark, run, target, split_bytes, distrusted=wrong)
        work.problems += [
            f"captures/{Path(path).name}: it changed while it was read" for path in work.wrongly_split
        ]
    table = spark.createDataFrame([], PACKETS)
    return spark.read.schema(PACKETS).parquet(str(target)) if work.reports else table, work.summary()


def _decode(
    spark: SparkSession, run: Run, target: Path, split_bytes: int, distrusted: Collection[str]
) -> Work:
    target.mkdir(parents=True)
    pieces, work = pieces_of(run, split_bytes, distrusted)
    bins = pack(pieces, spark.sparkContext.defaultParallelism, split_bytes)
    work.reports = _run_tasks(spark, bins, target) if bins else []
    return work


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
