"""Delivery trees beside the ideal ones, and latencies beside the fastest paths' (RTE 2.2, 2.3; T1, E8).

The ideal tree is the smallest of those that reach everybody over a shortest path by
the links' costs, in the network as planned: what broke during the run is not taken
out. What is in Spark's tasks here is `topologies.ideal`, which knows no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from analysis.counts import ARRIVED
from analysis.schemas import STRETCHES, TREES
from analysis.transforms import MESSAGE_ID
from topologies.ideal import Edge, ShortestPaths

REMEMBERED = 100_000
"""Trees that a task keeps: messages of one source often go to the same routers."""

Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def to_trees(
    publications: DataFrame,
    verdicts: DataFrame,
    crossings: DataFrame,
    homes: DataFrame,
    edges: Sequence[Edge],
) -> DataFrame:
    """One row a message that reached a router: its crossings, and those of its ideal tree.

    The ideal tree is to the routers of all who were to get the message, or got it rightly.

    Args:
        publications: The table.
        verdicts: The table.
        crossings: The table.
        homes: `subscriber` and the `router` it is at.
        edges: Links between routers, with their costs.
    """
    reached = verdicts.where(F.col("verdict").isin(*ARRIVED, "missing", "unknown"))
    wanted = (
        reached.join(F.broadcast(homes), "subscriber")
        .groupBy(*MESSAGE_ID)
        .agg(F.sort_array(F.collect_set("router")).alias("destinations"))
    )
    crossed = (
        crossings.where(~F.col("access"))
        .groupBy(*MESSAGE_ID)
        .agg(F.sum("copies").alias("crossings"), F.sum(_if_wasted()).alias("wasted"))
    )
    messages = publications.where(F.col("node_id").isNotNull()).select(*MESSAGE_ID, "node_id")
    rows = messages.join(wanted, list(MESSAGE_ID), "left").join(crossed, list(MESSAGE_ID), "left")
    none = F.lit(0).cast("bigint")
    return rows.select(
        *MESSAGE_ID,
        "node_id",
        F.coalesce("destinations", F.array().cast("array<int>")).alias("destinations"),
        F.coalesce("crossings", none).alias("crossings"),
        F.coalesce("wasted", none).alias("wasted"),
    ).mapInArrow(_add_ideal(edges), TREES)


def _if_wasted() -> Column:
    return F.when(F.col("wasted"), F.col("copies")).otherwise(F.lit(0).cast("bigint"))


def _add_ideal(edges: Sequence[Edge]) -> Batches:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = lru_cache(None)(lambda source: ShortestPaths(edges, source))

        @lru_cache(REMEMBERED)
        def ideal(source: int, destinations: tuple[int, ...]) -> tuple[int, bool]:
            tree = paths(source).ideal(destinations)
            return tree.size, tree.exact

        for batch in batches:
            columns: dict[str, list[Any]] = batch.to_pydict()
            wanted = columns["destinations"]
            found = [ideal(*each) for each in zip(columns["node_id"], map(tuple, wanted), strict=True)]
            columns["destinations"] = [len(each) for each in wanted]
            columns["ideal"] = [size for size, _ in found]
            columns["exact"] = [exact for _, exact in found]
            yield _batch(columns, TREES)

    return work


def to_stretches(deliveries: DataFrame, publications: DataFrame, edges: Sequence[Edge]) -> DataFrame:
    """Each timed delivery beyond the first router: its latency over the delays of the fastest path.

    Args:
        deliveries: The table.
        publications: The table.
        edges: Links between routers, with their delays in nanoseconds.
    """
    first = publications.select(*MESSAGE_ID, F.col("node_id").alias("first_id"))
    return (
        deliveries.join(first, list(MESSAGE_ID))
        .where((F.col("first_id") != F.col("node_id")) & F.col("latency_ns").isNotNull())
        .select("first_id", "node_id", "latency_ns")
        .mapInArrow(_add_stretch(edges), STRETCHES)
    )


def _add_stretch(edges: Sequence[Edge]) -> Batches:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = lru_cache(None)(lambda source: ShortestPaths(edges, source))
        for batch in batches:
            rows = zip(
                *(batch[name].to_pylist() for name in ("first_id", "node_id", "latency_ns")), strict=True
            )
            stretches = [latency / paths(first).distance[last] for first, last, latency in rows]
            yield _batch({"stretch": stretches}, STRETCHES)

    return work


def _batch(columns: dict[str, list[Any]], schema: StructType) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns, schema=to_arrow_schema(schema))
