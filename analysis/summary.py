"""From tables to the figures that the verdict and the report show, of the whole run and of its parts.

Each function is one Spark action whose answer is small: at most one row a
client, a link, a hop count or a quantile. A part of the run (`Scope`) is a phase that the scenario
names, or `recovery`: all that comes after the fixpoint that followed the last fault. A message
belongs to the part in which it was published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.findings import (
    QUANTILES,
    RECOVERY,
    CrossingCounts,
    Failure,
    LatencyCurve,
    PublicationCounts,
    ScopeCounts,
    Stretch,
    SubscriberCounts,
    Traffic,
    TreeCounts,
)
from analysis.history import FOREVER, History
from analysis.rundir import Run
from analysis.schemas import SCOPES
from analysis.transforms import MESSAGE_ID, PAIR

ACCURACY = 10_000
SHOWN = 50
"""How many missing, spurious and duplicate deliveries are listed one by one."""


def count_publications(publications: DataFrame, history: History) -> PublicationCounts:
    """How many publications there are, and how many are in the captures alone, or in the events alone.

    What a client published while the network was not settled may have met a link that
    was down or a router that did not run: it need not be in a capture.
    """
    row = publications.agg(
        F.count("*").alias("total"),
        F.count_if(F.col("time_ns").isNull() & ~_while_unsettled(history)).alias("not_captured"),
        F.count_if(F.col("announced_ns").isNull()).alias("not_announced"),
    ).first()
    assert row is not None, "an aggregate without groups has one row"
    return PublicationCounts(row.total, row.not_captured, row.not_announced)


def _while_unsettled(history: History) -> Column:
    unsettled = history.unsettled()
    if not unsettled:
        return F.lit(False)
    begins, ends = (F.lit(list(times)) for times in zip(*unsettled, strict=True))
    announced_ns = F.col("announced_ns")
    return F.exists(
        F.arrays_zip(begins.alias("b"), ends.alias("e")), lambda t: announced_ns.between(t["b"], t["e"])
    )


def count_by_subscriber(verdicts: DataFrame) -> list[SubscriberCounts]:
    """One row a client that was owed, or got, anything, in order of id."""
    came = F.col("verdict").isin("delivered", "duplicate")
    left = F.col("copies") > 0
    reported = F.col("reports") > 0
    rows = (
        verdicts.groupBy("subscriber")
        .agg(
            how_many(F.col("owed"), "owed"),
            how_many(came, "delivered"),
            how_many(came & ~F.col("owed"), "allowed"),
            how_many(F.col("verdict") == "missing", "missing"),
            F.sum(F.greatest(F.col("copies") - 1, F.lit(0))).alias("duplicate"),
            how_many(F.col("verdict") == "spurious", "spurious"),
            how_many(left & ~reported, "unreported"),
            how_many(reported & ~left, "unseen"),
        )
        .collect()
    )
    return sorted((SubscriberCounts(**r.asDict()) for r in rows), key=lambda c: c.subscriber)


def how_many(condition: Column, name: str) -> Column:
    """How many rows a condition is true of; where it is null, it is not."""
    return F.count_if(F.coalesce(condition, F.lit(False))).alias(name)


def latency_curves(deliveries: DataFrame) -> list[LatencyCurve]:
    """The distribution over all deliveries first, then by hop count, ascending."""
    points = F.array(*(F.lit(q) for q in QUANTILES))
    rows = (
        deliveries.rollup("hop_count")
        .agg(
            F.grouping("hop_count").alias("all"),
            F.count("*").alias("deliveries"),
            F.count("latency_ns").alias("timed"),
            F.avg(F.col("latency_ns").cast("double")).alias("mean"),
            F.percentile_approx("latency_ns", points, ACCURACY).alias("quantiles"),
        )
        .collect()
    )
    curves = [
        LatencyCurve(
            None if r["all"] else r.hop_count, r.deliveries, r.timed, r.mean or 0.0, tuple(r.quantiles or ())
        )
        for r in rows
        if r.deliveries
    ]
    return sorted(curves, key=lambda c: -1 if c.hop_count is None else c.hop_count)


def count_crossings(crossings: DataFrame) -> list[CrossingCounts]:
    """Messages and wasted messages by direction of a link, in order of ids."""
    rows = (
        crossings.groupBy("from_id", "to_id")
        .agg(
            F.sum("copies").alias("messages"),
            F.sum(F.when(F.col("wasted"), F.col("copies")).otherwise(F.lit(0).cast("bigint"))).alias(
                "wasted"
            ),
        )
        .collect()
    )
    return sorted((CrossingCounts(**r.asDict()) for r in rows), key=lambda c: (c.from_id, c.to_id))


def count_trees(trees: DataFrame) -> TreeCounts:
    """The sums over all messages."""
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("crossings", "wasted", "ideal")]
    row = trees.agg(
        F.count("*").alias("messages"),
        *sums,
        F.count_if(F.col("crossings") > F.col("ideal")).alias("beyond"),
        F.count_if(~F.col("exact")).alias("inexact"),
    ).first()
    assert row is not None, "an aggregate without groups has one row"
    return TreeCounts(**row.asDict())


def first_routers(trees: DataFrame) -> list[int]:
    """The routers at which messages entered, ascending."""
    return sorted(row.node_id for row in trees.select("node_id").distinct().collect())


def measure_stretch(stretches: DataFrame) -> Stretch | None:
    """Of all deliveries; None if there are none."""
    shares = F.array(F.lit(0.5), F.lit(0.99), F.lit(1.0))
    row = stretches.agg(
        F.count("*").alias("deliveries"),
        F.avg("stretch").alias("mean"),
        F.percentile_approx("stretch", shares, ACCURACY).alias("quantiles"),
    ).first()
    assert row is not None, "an aggregate without groups has one row"
    return Stretch(row.deliveries, row.mean, *row.quantiles) if row.deliveries else None


def collect_traffic(traffic: DataFrame) -> list[Traffic]:
    """The rows of `to_traffic`, in order of interface, direction and type."""
    rows = (Traffic(**r.asDict()) for r in traffic.collect())
    return sorted(rows, key=lambda t: (t.interface, t.sent, t.type, t.kind or 0))


def first_failures(verdicts: DataFrame, limit: int = SHOWN) -> list[Failure]:
    """The first deliveries, by message, that are missing, spurious or duplicate."""
    bad = verdicts.where(F.col("verdict").isin("missing", "spurious", "duplicate"))
    rows = bad.select(*PAIR, "verdict", "copies").orderBy(*PAIR).limit(limit).collect()
    return [Failure(**r.asDict()) for r in rows]


def first_disagreements(verdicts: DataFrame, limit: int = 3) -> list[Failure]:
    """The first deliveries that are in a capture and not in the client's events, or the reverse."""
    odd = verdicts.where((F.col("copies") > 0) != (F.col("reports") > 0)).where(
        (F.col("copies") > 0) | (F.col("reports") > 0)
    )
    rows = odd.select(*PAIR, F.lit("").alias("verdict"), "copies").orderBy(*PAIR).limit(limit).collect()
    return [Failure(**r.asDict()) for r in rows]


