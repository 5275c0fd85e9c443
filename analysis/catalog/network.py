"""The tables about nodes and links: what they are, and what they carried."""

from __future__ import annotations

import pyarrow as pa

from analysis.catalog.model import DOUBLE, FLAG, INT, LONG, TEXT, Column, Table

NODES = Table(
    "nodes",
    "One row a node; the other tables have ids, this one has their names.",
    (
        Column("node_id", INT, "", "The id of the node, counted from 1, routers first."),
        Column("name", TEXT, "", "Its name in the scenario."),
        Column("role", TEXT, "", "`router` or `client`."),
        Column("tags", pa.list_(TEXT), "", "The groups that the scenario counts it to."),
    ),
)

LINK = Column("link", TEXT, "", "The name of the link.")
FROM = Column("from_id", INT, "", "The node at the end that sends.")
TO = Column("to_id", INT, "", "The node at the end that receives.")
KIND = Column(
    "kind_name",
    TEXT,
    "",
    "The kind of the control payload, such as `INTEREST`; of a packet without one, its type.",
)

LINK_DELAYS = Table(
    "link_delays",
    "One row a direction of a link over which messages or CONTROL packets went, access links included. "
    "Delays are from the capture at one end to that at the other; at a client its own report counts, "
    "`publish_time_ns` and the `deliver` event.",
    (
        LINK,
        FROM,
        TO,
        Column("sent", LONG, "messages", "How many messages were sent."),
        Column("arrived", LONG, "messages", "How many of them arrived."),
        Column("min_ns", LONG, "ns", "The least delay of a message; null if none arrived."),
        Column("p10_ns", LONG, "ns", "The delay that 10 % of the messages did not exceed; null likewise."),
        Column("p50_ns", LONG, "ns", "The median delay; null likewise."),
        Column("p90_ns", LONG, "ns", "The delay that 90 % of the messages did not exceed; null likewise."),
        Column("p99_ns", LONG, "ns", "The delay that 99 % of the messages did not exceed; null likewise."),
        Column("max_ns", LONG, "ns", "The largest delay of a message; null likewise."),
        Column("mean_ns", DOUBLE, "ns", "The mean delay; null likewise."),
        Column(
            "least_ns", LONG, "ns", "The least delay of messages and CONTROL packets; null if none arrived."
        ),
        Column("most_ns", LONG, "ns", "The largest delay of messages and CONTROL packets; null likewise."),
    ),
)

CLOCKS = Table(
    "clocks",
    "One row a node whose clock can be compared with that of another. The clock of the reference is right by "
    "definition; times in the other tables are corrected by the others (analysis.md).",
    (
        Column("node_id", INT, "", "The node."),
        Column("host", TEXT, "", "The host whose clock it reads; without any other word, the node itself."),
        Column(
            "offset_ns",
            LONG,
            "ns",
            "By how much it is ahead at the start; 0: it can be right; null: it was set while it ran.",
        ),
        Column(
            "drift_ppm", DOUBLE, "ppm", "How much faster it runs than that of the reference; null likewise."
        ),
        Column(
            "uncertainty_ns",
            LONG,
            "ns",
            "Corrected times are right to within this; null: nothing says how well.",
        ),
        Column(
            "residual_ns",
            LONG,
            "ns",
            "By how much packets arrive too early even so; of a clock that was set, by any line.",
        ),
        Column("even", FLAG, "", "Whether it ran without being set."),
    ),
)

TABLES = (NODES, LINK_DELAYS, CLOCKS)
