"""From tables to the figures that the verdict and the report show, of the whole run and of its parts.

Each function is one Spark action whose answer is small: at most one row a
client, a link, a hop count or a quantile. Which parts a run has is in `scopes`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.counts import ARRIVED, REASONS, TALLIED, Counts, counts_of
from analysis.digest import digest_of
from analysis.findings import (
    FLAWS,
    NO_SLICES,
    QUANTILES,
    SHARES,
    CrossingCounts,
    Failure,
    LatencyCurve,
    Oddity,
    PublicationCounts,
    Scope,
    ScopeCounts,
    Slices,
    Stretch,
    SubscriberCounts,
    Traffic,
    TreeCounts,
)
from analysis.history import History
from analysis.rundir import Run
from analysis.schemas import SCOPES
from analysis.transforms import MESSAGE_ID, PAIR

ACCURACY = 10_000
SLICES = 60
"""Into so many parts of equal length a run is cut, to show its course."""
SHOWN = 50
"""How many missing, spurious and duplicate deliveries are listed one by one."""


def count_publications(
    publications: DataFrame, history: History, excused_clients: Collection[int] = ()
) -> list[PublicationCounts]:
    """How many messages there are of each client, and what is odd about them.

    What a client published while the network was not settled may have met a link that was
    down or a router that did not run: it need not be in a capture.

    Args:
        publications: The table.
        history: When the network was settled.
        excused_clients: Those of which not everything was captured, or whose access links lose packets.
    """
    excused = _while_unsettled(history) | _among("source", excused_clients)
    rows = (
        publications.groupBy("source")
        .agg(
            F.count("*").alias("total"),
            F.count_if(F.col("time_ns").isNull() & ~excused).alias("not_captured"),
            F.count_if(F.col("announced_ns").isNull()).alias("not_announced"),
            how_many(~F.col("as_announced"), "otherwise_announced"),
            F.min(F.when(~F.col("as_announced"), F.col("sequence"))).alias("first_otherwise"),
        )
        .orderBy("source")
        .collect()
    )
    return [PublicationCounts(**row.asDict()) for row in rows]


def _among(column: str, ids: Collection[int]) -> Column:
    return F.col(column).isin(*ids) if ids else F.lit(False)


def _while_unsettled(history: History) -> Column:
    unsettled = history.unsettled()
    if not unsettled:
        return F.lit(False)
    begins, ends = (F.lit(list(times)) for times in zip(*unsettled, strict=True))
    announced_ns = F.col("announced_ns")
    return F.exists(
        F.arrays_zip(begins.alias("b"), ends.alias("e")), lambda t: announced_ns.between(t["b"], t["e"])
    )


def count_by_subscriber(verdicts: DataFrame, lossy: Collection[int] = ()) -> list[SubscriberCounts]:
    """One row a client that was owed, or got, anything, in order of id.

    Args:
        verdicts: The table.
        lossy: Clients whose access links lose packets by plan: what left a router need not be reported.
    """
    rows = (
        verdicts.groupBy("subscriber")
        .agg(*_counted(), how_many(_unreported(lossy), "unreported"), how_many(_unseen(), "unseen"))
        .collect()
    )
    found = (SubscriberCounts(r.subscriber, _counts(r.asDict()), r.unreported, r.unseen) for r in rows)
    return sorted(found, key=lambda c: c.subscriber)


def _unreported(lossy: Collection[int]) -> Column:
    """A copy left for the client, which does not report it, though nothing was wrong with the way there."""
    unsettled = F.coalesce(F.col("reason").isin("network", "cut_off"), F.lit(False))
    excused = unsettled | _among("subscriber", lossy)
    return (F.col("copies") > 0) & (F.col("reports") == 0) & ~excused


def _unseen() -> Column:
    """The client reports what no copy left for."""
    return (F.col("reports") > 0) & (F.col("copies") == 0)


def _counted() -> list[Column]:
    """The aggregates behind `Counts`, over rows of `verdicts`."""
    verdict, owed, reason = F.col("verdict"), F.col("owed"), F.col("reason")
    came, allowed = verdict.isin(*ARRIVED), F.coalesce(~owed, F.lit(False))
    return [
        how_many(F.col("wanted"), "wanted"),
        how_many(owed, "owed"),
        how_many(came, "delivered"),
        how_many(came & ~owed, "allowed"),
        *(how_many(verdict == name, name) for name in ("missing", "spurious", "lost", "unknown")),
        _copies_too_many(~allowed, "duplicate"),
        _copies_too_many(allowed, "duplicate_allowed"),
        *(how_many(reason == name, f"not_owed {name}") for name in REASONS),
        *(how_many((reason == name) & (verdict == "lost"), f"lost_by {name}") for name in REASONS),
    ]


def _copies_too_many(of: Column, name: str) -> Column:
    return F.sum(F.when(of, F.greatest(F.col("copies") - 1, F.lit(0))).otherwise(0)).alias(name)


def _counts(row: Mapping[str, Any]) -> Counts:
    return counts_of({name: int(row.get(name) or 0) for name in TALLIED})


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


def count_crossings(crossings: DataFrame) -> tuple[list[CrossingCounts], list[Oddity]]:
    """Messages and wasted messages by direction of a link between routers; and what is odd about any."""
    where = {"altered": F.col("altered"), **{flaw: F.col("flaw") == flaw for flaw in FLAWS}}
    example, when = F.struct("source", "sequence", "hop_count"), F.coalesce("time_ns", "received_ns")
    none = F.lit(0).cast("bigint")
    rows = (
        crossings.groupBy("from_id", "to_id")
        .agg(
            F.first("access").alias("access"),
            F.sum("copies").alias("messages"),
            F.sum(F.when(F.col("wasted"), F.col("copies")).otherwise(none)).alias("wasted"),
            *(how_many(odd, name) for name, odd in where.items()),
            *(
                F.min_by(F.when(odd, example), F.when(odd, when)).alias(f"{n}_first")
                for n, odd in where.items()
            ),
        )
        .orderBy("from_id", "to_id")
        .collect()
    )
    counts = [CrossingCounts(r.from_id, r.to_id, r.messages, r.wasted) for r in rows if not r.access]
    oddities = [
        Oddity(name, r.from_id, r.to_id, r[name], *r[f"{name}_first"])
        for r in rows
        for name in where
        if r[name]
    ]
    return [c for c in counts if c.messages], oddities


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
    bad = verdicts.where(F.col("verdict").isin("missing", "unknown", "spurious", "duplicate"))
    rows = bad.select(*PAIR, "verdict", "copies").orderBy(*PAIR).limit(limit).collect()
    return [Failure(**r.asDict()) for r in rows]


def first_disagreements(verdicts: DataFrame, lossy: Collection[int] = (), limit: int = 3) -> list[Failure]:
    """The first deliveries that are in a capture and not in the client's events, or the reverse."""
    odd = verdicts.where(_unreported(lossy) | _unseen())
    rows = odd.select(*PAIR, F.lit("").alias("verdict"), "copies").orderBy(*PAIR).limit(limit).collect()
    return [Failure(**r.asDict()) for r in rows]


