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
from analysis.transforms import PAIR, local

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
    excused = f"({_while_unsettled(history)} or {_among('source', excused_clients)})"
    rows = (
        publications.groupBy("source")
        .agg(
            F.expr("count(*) as total"),
            how_many(f"time_ns is null and not {excused}", "not_captured"),
            how_many("announced_ns is null", "not_announced"),
            how_many("not as_announced", "otherwise_announced"),
            F.expr("min(if(not as_announced, sequence, null)) as first_otherwise"),
        )
        .collect()
    )
    found = (PublicationCounts(**row.asDict()) for row in rows)
    return sorted(found, key=lambda client: client.source)


def _among(column: str, ids: Collection[int]) -> str:
    return f"{column} in ({', '.join(map(str, ids))})" if ids else "false"


def _while_unsettled(history: History) -> str:
    times = ", ".join(f"struct({b}L as b, {e}L as e)" for b, e in history.unsettled())
    return f"exists(array({times}), t -> announced_ns between t.b and t.e)" if times else "false"


def count_by_subscriber(verdicts: DataFrame, lossy: Collection[int] = ()) -> list[SubscriberCounts]:
    """One row a client that was owed, or got, anything, in order of id.

    Args:
        verdicts: The table.
        lossy: Clients whose access links lose packets by plan: what left a router need not be reported.
    """
    rows = (
        verdicts.groupBy("subscriber")
        .agg(*_counted(), how_many(_unreported(lossy), "unreported"), how_many(_UNSEEN, "unseen"))
        .collect()
    )
    found = (SubscriberCounts(r.subscriber, _counts(r.asDict()), r.unreported, r.unseen) for r in rows)
    return sorted(found, key=lambda c: c.subscriber)


def _unreported(lossy: Collection[int]) -> str:
    """A copy left for the client, which does not report it, though nothing was wrong with the way there."""
    unsettled = "coalesce(reason in ('network', 'cut_off'), false)"
    return f"(copies > 0 and reports = 0 and not {unsettled} and not {_among('subscriber', lossy)})"


_UNSEEN = "(reports > 0 and copies = 0)"
"""The client reports what no copy left for."""


def _counted() -> list[Column]:
    """The aggregates behind `Counts`, over rows of `verdicts`."""
    came = f"verdict in {ARRIVED}"
    conditions = {
        "wanted": "wanted",
        "owed": "owed",
        "delivered": came,
        "allowed": f"{came} and not owed",
        **{name: f"verdict = '{name}'" for name in ("missing", "spurious", "lost", "unknown")},
        **{f"not_owed {reason}": f"reason = '{reason}'" for reason in REASONS},
        **{f"lost_by {reason}": f"reason = '{reason}' and verdict = 'lost'" for reason in REASONS},
    }
    allowed, too_many = "coalesce(not owed, false)", "greatest(copies - 1, 0)"
    return [
        *(how_many(condition, name) for name, condition in conditions.items()),
        F.expr(f"sum(if({allowed}, 0, {too_many})) as duplicate"),
        F.expr(f"sum(if({allowed}, {too_many}, 0)) as duplicate_allowed"),
    ]


def _counts(row: Mapping[str, Any]) -> Counts:
    return counts_of({name: int(row.get(name) or 0) for name in TALLIED})


def how_many(condition: str, name: str) -> Column:
    """How many rows a condition is true of; where it is null, it is not."""
    return F.expr(f"count_if(coalesce({condition}, false)) as `{name}`")


