"""From packets to tables: publications, deliveries, crossings, delays, control, verdicts.

Functions from DataFrame to DataFrame, columns as in `docs/run-directory.md`.
Grouping with conditional minima stands where self-joins might; times stay
BIGINT nanoseconds. The oracle is in `analysis.oracle`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name all of Spark's documentation uses)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from analysis.calm import LAST_CLASS, RECORDS
from analysis.descent import OUTSIDE, crossings_of
from analysis.findings import NO_CONTROL
from analysis.schemas import CROSSINGS, VISITS
from nodes.wire.packets import PacketType

MESSAGE_ID = ("source", "sequence")
PAIR = (*MESSAGE_ID, "subscriber")


def local(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """A small table of the driver's: handed over as columns, it costs neither a task nor a worker."""
    arrow = to_arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(arrow)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), schema)


def to_publications(packets: DataFrame, events: DataFrame) -> DataFrame:
    """Every message that a client sent or reported as sent, once.

    A message counts as published where its source's own access interface shows
    it; what a client sends with the id of another does not count (the router drops it).
    """
    seen = packets.where(_is_message() & ~F.col("sent") & F.col("peer_is_client"))
    seen = seen.where(F.col("source") == F.col("peer_id")).select(*MESSAGE_ID, *_SEEN, *_no_announcement())
    reported = events.where(F.col("event") == "publish").select(
        *MESSAGE_ID,
        *(F.lit(None).cast(kind).alias(name) for name, kind in _SEEN.items()),
        F.col("time_ns").alias("announced_ns"),
        "message",
    )
    first = [F.min_by(name, "time_ns").alias(name) for name in _SEEN if name != "time_ns"]
    return (
        seen.unionByName(reported)
        .groupBy(*MESSAGE_ID)
        .agg(
            F.min("time_ns").alias("time_ns"),
            *first,
            F.min("announced_ns").alias("announced_ns"),
            F.min("message").alias("message"),
        )
    )


_SEEN = {
    "node_id": "int",
    "time_ns": "bigint",
    "publish_time_ns": "bigint",
    "attribute_count": "int",
    "attributes": "binary",
    "content": "bigint",
    "hop_count": "int",
}


def _no_announcement() -> list[Column]:
    return [
        F.lit(None).cast("bigint").alias("announced_ns"),
        F.lit(None).cast("string").alias("message"),
    ]


def _is_message() -> Column:
    return F.col("type") == int(PacketType.MESSAGE)


def to_deliveries(packets: DataFrame, publications: DataFrame) -> DataFrame:
    """Each message that left a router towards a client, with its latency and copies."""
    left = packets.where(_is_message() & F.col("sent") & F.col("peer_is_client"))
    first = left.groupBy(*MESSAGE_ID, F.col("peer_id").alias("subscriber")).agg(
        F.min("time_ns").alias("time_ns"),
        F.min_by("hop_count", "time_ns").alias("hop_count"),
        F.min("node_id").alias("node_id"),
        F.count("*").alias("copies"),
    )
    entered = publications.selectExpr(
        *MESSAGE_ID, "time_ns as entered_ns", "coalesce(time_ns, announced_ns) as published_ns"
    )
    return first.join(entered, list(MESSAGE_ID), "left").selectExpr(
        *PAIR,
        "node_id",
        "time_ns",
        "time_ns - entered_ns as latency_ns",
        "hop_count",
        "copies",
        "published_ns",
    )


def to_crossings(packets: DataFrame, deliveries: DataFrame, publications: DataFrame) -> DataFrame:
    """Each message over each link away from a router, as sent and as received, with what is odd about it.

    Both ends of a link between routers are captured and what is on it does not change on its way. All visits
    of a message come together in one task: what was captured, its first entry, and its deliveries.

    - `wasted`: no delivery descends from it. The visits are passed from the last hop to the
      first, keeping the (router, hop) places from which a delivery descends.
    - `flaw`: null if its copies are in order; `unsent`, if nothing but its arrival was captured;
      `hops`, if the message came to the router from which it left, but not with one hop less;
      `pathless`, if it never did.
    - `altered`: its copies are the first of the message whose content is not that of the publication.
    """
    moves = packets.where(f"type = {int(PacketType.MESSAGE)} and (sent or not peer_is_client)")
    captured = moves.selectExpr(
        *MESSAGE_ID,
        "if(sent, node_id, peer_id) as from_id",
        "if(sent, peer_id, node_id) as to_id",
        *("hop_count", "sent", "time_ns", "peer_is_client as access", "content"),
    )
    nothing = ("false as sent", "0L as time_ns", "false as access")
    entries = publications.where("node_id is not null").selectExpr(
        *MESSAGE_ID, f"{OUTSIDE} as from_id", "node_id as to_id", "hop_count", *nothing, "content"
    )
    exits = deliveries.selectExpr(
        *MESSAGE_ID, "node_id as from_id", f"{OUTSIDE} as to_id", "hop_count", *nothing, "null as content"
    )
    visits = captured.unionByName(entries).unionByName(exits).to(VISITS)
    in_order = visits.repartition(*MESSAGE_ID).sortWithinPartitions(*MESSAGE_ID)
    return in_order.mapInArrow(crossings_of, CROSSINGS)


