"""Where tasks run: in threads of this process, or in Spark's Python workers.

A task is a number. What it does is a function of that number that returns plain values; rows go from files to
files, never through here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from analysis.session import context_of, is_connect

Work = Callable[[int], Any]


class Shown(Protocol):
    """Who is told how far the tasks are."""

    def phase(self, name: str, total: int | None = None) -> None:
        """So many tasks of this kind begin."""

    def advance(self, done: int) -> None:
        """So many have ended."""


class Tasks(Protocol):
    """Runs tasks."""

    def __call__(self, count: int, work: Work, phase: str) -> list[Any]:
        """What `work` returns for 0, 1, ..., `count` - 1, in this order."""


_REPORTS = StructType([StructField("report", StringType())])


def in_threads(threads: int, shown: Shown | None = None) -> Tasks:
    """In so many threads of this process: decoding, sorting and writing leave Python's lock to others."""
    return partial(_in_threads, threads, shown)


def _in_threads(threads: int, shown: Shown | None, count: int, work: Work, phase: str) -> list[Any]:
    if shown:
        shown.phase(phase, count)
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, number) for number in range(count)]
        for done, _ in enumerate(as_completed(futures), 1):
            if shown:
                shown.advance(done)
        return [future.result() for future in futures]


def on_spark(spark: SparkSession) -> Tasks:
    """In Spark's workers, which may be on other machines that see the same files; nobody is told how far."""
    return partial(_on_spark, spark)


def _on_spark(spark: SparkSession, count: int, work: Work, phase: str) -> list[Any]:  # noqa: ARG001
    if not count:
        return []
    if not is_connect(spark):  # plain tasks spare the first of them a second of preparing SQL
        return list(context_of(spark).parallelize(range(count), count).map(work).collect())
    rows = spark.range(count, numPartitions=count).mapInArrow(_batches(work), _REPORTS).collect()
    return [result for _, result in sorted(json.loads(row.report) for row in rows)]


def _batches(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            reports = [json.dumps([number, work(number)]) for number in batch["id"].to_pylist()]
            yield pa.RecordBatch.from_pydict({"report": reports})

    return run