def latency_curves(deliveries: DataFrame) -> list[LatencyCurve]:
    """The distribution over all deliveries first, then by hop count, ascending."""
    points = ", ".join(map(str, QUANTILES))
    rows = (
        deliveries.rollup("hop_count")
        .agg(
            F.expr("grouping(hop_count) as all"),
            F.expr("count(*) as deliveries"),
            F.expr("count(latency_ns) as timed"),
            F.expr("avg(cast(latency_ns as double)) as mean"),
            F.expr(f"percentile_approx(latency_ns, array({points}), {ACCURACY}) as quantiles"),
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
    where = {"altered": "altered", **{flaw: f"flaw = '{flaw}'" for flaw in FLAWS}}
    example, when = "struct(source, sequence, hop_count)", "coalesce(time_ns, received_ns)"
    firsts = (
        F.expr(f"min_by(if({odd}, {example}, null), if({odd}, {when}, null)) as {name}_first")
        for name, odd in where.items()
    )
    found = (
        crossings.groupBy("from_id", "to_id")
        .agg(
            F.expr("first(access) as access"),
            F.expr("sum(copies) as messages"),
            F.expr("sum(if(wasted, copies, 0L)) as wasted"),
            *(how_many(odd, name) for name, odd in where.items()),
            *firsts,
        )
        .collect()
    )
    rows = sorted(found, key=lambda row: (row.from_id, row.to_id))
    counts = [CrossingCounts(r.from_id, r.to_id, r.messages, r.wasted) for r in rows if not r.access]
    oddities = [
        Oddity(name, r.from_id, r.to_id, r[name], *r[f"{name}_first"])
        for r in rows
        for name in where
        if r[name]
    ]
    return [c for c in counts if c.messages], oddities


def count_trees(trees: DataFrame) -> tuple[TreeCounts, list[int]]:
    """The sums over all messages, and the routers at which they entered, ascending."""
    sums = (F.expr(f"coalesce(sum({name}), 0L) as {name}") for name in ("crossings", "wasted", "ideal"))
    row = trees.agg(
        F.expr("count(*) as messages"),
        *sums,
        F.expr("count_if(crossings > ideal) as beyond"),
        F.expr("count_if(not exact) as inexact"),
        F.expr("sort_array(collect_set(node_id)) as routers"),
    ).first()
    assert row is not None, "an aggregate without groups has one row"
    counts = row.asDict()
    routers = counts.pop("routers")
    return TreeCounts(**counts), list(routers)


def measure_stretch(stretches: DataFrame) -> Stretch | None:
    """Of all deliveries; None if there are none."""
    row = stretches.agg(
        F.expr("count(*) as deliveries"),
        F.expr("avg(stretch) as mean"),
        F.expr(f"percentile_approx(stretch, array(0.5D, 0.99D, 1.0D), {ACCURACY}) as quantiles"),
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
    odd = verdicts.where(f"{_unreported(lossy)} or {_UNSEEN}")
    rows = odd.select(*PAIR, F.lit("").alias("verdict"), "copies").orderBy(*PAIR).limit(limit).collect()
    return [Failure(**r.asDict()) for r in rows]


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
    *,
    slices: Slices = NO_SLICES,
) -> list[ScopeCounts]:
    """One row a scope, in their order, then one a slice."""
    published = publications.selectExpr(
        "coalesce(time_ns, announced_ns) as published_ns",
        *(f"cast(null as {kind}) as {name}" for name, kind in _FACTS.items()),
        "1 as published",
    )
    facts = verdicts.selectExpr("published_ns", *_FACTS, "0 as published").unionByName(published)
    shares = ", ".join(map(str, SHARES.values()))
    counted = (
        _scoped(spark, facts, scopes, slices)
        .groupBy("scope")
        .agg(
            F.expr("sum(published) as publications"),
            *_counted(),
            F.expr("avg(cast(latency_ns as double)) as mean"),
            F.expr(f"percentile_approx(latency_ns, array({shares}), {ACCURACY}) as quantiles"),
        )
    )
    found = {row.scope: row.asDict() for row in counted.collect()}
    every = enumerate([*scopes, *slices.scopes()])
    return [_scope_counts(scope, found.get(number, {})) for number, scope in every]


_FACTS = {
    "verdict": "string",
    "owed": "boolean",
    "wanted": "boolean",
    "reason": "string",
    "copies": "bigint",
    "latency_ns": "bigint",
}


def _scoped(spark: SparkSession, facts: DataFrame, scopes: Sequence[Scope], slices: Slices) -> DataFrame:
    """The facts, once for each scope and slice in which they were published."""
    parts = []
    if scopes:
        rows = [(number, scope.from_ns, scope.until_ns) for number, scope in enumerate(scopes)]
        within = F.expr("published_ns >= from_ns and published_ns < until_ns")
        parts.append(facts.join(F.broadcast(local(spark, rows, SCOPES)), within))
    if slices.count:
        number = f"floor((published_ns - {slices.from_ns}) / {slices.width_ns})"
        sliced = facts.where(f"{number} >= 0 and {number} < {slices.count}")
        parts.append(sliced.selectExpr(*facts.columns, f"cast({number} + {len(scopes)} as int) as scope"))
    columns = ("scope", *facts.columns)
    none = facts.selectExpr("-1 as scope", *facts.columns).where("false")
    first, *others = [part.select(*columns) for part in parts] or [none]
    for other in others:
        first = first.union(other)
    return first


def _scope_counts(scope: Scope, row: Mapping[str, Any]) -> ScopeCounts:
    quantiles, mean = row.get("quantiles"), row.get("mean")
    latency = None
    if quantiles and mean is not None:
        latency = dict(zip(SHARES, map(int, quantiles), strict=True)) | {"mean": round(mean)}
    return ScopeCounts(scope, int(row.get("publications") or 0), _counts(row), latency)
