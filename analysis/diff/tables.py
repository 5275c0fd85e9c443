"""The tables of two runs side by side, by Spark: what was published and delivered, and how long it took.

Node ids may differ between two runs, so each side counts nodes by their positions among the names
of both. All that is done once a message is done by Spark, and at most about `SAMPLE` values a
series come back. What counts as a difference is decided in `differences`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import IntegerType, StructField, StructType

from analysis.diff.statistics import Sample
from analysis.rundir import Run
from analysis.tables import MESSAGE_ID, PAIR

_POSITIONS = StructType([StructField("id", IntegerType()), StructField("position", IntegerType())])


class Side:
    """The tables of one run; `number` is 0 of the run before, 1 of the one after."""

    def __init__(self, spark: SparkSession, run: Run, names: Sequence[str], number: int) -> None:
        self.spark = spark
        self.run = run
        self.names = names
        self.number = number

    def table(self, name: str) -> DataFrame:
        """A table as the analysis wrote it."""
        return self.spark.read.parquet(str(self.run.shared_path / "tables" / f"{name}.parquet"))

    def placed(self, table: DataFrame, *columns: str) -> DataFrame:
        """Positions in the place of ids; rows with ids that the plan does not know are left out."""
        position = {name: at for at, name in enumerate(self.names)}
        rows = [(i, position[name]) for i, name in self.run.names.items()]
        ids = self.spark.createDataFrame(rows, _POSITIONS)
        for name in columns:
            known = ids.select(F.col("id").alias(name), F.col("position").alias(f"_{name}"))
            table = table.join(F.broadcast(known), name).drop(name).withColumnRenamed(f"_{name}", name)
        return table

    def apart(self, name: str, value: Column, kind: str) -> list[Column]:
        """Columns `<name>0` and `<name>1`: the value in that of this side, null in the other's."""
        null = F.lit(None).cast(kind)
        return [(value if n == self.number else null).alias(f"{name}{n}") for n in (0, 1)]


EXAMPLES = 10
"""Deliveries of one run alone that are listed one by one."""
_MEETING = ("node", "sequence", "subscriber")


@dataclass(frozen=True, slots=True)
class Messages:
    """What was published."""

    both: int
    gone: int
    """Before alone."""
    new: int
    """After alone."""
    changed: int
    """Of the same publisher and number, with other content."""


@dataclass(frozen=True, slots=True)
class Client:
    """What a subscriber got in one run and not in the other."""

    name: str
    both: int
    gone: int
    """Delivered before and not after, though owed in both."""
    new: int
    """Delivered after and not before, though owed in both."""
    may_gone: int
    """Delivered before alone, and not owed in both: subscriptions changed just then, or are others now."""
    may_new: int
    other_hops: int
    """Of those delivered in both: over another number of hops."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery of one run alone."""

    publisher: str
    sequence: int
    subscriber: str
    gone: bool
    """It was before; else it is new."""


def compare_messages(before: Side, after: Side) -> Messages:
    """Count the messages of both."""
    met = _published(before).unionByName(_published(after)).groupBy("node", "sequence")
    pairs = met.agg(F.max("of0").alias("of0"), F.max("of1").alias("of1"))
    first, second = F.col("of0").isNotNull(), F.col("of1").isNotNull()
    row = pairs.agg(
        F.count_if(first & second).alias("both"),
        F.count_if(first & ~second).alias("gone"),
        F.count_if(~first & second).alias("new"),
        F.count_if(F.col("of0") != F.col("of1")).alias("changed"),
    ).first()
    assert row is not None, "an aggregate without groups has one row"
    return Messages(**row.asDict())


def _published(side: Side) -> DataFrame:
    """By its client's own words where there are some: what is on the wire carries times as well."""
    publications = side.table("publications").withColumn("node", F.col("source").cast("int"))
    content = F.xxhash64(F.coalesce(F.col("message").cast("binary"), "attributes"))
    return side.placed(publications, "node").select("node", "sequence", *side.apart("of", content, "bigint"))


def compare_deliveries(before: Side, after: Side) -> tuple[list[Client], list[Delivery]]:
    """By subscriber; and the first deliveries that one run has alone."""
    pairs = _met(before, after)
    clients = _count(pairs, before.names)
    differ = any(c.gone or c.new or c.may_gone or c.may_new for c in clients)
    return clients, _examples(pairs, before.names) if differ else []


def _met(before: Side, after: Side) -> DataFrame:
    met = _judged(before).unionByName(_judged(after)).groupBy(*_MEETING)
    facts = met.agg(*(F.max(c).alias(c) for c in ("got0", "got1", "owed0", "owed1", "hops0", "hops1")))
    first, second = (F.coalesce(F.col(f"got{n}"), F.lit(False)) for n in (0, 1))
    return facts.select(
        *_MEETING,
        (first & second).alias("both"),
        (first & ~second).alias("gone"),
        (~first & second).alias("new"),
        F.coalesce(F.col("owed0") & F.col("owed1"), F.lit(False)).alias("owed"),
        F.coalesce(F.col("hops0") != F.col("hops1"), F.lit(False)).alias("other_hops"),
    )


def _judged(side: Side) -> DataFrame:
    """What each client was owed and got, and over how many hops, in the columns of its side."""
    got = F.col("verdict").isin("delivered", "duplicate", "spurious")
    null = F.lit(None).cast("boolean")
    verdicts = side.table("verdicts").select(
        *PAIR, got.alias("got"), "owed", F.lit(None).cast("int").alias("hops")
    )
    hops = side.table("deliveries").select(
        *PAIR, null.alias("got"), null.alias("owed"), F.col("hop_count").alias("hops")
    )
    judged = verdicts.unionByName(hops).withColumn("node", F.col("source").cast("int"))
    kinds = (("got", "boolean"), ("owed", "boolean"), ("hops", "int"))
    apart = [column for name, kind in kinds for column in side.apart(name, F.col(name), kind)]
    return side.placed(judged, "node", "subscriber").select(*_MEETING, *apart)


def _count(pairs: DataFrame, names: Sequence[str]) -> list[Client]:
    owed = F.col("owed")
    rows = (
        pairs.groupBy("subscriber")
        .agg(
            F.count_if("both").alias("both"),
            F.count_if(F.col("gone") & owed).alias("gone"),
            F.count_if(F.col("new") & owed).alias("new"),
            F.count_if(F.col("gone") & ~owed).alias("may_gone"),
            F.count_if(F.col("new") & ~owed).alias("may_new"),
            F.count_if("other_hops").alias("other_hops"),
        )
        .collect()
    )
    made = ({**row.asDict(), "name": names[row.subscriber]} for row in rows)
    clients = [Client(**{k: v for k, v in each.items() if k != "subscriber"}) for each in made]
    return sorted(clients, key=lambda c: c.name)


def _examples(pairs: DataFrame, names: Sequence[str]) -> list[Delivery]:
    """Those that were owed first."""
    apart = pairs.where(F.col("gone") | F.col("new")).orderBy(F.desc("owed"), *_MEETING).limit(EXAMPLES)
    return [Delivery(names[r.node], r.sequence, names[r.subscriber], r.gone) for r in apart.collect()]


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
    placed = side.placed(side.table("hops"), "from_id", "to_id")
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
