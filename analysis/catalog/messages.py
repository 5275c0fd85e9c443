"""The tables about messages: what was captured of them, where they went, and what was owed."""

from __future__ import annotations

from analysis.catalog.model import BYTES, FLAG, INT, LONG, TEXT, Column, Table, described
from analysis.catalog.network import FROM, TO
from analysis.decode import SCHEMA

SOURCE = Column("source", LONG, "", "The node id of the client that published the message.")
SEQUENCE = Column("sequence", LONG, "", "The number that the client gave the message.")
MESSAGE = (SOURCE, SEQUENCE)
SUBSCRIBER = Column("subscriber", INT, "", "The node id of the client at the other end of the pair.")

PACKETS = Table(
    "packets",
    "One row a CBN packet in a capture.",
    described(
        SCHEMA,
        {
            "interface": ("", "The name of the interface on which the packet was captured."),
            "node_id": ("", "The router whose interface it is."),
            "peer_id": ("", "The node at the other end of the link."),
            "peer_is_client": ("", "Whether that node is a client."),
            "sent": ("", "Whether the packet leaves the router; otherwise it arrives."),
            "time_ns": ("ns", "When the frame was captured."),
            "frame_bytes": (
                "bytes",
                "The length of the frame on the link, or of all frames of a datagram in fragments.",
            ),
            "packet_bytes": ("bytes", "The length of the CBN packet, without the headers of the frame."),
            "type": ("", "The type of the packet (wire-format.md)."),
            "source": (
                "",
                "Of a MESSAGE the id of its publisher; of a CONTROL packet that begins a LINK_STATE, an "
                "INTEREST, an OFFER, or a change of these, the origin of the record; null for others.",
            ),
            "header_class": ("", "The header class of a MESSAGE; null for others."),
            "sequence": (
                "",
                "Of a MESSAGE its number; of a CONTROL packet that begins a LINK_STATE, an INTEREST, an "
                "OFFER, or a change of these, the sequence of the record; null for others.",
            ),
            "publish_time_ns": (
                "ns",
                "When the publisher says that it published the MESSAGE; null for others.",
            ),
            "hop_limit": ("hops", "How many hops the MESSAGE may still take; null for others."),
            "hop_count": ("hops", "How many routers have forwarded the MESSAGE; null for others."),
            "attribute_count": ("", "How many attributes the MESSAGE has; null for others."),
            "attributes": (
                "",
                "The encoded attributes of a MESSAGE that a client sent to its router; null for others.",
            ),
            "kind": ("", "The kind of control payload in a CONTROL packet; null for others."),
            "content": (
                "",
                "A digest: of a MESSAGE of what may not change on its way (publish_time_ns, attributes, "
                "payload), of a CONTROL packet of both incarnations and its sequence, so that repetitions "
                "have the same one; 0 for others.",
            ),
            "front": (
                "",
                "The first 57 bytes of a CONTROL packet with a COST_ANNOUNCE, CHANGE_MARKING, "
                "CHANGE_MARKING_REPLY or CD_UPDATE (`bp`, `bs`, `amsp`); null for others.",
            ),
        },
    ),
)

PUBLICATIONS = Table(
    "publications",
    "One row a message that was captured at its publisher's access interface, or is in a `publish` event; "
    "a MESSAGE that a client sends with the id of another is not counted.",
    (
        *MESSAGE,
        Column("time_ns", LONG, "ns", "When its router first received it; null if no capture has that."),
        Column("node_id", INT, "", "The router that received it; null if no capture has that."),
        Column("publish_time_ns", LONG, "ns", "When the publisher says that it published it; null likewise."),
        Column("attribute_count", INT, "", "How many attributes it has; null likewise."),
        Column("attributes", BYTES, "", "Its encoded attributes; null likewise."),
        Column("content", LONG, "", "The digest of its content, as in `packets`; null likewise."),
        Column(
            "hop_count",
            INT,
            "hops",
            "Its hop count there, 0 if the client keeps to the protocol; null likewise.",
        ),
        Column("announced_ns", LONG, "ns", "The time of the `publish` event; null if there is none."),
        Column("message", TEXT, "", "The message as text, of the `publish` event; null if there is none."),
        Column(
            "as_announced",
            FLAG,
            "",
            "Whether the captured attributes are those of the event, which has no payload; null if one of "
            "the two is missing.",
        ),
    ),
)

DELIVERIES = Table(
    "deliveries",
    "One row a message and client towards which a router sent it.",
    (
        *MESSAGE,
        SUBSCRIBER,
        Column("node_id", INT, "", "The router of the client."),
        Column("time_ns", LONG, "ns", "When the first copy left the router towards the client."),
        Column(
            "latency_ns",
            LONG,
            "ns",
            "From the first capture of the message at its publisher's router to `time_ns`; null if that was "
            "not captured.",
        ),
        Column("hop_count", INT, "hops", "The hop count of the first copy that left."),
        Column("copies", LONG, "packets", "How many copies left."),
        Column(
            "published_ns",
            LONG,
            "ns",
            "The message's moment (analysis.md); null if nobody published it.",
        ),
    ),
)

