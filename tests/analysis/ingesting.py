"""Captures of a run decoded by Spark tasks, as the analysis does it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from analysis.findings import Ingested
from analysis.ingest import SPLIT_BYTES, ingest_captures
from analysis.pieces import captures_of
from analysis.rundir import Run
from analysis.session import parallelism
from analysis.spark_tasks import on_spark


def ingest(
    spark: SparkSession, run: Run, target: Path, split_bytes: int = SPLIT_BYTES
) -> tuple[DataFrame, Ingested]:
    """Table `packets`, and what decoding came to."""
    cores = parallelism(spark)
    work = ingest_captures(captures_of(run), target, on_spark(spark), cores, split_bytes=split_bytes)
    return spark.read.parquet(str(target)), work.summary()
