"""The tables about `bp`, `bs` and `amsp` (decision 31): empty under other schemes."""

from __future__ import annotations

from analysis.catalog.course import SLICE, SLICE_FROM
from analysis.catalog.model import FLAG, INT, LONG, TEXT, Column, Table
from analysis.catalog.network import FROM, LINK, TO

SIGNALLING = Table(
    "signalling",
    "One row a direction of a link between routers, what routers tell each other of under `bp`, `bs` and "
    "`amsp`, what they say of it, and slice of time; counted where it was sent, repetitions by the channel "
    "included.",
    (
        LINK,
        FROM,
        TO,
        Column(
            "what",
            TEXT,
            "",
            "`PCD`, `SCD` or `MCD`: a CD_UPDATE of such a descriptor or match; `COST_ANNOUNCE`, "
            "`CHANGE_MARKING` or `CHANGE_MARKING_REPLY`; `CD_UPDATE`: fragments of one after the first.",
        ),
        Column(
            "said",
            TEXT,
            "",
            "Of a descriptor or match: `new`, `again` (soft state), `withdrawn`, or `kept` (it no longer "
            "comes this way, and the matches that it made stay); null for others.",
        ),
        SLICE,
        SLICE_FROM,
        Column("messages", LONG, "payloads", "How many payloads began."),
        Column(
            "descriptors",
            LONG,
            "",
            "How many descriptors and matches they tell of: one each, and all that a CHANGE_MARKING or its "
            "reply lists.",
        ),
        Column("packets", LONG, "packets", "How many packets that was."),
        Column("bytes", LONG, "bytes", "The length of these packets, without the headers of frames."),
    ),
)

MARKINGS = Table(
    "markings",
    "One row a direction of a link between routers and time for which it was marked in one way, under `bp`, "
    "`bs` and `amsp`, as its upstream end was captured to have it.",
    (
        LINK,
        FROM,
        TO,
        Column(
            "from_ns", LONG, "ns", "Since when: the link has joined, a change was asked for, or answered."
        ),
        Column(
            "until_ns",
            LONG,
            "ns",
            "Until the next row of this direction; null: to the end. While a link is lost, what it had last "
            "counts; table `faults` says when it was down.",
        ),
        Column("marking", TEXT, "", "`p` or `s`; while it changes, what it changes to."),
        Column("changing", FLAG, "", "Whether the answer to a change is awaited."),
        Column(
            "change", LONG, "", "The number of the change that made it so; null: none, the link has joined."
        ),
    ),
)

MATCHES = Table(
    "matches",
    "One row a router and slice of time in which matches were made at it, under `bp`, `bs` and `amsp`: it "
    "told one to a neighbour before another had told it. Counted once each, however long they live.",
    (
        Column("node_id", INT, "", "The id of the router, the matchmaking node."),
        Column("name", TEXT, "", "Its name in the scenario."),
        SLICE,
        SLICE_FROM,
        Column("matches", LONG, "", "How many."),
    ),
)

TABLES = (SIGNALLING, MARKINGS, MATCHES)
