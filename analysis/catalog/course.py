"""The tables about what happened when (links, control traffic, faults, convergence), and about routers."""

from __future__ import annotations

import pyarrow as pa

from analysis.catalog.model import DOUBLE, FLAG, INT, LONG, TEXT, Column, Table
from analysis.catalog.network import FROM, KIND, LINK, TO
from topologies.fault_kinds import APPLIED, KINDS

SLICE = Column(
    "slice",
    INT,
    "",
    "The number of the slice: the time from when the network was ready until the end is cut into 60 of one "
    "length; -1 is what was before, 60 what was after.",
)
SLICE_FROM = Column("from_ns", LONG, "ns", "When the slice begins; null for slice -1.")

CONTROL = Table(
    "control",
    "One row a link, kind of control traffic and slice of time; MESSAGE, PAD and SEAL are not in it.",
    (
        LINK,
        KIND,
        SLICE,
        SLICE_FROM,
        Column("packets", LONG, "packets", "How many there were, each counted once, in both directions."),
        Column("bytes", LONG, "bytes", "The length of these CBN packets, without the headers of frames."),
    ),
)

LINKS = Table(
    "links",
    "One row a direction of a link and slice of time in which packets were captured on it, access links "
    "included.",
    (
        LINK,
        FROM,
        TO,
        Column("access", FLAG, "", "Whether one of the two is a client."),
        SLICE,
        SLICE_FROM,
        Column(
            "messages",
            LONG,
            "packets",
            "How many MESSAGE packets were sent; what a client sends is counted where it arrives.",
        ),
        Column("message_bytes", LONG, "bytes", "The length of these packets, without the headers of frames."),
        Column(
            "control_packets", LONG, "packets", "How many packets of control traffic were sent, likewise."
        ),
        Column("control_bytes", LONG, "bytes", "The length of these packets, likewise."),
        Column(
            "frames",
            LONG,
            "frames",
            "How many frames held all packets that were sent, PAD and SEAL included.",
        ),
        Column("frame_bytes", LONG, "bytes", "The length of these frames, with their headers."),
        Column(
            "arrived_messages",
            LONG,
            "packets",
            "How many MESSAGE packets were captured at the other end in this slice; null on access links, "
            "and where the capture of an end is incomplete.",
        ),
        Column("arrived_control", LONG, "packets", "Likewise of control traffic; null likewise."),
        Column(
            "lost_messages",
            LONG,
            "packets",
            "How many MESSAGE packets that were sent in this slice never arrived; null likewise.",
        ),
        Column(
            "throughput_bps",
            DOUBLE,
            "bit/s",
            "`frame_bytes` in bits over the length of the slice; null for slices -1 and 60.",
        ),
        Column(
            "utilisation",
            DOUBLE,
            "",
            "`frame_bytes` over what the rate of the link lets pass in the slice, more than 1 where more was "
            "sent into it; null for slices -1 and 60, and where the plan gives no rate for all of the time.",
        ),
    ),
)

OF_MESSAGES = (
    Column("wanted", LONG, "pairs", "How many pairs of them and a client were wanted (analysis.md)."),
    Column("owed", LONG, "pairs", "How many pairs were owed."),
    Column("arrived", LONG, "pairs", "How many of the wanted pairs arrived."),
    Column("missing", LONG, "pairs", "How many pairs are missing."),
    Column("lost", LONG, "pairs", "How many pairs were lost."),
    Column("cut_off", LONG, "pairs", "How many of these because no path led to the client."),
    Column("unknown", LONG, "pairs", "How many pairs are unknown."),
    Column(
        "duplicate",
        LONG,
        "packets",
        "How many copies beyond the first were delivered, whether allowed or not.",
    ),
    Column(
        "late",
        LONG,
        "pairs",
        "How many pairs arrived later than `timing.settle_ns` of the plan after the message was published.",
    ),
)

_KINDS = [f"`{name}`" for name in APPLIED if KINDS[name].repairs is None]

FAULTS = Table(
    "faults",
    "One row a fault that was carried out; a repair is no fault of its own, but ends one.",
    (
        Column("fault", INT, "", "Its number, in order of time from 1 on."),
        Column("kind", TEXT, "", f"What happened: {', '.join(_KINDS)}."),
        Column("target", TEXT, "", "The name of the link or node."),
        Column("a_id", INT, "", "The node, or the one end of the link; null if it is not in the plan."),
        Column("b_id", INT, "", "The other end of the link; null if it is a node, or not in the plan."),
        Column("planned_ns", LONG, "ns", "When it was to happen; null if somebody did it by hand."),
        Column("time_ns", LONG, "ns", "When it happened."),
        Column(
            "until_ns",
            LONG,
            "ns",
            "When it was repaired, or followed by another of its kind; null if that never happened. Of a "
            "`rekey` the same moment.",
        ),
        Column(
            "episode",
            INT,
            "",
            "The row of `convergence` of which it is a cause; null if the network was not ready yet, and for "
            "what may do no harm (`rekey`, attacks).",
        ),
        Column("published", LONG, "messages", "How many messages were published while it lasted."),
        *OF_MESSAGES,
    ),
)

