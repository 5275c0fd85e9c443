"""Whether two runs published the same messages and delivered them to the same clients, by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.compare.side import Side
from analysis.transforms import PAIR

EXAMPLES = 10
"""Deliveries of one run alone that are told one by one."""
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
    told = side.placed(side.table("publications").withColumn("node", F.col("source").cast("int")), "node")
    content = F.xxhash64(F.coalesce(F.col("message").cast("binary"), "attributes"))
    return told.select("node", "sequence", *side.apart("of", content, "bigint"))


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
    told = verdicts.unionByName(hops).withColumn("node", F.col("source").cast("int"))
    kinds = (("got", "boolean"), ("owed", "boolean"), ("hops", "int"))
    apart = [column for name, kind in kinds for column in side.apart(name, F.col(name), kind)]
    return side.placed(told, "node", "subscriber").select(*_MEETING, *apart)


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