def delivered_digest(verdicts: DataFrame, names: DataFrame) -> str:
    """SHA-256 of the sorted lines `publisher sequence subscriber` of all delivered pairs."""
    publisher = names.select(F.col("id").alias("source"), F.col("name").alias("publisher"))
    receiver = names.select(F.col("id").cast("int").alias("subscriber"), F.col("name").alias("receiver"))
    lines = (
        verdicts.where(F.col("verdict").isin(*ARRIVED))
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


def slices_of(run: Run) -> Slices:
    """The time of a run, from when the network was ready, in equal parts."""
    lasted_ns = run.end_ns - run.start_ns
    if not run.started or lasted_ns <= 0:
        return NO_SLICES
    return Slices(run.start_ns, -(-lasted_ns // SLICES), SLICES)


def count_by_scope(
    spark: SparkSession,
    scopes: Sequence[Scope],
    publications: DataFrame,
    verdicts: DataFrame,
    deliveries: DataFrame,
    *,
    slices: Slices = NO_SLICES,
) -> list[ScopeCounts]:
    """One row a scope, in their order, then one a slice: all of them in one pass over the verdicts."""
    rows = [(number, scope.from_ns, scope.until_ns) for number, scope in enumerate(scopes)]
    parts = F.broadcast(spark.createDataFrame(rows, SCOPES))
    published = F.coalesce("time_ns", "announced_ns")
    scoped = publications.join(
        parts, (published >= F.col("from_ns")) & (published < F.col("until_ns"))
    ).select(*MESSAGE_ID, "scope")
    if slices.count:
        number = F.floor((published - slices.from_ns) / slices.width_ns)
        sliced = publications.where((number >= 0) & (number < slices.count))
        scoped = scoped.unionByName(
            sliced.select(*MESSAGE_ID, (number + len(scopes)).cast("int").alias("scope"))
        )
    judged = verdicts.join(deliveries.select(*PAIR, "latency_ns"), list(PAIR), "left")
    facts = scoped.join(judged, list(MESSAGE_ID)).select("scope", *_FACTS, F.lit(0).alias("published"))
    nobody = scoped.select(
        "scope",
        *(F.lit(None).cast(judged.schema[name].dataType).alias(name) for name in _FACTS),
        F.lit(1).alias("published"),
    )
    points = F.array(*(F.lit(share) for share in SHARES.values()))
    counted = (
        facts.unionByName(nobody)
        .groupBy("scope")
        .agg(
            F.sum("published").alias("publications"),
            *_counted(),
            F.avg(F.col("latency_ns").cast("double")).alias("mean"),
            F.percentile_approx("latency_ns", points, ACCURACY).alias("quantiles"),
        )
    )
    found = {row.scope: row.asDict() for row in counted.collect()}
    every = enumerate([*scopes, *slices.scopes()])
    return [_scope_counts(scope, found.get(number, {})) for number, scope in every]


_FACTS = ("verdict", "owed", "wanted", "reason", "copies", "latency_ns")


def _scope_counts(scope: Scope, row: Mapping[str, Any]) -> ScopeCounts:
    quantiles, mean = row.get("quantiles"), row.get("mean")
    latency = None
    if quantiles and mean is not None:
        latency = dict(zip(SHARES, map(int, quantiles), strict=True)) | {"mean": round(mean)}
    return ScopeCounts(scope, int(row.get("publications") or 0), _counts(row), latency)