def to_verdicts(
    expected: DataFrame,
    deliveries: DataFrame,
    events: DataFrame,
    clients: DataFrame,
    unseen: Collection[int] = (),
) -> DataFrame:
    """One row a (message, subscriber) pair that was wanted, or happened, or was reported.

    Args:
        expected: The table.
        deliveries: The table.
        events: Of the clients.
        clients: `subscriber` by `node`.
        unseen: Clients to whose access interface the capture is incomplete.
    """
    due = expected.selectExpr(*PAIR, "owed", "wanted", "reason", "published_ns", *_NOT_LEFT, "0L as reports")
    left = deliveries.selectExpr(
        *PAIR, *_NOTHING_DUE, "published_ns", "copies", "latency_ns", "0L as reports"
    )
    reported = (
        events.where("event = 'deliver'")
        .join(F.broadcast(clients), "node")
        .selectExpr(*PAIR, *_NOTHING_DUE, "null as published_ns", *_NOT_LEFT, "1L as reports")
    )
    pairs = due.unionByName(left).unionByName(reported).groupBy(*PAIR)
    greatest = (F.expr(f"max({name}) as {name}") for name in _OF_PAIR)
    facts = pairs.agg(*greatest, F.expr("sum(reports) as reports"))
    verdict = _verdict(F.col("subscriber").isin(*unseen) if unseen else F.lit(False))
    judged = facts.select(*PAIR, verdict.alias("verdict"), *_VERDICT)
    return judged.where("verdict is not null or reports > 0")


_NOTHING_DUE = ("null as owed", "false as wanted", "null as reason")
_NOT_LEFT = ("0L as copies", "null as latency_ns")
_OF_PAIR = ("owed", "wanted", "reason", "published_ns", "copies", "latency_ns")
_VERDICT = ("owed", "wanted", "reason", "copies", "reports", "published_ns", "latency_ns")


def _verdict(unseen: Column) -> Column:
    """What became of a pair; the same as `oracle.verdict_of`, where the captures are complete."""
    none_left = F.col("copies") == 0
    return (
        F.when(none_left & F.col("owed") & unseen, "unknown")
        .when(none_left & F.col("owed"), "missing")
        .when(none_left & F.col("wanted") & (F.col("reports") == 0), "lost")
        .when(none_left, F.lit(None))
        .when(F.col("owed").isNull(), "spurious")
        .when(F.col("owed") & (F.col("copies") > 1), "duplicate")
        .otherwise("delivered")
    )


def to_traffic(packets: DataFrame) -> DataFrame:
    """Packets and bytes by interface, direction, type and kind: once per crossing of a link.

    What a router sends is counted there; only clients' interfaces are not
    captured, so what they send is counted where it arrives.
    """
    return (
        packets.where(F.col("sent") | F.col("peer_is_client"))
        .groupBy("interface", "sent", "type", "kind")
        .agg(F.count("*").alias("packets"), F.sum("packet_bytes").alias("bytes"))
    )


def to_control(traffic: DataFrame, links: DataFrame, kinds: DataFrame) -> DataFrame:
    """What the protocols themselves cost, by link and kind of packet: table `control`."""
    named = traffic.where(~F.col("type").isin(*NO_CONTROL)).join(F.broadcast(links), "interface")
    known = named.join(F.broadcast(kinds), on=_same_kind(named, kinds), how="left")
    unknown = F.concat(F.lit("kind "), F.coalesce(named["kind"], named["type"]).cast("string"))
    return known.groupBy("link", F.coalesce("kind_name", unknown).alias("kind_name")).agg(
        F.sum("packets").alias("packets"), F.sum("bytes").alias("bytes")
    )


def _same_kind(traffic: DataFrame, kinds: DataFrame) -> Column:
    return (traffic["type"] == kinds["type"]) & traffic["kind"].eqNullSafe(kinds["kind"])


def to_last_records(packets: DataFrame, fixpoints_ns: Sequence[int]) -> DataFrame:
    """The greatest sequence of each origin's records that each router sent or received between two fixpoints.

    `stage` is the number of the first fixpoint at or after it; what comes after the last is left out.
    """
    is_record = (F.col("type") == int(PacketType.CONTROL)) & F.col("source").isNotNull()
    records = packets.where(is_record & (F.col("sequence") < LAST_CLASS))
    later = [F.when(F.col("time_ns") > end, 1).otherwise(0) for end in fixpoints_ns]
    kind: Column = F.col("kind")
    of = reduce(lambda so_far, k: F.when(kind == int(k), RECORDS[k]).otherwise(so_far), RECORDS, F.lit(-1))
    staged = records.select(
        F.col("node_id").alias("router"),
        F.col("source").alias("origin"),
        of.alias("of"),
        reduce(lambda a, b: a + b, later, F.lit(0)).alias("stage"),
        "sequence",
    )
    return (
        staged.where(F.col("stage") < len(fixpoints_ns))
        .groupBy("router", "origin", "of", "stage")
        .agg(F.max("sequence").alias("sequence"))
    )