def delivered_digest(verdicts: DataFrame, names: DataFrame) -> str:
    """SHA-256 of the sorted lines `publisher sequence subscriber` of all delivered pairs."""
    publisher = names.select(F.col("id").alias("source"), F.col("name").alias("publisher"))
    receiver = names.select(F.col("id").cast("int").alias("subscriber"), F.col("name").alias("receiver"))
    lines = (
        verdicts.where(F.col("verdict").isin("delivered", "duplicate"))
        .join(F.broadcast(publisher), "source", "left")
        .join(F.broadcast(receiver), "subscriber", "left")
        .select(_line().alias("line"))
        .orderBy("line")
    )
    return digest_of(lines.toArrow().column("line").chunks)


def _line() -> Column:
    publisher = F.coalesce("publisher", F.col("source").cast("string"))
    receiver = F.coalesce("receiver", F.col("subscriber").cast("string"))
    return F.concat(
        publisher, F.lit(" "), F.col("sequence").cast("string"), F.lit(" "), receiver, F.lit("\n")
    )


def digest_of(chunks: Sequence[pa.StringArray]) -> str:
    """SHA-256 of all strings of the chunks, end to end: Arrow keeps them so already."""
    digest = hashlib.sha256()
    for chunk in chunks:
        text = chunk.cast(pa.large_string())
        if len(text):
            _, offsets, data = text.buffers()
            ends = memoryview(offsets).cast("q")
            digest.update(memoryview(data)[ends[text.offset] : ends[text.offset + len(text)]])
    return digest.hexdigest()


