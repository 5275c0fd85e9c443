"""Times of two runs, in samples small enough to be tested: latencies, paths, hops over links.

All that is done once a message is done by Spark, and at most about `SAMPLE`
values a series come back. What counts as a difference is said in `latencies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis import network
from analysis.compare.side import Side
from analysis.compare.statistics import Sample
from analysis.links import to_hops
from analysis.schemas import CLIENTS, EVENTS, HOMES
from analysis.transforms import MESSAGE_ID

SAMPLE = 4000
"""Of longer series about so many values are kept, by the hash of their messages: in both runs the same."""
PATHS_MAX = 500
"""Paths from publisher to subscriber that are compared: those with the most deliveries."""

ALL, HOP, PATH = "all", "hop", "path"

SeriesKey = tuple[str, str, str]
"""What it is of, and the nodes at its two ends; empty of `ALL`."""


@dataclass(frozen=True, slots=True)
class Series:
    """Times of one kind: `ALL` latencies, those of one `PATH`, or delays of one `HOP` over a link."""

    sent: int
    """How many there were, lost ones included."""
    arrived: int
    values: Sample
    """In the order in which they came about."""


def collect_series(side: Side) -> Mapping[SeriesKey, Series]:
    """All series of a run."""
    rows = _latencies(side).unionByName(_hops(side))
    key = ["of", "a", "b"]
    counts = rows.groupBy(*key).agg(F.count("*").alias("sent"), F.count("value").alias("arrived"))
    paths = counts.where(F.col("of") == PATH).orderBy(F.desc("arrived"), "a", "b").limit(PATHS_MAX)
    few = counts.where(F.col("of") != PATH).unionByName(paths)
    sums = {(r.of, r.a, r.b): (r.sent, r.arrived) for r in few.collect()}
    lot = F.pmod(F.xxhash64(*MESSAGE_ID, "a", "b"), F.greatest("arrived", F.lit(1)))
    kept = rows.where(F.col("value").isNotNull()).join(F.broadcast(few), key).where(lot < SAMPLE)
    values = grouped(kept.select(*key, "at_ns", "value").toArrow())
    none = np.array([], dtype=np.int64)
    return {
        (of, *_ends(side, of, a, b)): Series(*counted, values.get((of, a, b), none))
        for (of, a, b), counted in sums.items()
    }


def _ends(side: Side, of: str, a: int, b: int) -> tuple[str, str]:
    return ("", "") if of == ALL else (side.names[a], side.names[b])


def _latencies(side: Side) -> DataFrame:
    """Of each delivery, once for all and once for its path."""
    deliveries = side.table("deliveries").where(F.col("latency_ns").isNotNull())
    ends = side.placed(
        deliveries.withColumn("publisher", F.col("source").cast("int")), "publisher", "subscriber"
    )
    times = [F.col("time_ns").alias("at_ns"), F.col("latency_ns").alias("value")]
    paths = ends.select(*_key(PATH, F.col("publisher"), F.col("subscriber")), *times)
    return paths.unionByName(ends.select(*_key(ALL, F.lit(0), F.lit(0)), *times))


def _hops(side: Side) -> DataFrame:
    run, spark = side.run, side.spark
    hops = to_hops(
        side.table("crossings"),
        side.table("publications"),
        side.table("deliveries"),
        spark.read.schema(EVENTS).json(str(run.path / "events.jsonl")),
        clients=spark.createDataFrame(list(run.client_ids.items()), CLIENTS),
        homes=spark.createDataFrame(list(network.homes(run).items()), HOMES),
    )
    placed = side.placed(hops, "from_id", "to_id")
    times = [F.col("sent_ns").alias("at_ns"), F.col("delay_ns").alias("value")]
    return placed.select(*_key(HOP, F.col("from_id"), F.col("to_id")), *times)


def _key(of: str, a: Column, b: Column) -> list[Column]:
    return [*map(F.col, MESSAGE_ID), F.lit(of).alias("of"), a.alias("a"), b.alias("b")]


def grouped(rows: pa.Table) -> dict[tuple[str, int, int], Sample]:
    """The values by series, each in order of time."""
    if not rows.num_rows:
        return {}
    of = rows.column("of").to_numpy(zero_copy_only=False).astype(str)
    a, b, at, value = (rows.column(name).to_numpy() for name in ("a", "b", "at_ns", "value"))
    order = np.lexsort((value, at, b, a, of))
    of, a, b = of[order], a[order], b[order]
    changes = np.flatnonzero((of[1:] != of[:-1]) | (a[1:] != a[:-1]) | (b[1:] != b[:-1])) + 1
    parts = np.split(value[order], changes)
    starts = [0, *changes.tolist()]
    return {(str(of[i]), int(a[i]), int(b[i])): part for i, part in zip(starts, parts, strict=True)}
