"""What each direction of each link did to messages: who sent when, and how long it took to arrive.

Of a link between routers both ends are captured. Of an access link one end is;
the other is the client, whose word is taken: `publish_time_ns` in the message
as it leaves, the `deliver` event as it arrives. Delays are differences of two
clocks where a link joins two machines.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.transforms import MESSAGE_ID, PAIR

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
    return _hops(crossings, F.col("from_id"), F.col("to_id"), F.col("time_ns"), F.col("received_ns"))


def _from_publishers(publications: DataFrame, homes: DataFrame) -> DataFrame:
    """A message that no router has seen was sent, if its client says so."""
    home = homes.select(F.col("subscriber").cast("bigint").alias("source"), "router")
    sent = publications.join(F.broadcast(home), "source")
    when = F.coalesce("publish_time_ns", "announced_ns")
    return _hops(sent, F.col("source").cast("int"), F.col("router"), when, F.col("time_ns"))


def _to_subscribers(deliveries: DataFrame, events: DataFrame, clients: DataFrame) -> DataFrame:
    said = events.where(F.col("event") == "deliver").join(F.broadcast(clients), "node")
    arrivals = said.select(
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


def to_link_delays(hops: DataFrame, ends: DataFrame) -> DataFrame:
    """Messages sent and arrived and the distribution of their delays, by direction of a link."""
    quantiles = F.percentile_approx("delay_ns", F.array(*(F.lit(s) for s in SHARES.values())), _ACCURACY)
    found = hops.groupBy("from_id", "to_id").agg(
        F.count("*").alias("sent"),
        F.count("delay_ns").alias("arrived"),
        F.min("delay_ns").alias("min_ns"),
        quantiles.alias("quantiles"),
        F.max("delay_ns").alias("max_ns"),
        F.avg(F.col("delay_ns").cast("double")).alias("mean_ns"),
    )
    columns = [F.col("quantiles")[i].alias(name) for i, name in enumerate(SHARES)]
    return found.join(F.broadcast(ends), ["from_id", "to_id"], "left").select(
        "link", "from_id", "to_id", "sent", "arrived", "min_ns", *columns, "max_ns", "mean_ns"
    )