CONVERGENCE = Table(
    "convergence",
    "One row for the start of the network, and one for each time in which it was not settled because of "
    "faults; faults that no fixpoint separates are one row.",
    (
        Column("episode", INT, "", "Its number: 0 is the start, the others follow in order of time."),
        Column("causes", TEXT, "", "`start`, or all faults and repairs, in order of time."),
        Column(
            "from_ns",
            LONG,
            "ns",
            "When the network was started, or the first fault happened; null if nobody noted the start.",
        ),
        Column("last_fault_ns", LONG, "ns", "When the last of them happened; null likewise."),
        Column(
            "settled_ns",
            LONG,
            "ns",
            "When the network had converged, by its own word; null if it did not any more.",
        ),
        Column(
            "took_ns",
            LONG,
            "ns",
            "How long it took after the last of them, as manifest.json has it; null if it was not measured, "
            "or did not converge.",
        ),
        Column(
            "records",
            LONG,
            "records",
            "How often a router was captured to have a newer record of the links, the interest or the offers "
            "of a router than before, or to be told by a neighbour what is wanted (CBCB_RA, CBCB_UR, "
            "SIENA_*, CD_UPDATE); of several between two faults, the newest counts.",
        ),
        Column(
            "last_record_ns",
            LONG,
            "ns",
            "When that was first captured for the last of them; null if none was.",
        ),
        Column(
            "records_took_ns",
            LONG,
            "ns",
            "From `last_fault_ns` to `last_record_ns`; null if no newer record followed the last fault.",
        ),
        Column("control_packets", LONG, "packets", "How much control traffic there was meanwhile."),
        Column("control_bytes", LONG, "bytes", "The length of these packets, without the headers of frames."),
        Column("payload_packets", LONG, "packets", "How many of them were CONTROL packets."),
        Column("payload_bytes", LONG, "bytes", "The length of these."),
        Column("published", LONG, "messages", "How many messages were published meanwhile."),
        *OF_MESSAGES,
    ),
)

QUANTILE = "The time that {} % of them did not exceed; null likewise."
ROUTERS = Table(
    "routers",
    "One row a router. A message that is sent on over several links counts once for each of them.",
    (
        Column("node_id", INT, "", "The id of the router."),
        Column("name", TEXT, "", "Its name in the scenario."),
        Column("entered", LONG, "packets", "How many MESSAGE packets it received from its clients."),
        Column("received", LONG, "packets", "How many it received from other routers."),
        Column("forwarded", LONG, "packets", "How many it sent to other routers."),
        Column("delivered", LONG, "packets", "How many it sent to its clients."),
        Column(
            "wasted",
            LONG,
            "packets",
            "How many were sent to it by other routers though no delivery descends from them.",
        ),
        Column("control_sent", LONG, "packets", "How many packets of control traffic it sent."),
        Column("control_sent_bytes", LONG, "bytes", "The length of these packets."),
        Column("control_received", LONG, "packets", "How many packets of control traffic it received."),
        Column("control_received_bytes", LONG, "bytes", "The length of these packets."),
        Column(
            "timed",
            LONG,
            "packets",
            "How many hops away from it are timed: the rows of table `hops` with `waited_ns`.",
        ),
        Column(
            "waited_min_ns", LONG, "ns", "The least time from arrival until sending; null if no hop is timed."
        ),
        Column("waited_p50_ns", LONG, "ns", QUANTILE.format(50)),
        Column("waited_p90_ns", LONG, "ns", QUANTILE.format(90)),
        Column("waited_p99_ns", LONG, "ns", QUANTILE.format(99)),
        Column("waited_max_ns", LONG, "ns", "The longest of these times; null likewise."),
        *(
            Column(name, LONG, unit, f"{says}; null if its last status is not known.")
            for name, unit, says in (
                ("classes", "", "How many header classes its FIB had at the end"),
                ("tables", "", "How many forwarding tables"),
                ("filters", "", "How many filters in them"),
                ("constraints", "", "How many constraints in them"),
                ("fib_bytes", "bytes", "How much memory the FIB took"),
            )
        ),
        *(
            Column(
                name,
                LONG,
                "",
                f"How many {of} it held at the end, under `bp`, `bs` and `amsp`; null likewise.",
            )
            for name, of in (
                ("pcds", "descriptors of publications (PCDs)"),
                ("scds", "descriptors of subscriptions (SCDs)"),
                ("mcds", "matches of both (MCDs)"),
            )
        ),
        Column(
            "drops",
            pa.map_(TEXT, LONG),
            "",
            "What it dropped by its last status, by reason (protocols.md), without reasons that did not "
            "occur; null likewise.",
        ),
    ),
)

TABLES = (CONTROL, LINKS, FAULTS, CONVERGENCE, ROUTERS)
