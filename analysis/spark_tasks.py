"""Numbered tasks (`numbered_tasks`) in Spark's Python workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from analysis.numbered_tasks import Tasks, Work
from analysis.session import context_of, is_connect

_REPORTS = StructType([StructField("report", StringType())])


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