CROSSINGS = Table(
    "crossings",
    "One row a message, direction of a link away from a router, and hop count.",
    (
        *MESSAGE,
        Column("from_id", INT, "", "The router that sent it."),
        Column("to_id", INT, "", "The node at the other end of the link."),
        Column("access", FLAG, "", "Whether that node is a client."),
        Column("time_ns", LONG, "ns", "When it was first sent; null if that was not captured."),
        Column("hop_count", INT, "hops", "Its hop count on the link."),
        Column("copies", LONG, "packets", "How many copies were captured as sent."),
        Column(
            "received_ns",
            LONG,
            "ns",
            "When it was first captured at the other end; null if it was not, and at clients.",
        ),
        Column("arrived", LONG, "packets", "How many copies were captured at the other end."),
        Column("wasted", FLAG, "", "Whether no delivery descends from it."),
        Column(
            "flaw",
            TEXT,
            "",
            "What is wrong about where it came from: `unsent`, `hops` or `pathless` "
            "(analysis.md); null: nothing.",
        ),
        Column("altered", FLAG, "", "Whether the content of the message was first found altered here."),
    ),
)

HOPS = Table(
    "hops",
    "One row a message over a link in one direction, access links included. At a client its own report "
    "counts: `publish_time_ns` and the `deliver` event.",
    (
        *MESSAGE,
        FROM,
        TO,
        Column("sent_ns", LONG, "ns", "When it was first sent."),
        Column("received_ns", LONG, "ns", "When it first arrived; null if it never did."),
        Column("delay_ns", LONG, "ns", "How long it was on its way; null if it did not arrive."),
        Column(
            "waited_ns",
            LONG,
            "ns",
            "How long it was in the router that sent it, from its arrival with one hop less; null if that "
            "was not captured, and at clients.",
        ),
    ),
)

EXPECTED = Table(
    "expected",
    "One row a message and client that wants it, is owed it or may get it.",
    (
        *MESSAGE,
        SUBSCRIBER,
        Column("published_ns", LONG, "ns", "The moment of the message (analysis.md)."),
        Column(
            "owed",
            FLAG,
            "",
            "True: it must arrive; false: it may; null: it must not, though the client wants it.",
        ),
        Column("wanted", FLAG, "", "Whether a subscription in force at that moment matches."),
        Column("reason", TEXT, "", "Why it is wanted and not owed (analysis.md); null otherwise."),
        Column(
            "denied",
            FLAG,
            "",
            "Whether this is a row beside the others, made because the reference model, asked about a "
            "sample, says something else of the pair.",
        ),
    ),
)

VERDICTS = Table(
    "verdicts",
    "One row a pair of a message and a client that was wanted, or of which a copy left a router, or that the "
    "client reported.",
    (
        *MESSAGE,
        SUBSCRIBER,
        Column(
            "verdict",
            TEXT,
            "",
            "What became of the pair: `delivered`, `duplicate`, `missing`, `lost`, `unknown` or `spurious` "
            "(analysis.md); null if the client reports it and nothing else is known.",
        ),
        Column("owed", FLAG, "", "True: it had to arrive; false: it might; null: neither."),
        Column("wanted", FLAG, "", "Whether a subscription in force at the message's moment matches."),
        Column("reason", TEXT, "", "Why it was wanted and not owed (analysis.md); null otherwise."),
        Column("copies", LONG, "packets", "How many copies left a router towards the client."),
        Column("reports", LONG, "events", "How many `deliver` events the client has of it."),
        Column(
            "published_ns",
            LONG,
            "ns",
            "The message's moment (analysis.md); null if nobody published it.",
        ),
        Column("latency_ns", LONG, "ns", "As in `deliveries`; null if no copy left, or it is null there."),
    ),
)

TREES = Table(
    "trees",
    "One row a message that reached a router.",
    (
        *MESSAGE,
        Column("node_id", INT, "", "The router that it reached first."),
        Column("destinations", INT, "routers", "How many routers have clients for which it was."),
        Column("crossings", LONG, "packets", "How many copies crossed links between routers."),
        Column("wasted", LONG, "packets", "Those of them from which no delivery descends."),
        Column("ideal", LONG, "packets", "How many crossings its ideal tree has (analysis.md)."),
        Column("exact", FLAG, "", "Whether the ideal tree is the smallest; else it is an approximation."),
    ),
)

TABLES = (PACKETS, PUBLICATIONS, DELIVERIES, CROSSINGS, HOPS, EXPECTED, VERDICTS, TREES)