SHARES = {"p10_ns": 0.1, "p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
_ACCURACY = 10_000


def to_hops(
    crossings: DataFrame,
    publications: DataFrame,
    deliveries: DataFrame,
    events: DataFrame,
    *,
    clients: DataFrame,
    homes: DataFrame,
) -> DataFrame:
    """One row a message and direction of a link: `delay_ns` is null where it never arrived."""
    return (
        _between_routers(crossings)
        .unionByName(_from_publishers(publications, homes))
        .unionByName(_to_subscribers(deliveries, events, clients))
    )


def _between_routers(crossings: DataFrame) -> DataFrame:
    between = crossings.where(~F.col("access") & (F.col("copies") > 0))
    return _hops(between, F.col("from_id"), F.col("to_id"), F.col("time_ns"), F.col("received_ns"))


def to_control_hops(packets: DataFrame) -> DataFrame:
    """The same for CONTROL packets between routers, from the first sending of each to its first arrival."""
    sent, node, peer = F.col("sent"), F.col("node_id"), F.col("peer_id")
    between = packets.where((F.col("type") == int(PacketType.CONTROL)) & ~F.col("peer_is_client"))
    met = between.groupBy(
        "content",
        F.when(sent, node).otherwise(peer).alias("from_id"),
        F.when(sent, peer).otherwise(node).alias("to_id"),
    ).agg(
        F.min(F.when(sent, F.col("time_ns"))).alias("out"),
        F.min(F.when(~sent, F.col("time_ns"))).alias("in"),
    )
    numbered = met.select(
        F.lit(0).cast("bigint").alias("source"), F.col("content").alias("sequence"), *met.columns[1:]
    )
    return _hops(numbered, F.col("from_id"), F.col("to_id"), F.col("out"), F.col("in"))


def _from_publishers(publications: DataFrame, homes: DataFrame) -> DataFrame:
    """A message that no router has seen was sent, if its client reports it."""
    home = homes.select(F.col("subscriber").cast("bigint").alias("source"), "router")
    sent = publications.join(F.broadcast(home), "source")
    when = F.coalesce("publish_time_ns", "announced_ns")
    return _hops(sent, F.col("source").cast("int"), F.col("router"), when, F.col("time_ns"))


def _to_subscribers(deliveries: DataFrame, events: DataFrame, clients: DataFrame) -> DataFrame:
    reported = events.where(F.col("event") == "deliver").join(F.broadcast(clients), "node")
    arrivals = reported.select(
        *PAIR, F.lit(None).cast("int").alias("node_id"), _none(), F.col("time_ns").alias("in")
    )
    departures = deliveries.select(*PAIR, "node_id", F.col("time_ns").alias("out"), _none("in"))
    both = departures.unionByName(arrivals).groupBy(*PAIR)
    met = both.agg(F.max("node_id").alias("node_id"), F.min("out").alias("out"), F.min("in").alias("in"))
    left = met.where(F.col("out").isNotNull())
    return _hops(left, F.col("node_id"), F.col("subscriber"), F.col("out"), F.col("in"))


def _none(name: str = "out") -> Column:
    return F.lit(None).cast("bigint").alias(name)


def _hops(table: DataFrame, sender: Column, receiver: Column, sent: Column, received: Column) -> DataFrame:
    return table.select(
        *MESSAGE_ID,
        sender.alias("from_id"),
        receiver.alias("to_id"),
        sent.alias("sent_ns"),
        (received - sent).alias("delay_ns"),
    )


def to_link_delays(hops: DataFrame, control_hops: DataFrame, ends: DataFrame) -> DataFrame:
    """Messages sent and arrived and the distribution of their delays, by direction of a link.

    `least_ns` and `most_ns` are of the CONTROL packets too.
    """
    both = hops.withColumn("is_message", F.lit(True)).unionByName(
        control_hops.withColumn("is_message", F.lit(False))
    )
    delay = F.when(F.col("is_message"), F.col("delay_ns"))
    quantiles = F.percentile_approx(delay, F.array(*(F.lit(s) for s in SHARES.values())), _ACCURACY)
    found = both.groupBy("from_id", "to_id").agg(
        F.count_if(F.col("is_message")).alias("sent"),
        F.count(delay).alias("arrived"),
        F.min(delay).alias("min_ns"),
        quantiles.alias("quantiles"),
        F.max(delay).alias("max_ns"),
        F.avg(delay.cast("double")).alias("mean_ns"),
        F.min("delay_ns").alias("least_ns"),
        F.max("delay_ns").alias("most_ns"),
    )
    columns = [F.col("quantiles")[i].alias(name) for i, name in enumerate(SHARES)]
    return found.join(F.broadcast(ends), ["from_id", "to_id"], "left").select(
        *("link", "from_id", "to_id", "sent", "arrived", "min_ns"),
        *columns,
        *("max_ns", "mean_ns", "least_ns", "most_ns"),
    )