SHARES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Scope:
    """What was published from one moment until before another."""

    name: str
    from_ns: int
    until_ns: int


def scopes_of(run: Run, history: History) -> list[Scope]:
    """The phases in order of time, then the recovery, if the network has recovered."""
    scopes = [Scope(p.name, run.start_ns + p.start_ns, run.start_ns + p.end_ns) for p in run.plan.phases]
    last = history.settled[-1] if history.settled else None
    if last is not None and last.until_ns == FOREVER:
        scopes.append(Scope(RECOVERY, last.after_ns + 1, FOREVER))
    return scopes


def count_by_scope(
    spark: SparkSession,
    scopes: Sequence[Scope],
    publications: DataFrame,
    verdicts: DataFrame,
    deliveries: DataFrame,
) -> list[ScopeCounts]:
    """One row a scope, in their order: all of them in one pass over the verdicts."""
    rows = [(scope.name, scope.from_ns, scope.until_ns) for scope in scopes]
    parts = F.broadcast(spark.createDataFrame(rows, SCOPES))
    published = F.coalesce("time_ns", "announced_ns")
    scoped = publications.join(
        parts, (published >= F.col("from_ns")) & (published < F.col("until_ns"))
    ).select(*MESSAGE_ID, "scope")
    judged = verdicts.join(deliveries.select(*PAIR, "latency_ns"), list(PAIR), "left")
    facts = scoped.join(judged, list(MESSAGE_ID)).select(
        "scope", "verdict", "owed", "copies", "latency_ns", F.lit(0).alias("published")
    )
    nobody = scoped.select(
        "scope",
        F.lit(None).cast("string").alias("verdict"),
        F.lit(None).cast("boolean").alias("owed"),
        F.lit(None).cast("bigint").alias("copies"),
        F.lit(None).cast("bigint").alias("latency_ns"),
        F.lit(1).alias("published"),
    )
    found = {row.scope: row.asDict() for row in _counted(facts.unionByName(nobody)).collect()}
    return [_counts(scope, found.get(scope.name, {})) for scope in scopes]


def _counted(facts: DataFrame) -> DataFrame:
    came = F.col("verdict").isin("delivered", "duplicate")
    points = F.array(*(F.lit(share) for share in SHARES.values()))
    return facts.groupBy("scope").agg(
        F.sum("published").alias("publications"),
        how_many(F.col("owed"), "expected"),
        how_many(came, "delivered"),
        how_many(came & ~F.col("owed"), "allowed"),
        how_many(F.col("verdict") == "missing", "missing"),
        F.sum(F.greatest(F.col("copies") - 1, F.lit(0))).alias("duplicate"),
        how_many(F.col("verdict") == "spurious", "spurious"),
        F.avg(F.col("latency_ns").cast("double")).alias("mean"),
        F.percentile_approx("latency_ns", points, ACCURACY).alias("quantiles"),
    )


def _counts(scope: Scope, row: Mapping[str, object]) -> ScopeCounts:
    counts = {name: int(str(row.get(name) or 0)) for name in ScopeCounts.COUNTS}
    quantiles, mean = row.get("quantiles"), row.get("mean")
    latency = None
    if isinstance(quantiles, list) and isinstance(mean, float):
        latency = dict(zip(SHARES, map(int, quantiles), strict=True)) | {"mean": round(mean)}
    return ScopeCounts(scope.name, scope.from_ns, scope.until_ns, counts, latency)
