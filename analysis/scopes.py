"""Parts of a run's time, and what became of the messages published in each.

A phase is a part that the scenario names; `recovery` is all that comes after
the fixpoint that followed the last fault. A message belongs to the part in
which it was published. Not here: what the scenario expects of them
(`expectations`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.calm import FOREVER, History
from analysis.findings import RECOVERY, ScopeCounts
from analysis.rundir import Run
from analysis.schemas import SCOPES
from analysis.summary import ACCURACY, how_many
from analysis.transforms import MESSAGE_ID, PAIR

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
    last = history.calms[-1] if history.calms else None
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
