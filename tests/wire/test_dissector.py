"""The Wireshark dissector, run by tshark over captures of the shared vectors.

tshark is a requirement of these tests, not an option: `make test` installs it.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from nodes.model import format_filter, format_message
from nodes.wire import codec
from nodes.wire.packets import PORT, Ack, Control, DatagramSeal, Hello, Message, PacketType, Role, Trailer
from tests.wire import vectors
from tests.wire.payloads import (
    CbcbEra,
    CdUpdate,
    ChangeMarking,
    ChangeMarkingReply,
    CostAnnounce,
    InterestChange,
    LinkState,
    Match,
    OfferChange,
    Refused,
)
from tests.wire.vectors import PACKET_FILES, PAYLOAD_FILES, Vector, kind_number, packet_of, payload_of

SCRIPT = Path(__file__).parents[2] / "nodes" / "wire" / "cbn.lua"
BETWEEN_FIELDS, BETWEEN_VALUES = "\x1e", "\x1f"
IN_PAYLOADS = [
    *("origin", "subscription", "advertisement", "pattern", "issuer", "reason"),
    *("era", "revision", "narrowed", "request", "periodic"),
    *("change", "marking", "publisher", "pcd", "subscriber", "scd"),
]
NUMBERS = [
    *("version", "type", "length", "flags", "hop_limit", "hop_count", "source", "header_class"),
    *("message_sequence", "publish_time_ns", "route_length", "attribute_count", "key_id", "algorithm"),
    *("tag_length", "role", "hold_time_ms", "node", "seen_node", "incarnation", "seen_incarnation", "kind"),
    *("window", "peer_incarnation", "link_sequence", "ack", "origin", "origin_sequence", "neighbour", "cost"),
    *(
        "subscription",
        "advertisement",
        "pattern",
        "reason",
        "issuer",
        "destination",
        "era",
        "revision",
        "narrowed",
        "request",
        "periodic",
    ),
    *("router", "renewal", "nonce", "payload_length"),
    *("announced", "publication_rate", "subscription_rate", "cause", "change", "marking"),
    *("descriptor", "place", "updated", "publisher", "pcd", "subscriber", "scd", "session", "counter"),
]
TEXTS = [
    *("padding", "route", "payload", "tag", "fragment", "attribute", "predicate", "filter"),
    *("digest", "removed", "added", "text", "signature", "mac"),
]
FIELDS = [f"cbn.{name}" for name in [*NUMBERS, *TEXTS]] + ["_ws.expert.message"]

Seen = dict[str, list[str | int]]


def in_control(vector: Vector) -> bytes:
    """A payload as the one fragment of a CONTROL packet: captures hold packets."""
    kind = kind_number(vector.fields["kind"])
    return codec.encode(Control(kind, 1, 2, 1, 0, 1, first=True, last=True, fragment=vector.data))


PACKETS = vectors.load(*PACKET_FILES)
DATAGRAMS = vectors.load("datagram")
PAYLOADS = vectors.load(*PAYLOAD_FILES)
# What is wrong only for who expects one packet, or knows the kind, is nothing a dissector could complain of;
# and an empty datagram never comes to it. What a route means only its scheme knows.
UNTOLD = {"no bytes", "two packets where one was expected", "a kind nobody knows"}
INVALID = [v for v in vectors.load("invalid") if v.name not in UNTOLD and v.fields["of"] != "route"]


# Of which the codec names the field that is missing, and the dissector the packet.
HALF_HEADERS = {"half a header", "a good packet and a byte too many", "MATCH: a byte after the message"}


def tshark(pcap: Path, *options: str) -> str:
    assert shutil.which("tshark"), "tshark is missing; `make test` installs it (see packages.apt)"
    command = ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", str(pcap), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def dissect(pcap: Path, datagrams: list[bytes]) -> list[Seen]:
    """What tshark sees in each datagram: the values of every field, in order."""
    wrpcap(str(pcap), [Ether() / IP() / UDP(sport=PORT, dport=PORT) / data for data in datagrams])
    columns = [part for field in FIELDS for part in ("-e", field)]
    shape = ("-E", f"separator={BETWEEN_FIELDS}", "-E", f"aggregator={BETWEEN_VALUES}")
    lines = tshark(pcap, "-T", "fields", *shape, *columns).rstrip("\n").split("\n")
    return [_seen(line) for line in lines]


def _seen(line: str) -> Seen:
    found = {}
    for field, cell in zip(FIELDS, line.split(BETWEEN_FIELDS), strict=True):
        name = field.removeprefix("cbn.")
        values = cell.split(BETWEEN_VALUES) if cell else []
        found[name] = [int(value, 0) for value in values] if name in NUMBERS else values
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, Seen]:
    """One run of tshark over all vectors, by the vector's id."""
    datagrams = {v.id: v.data for v in [*PACKETS, *DATAGRAMS]}
    datagrams |= {v.id: in_control(v) for v in PAYLOADS}
    datagrams |= {v.id: in_control(v) if v.fields["of"] == "payload" else v.data for v in INVALID}
    records = dissect(tmp_path_factory.mktemp("dissector") / "vectors.pcap", list(datagrams.values()))
    return dict(zip(datagrams, records, strict=True))


def each(found: list[Vector]):
    return pytest.mark.parametrize("vector", found, ids=[v.id for v in found])


def expected_of(packet: object) -> Seen:
    """Fields as tshark should show them: what has the name of a field has its value."""
    names = {name: [getattr(packet, name)] for name in NUMBERS if hasattr(packet, name)}
    match packet:
        case Message():
            names["message_sequence"] = [packet.sequence]
            names["route"] = [packet.route.hex()] if packet.route else []
            names["destination"] = destinations_of(packet.route)
            names["payload"] = [packet.payload.hex()] if packet.payload else []
            names["payload_length"] = [len(packet.payload)] if packet.payload else []
            names["attribute"] = [format_message({n: packet.attributes[n]}) for n in in_order(packet)]
            names["attribute_count"] = [len(packet.attributes)]
        case Control():
            names["link_sequence"] = [packet.sequence]
            names["fragment"] = [packet.fragment.hex()] if packet.fragment else []
            names["flags"] = [bool(packet.trailer) | packet.first << 1 | packet.last << 2]
        case Ack():
            names["kind"] = names["link_sequence"] = [0]
        case DatagramSeal():
            return names | {"mac": [packet.mac.hex()]}
    return names | expected_trailer(getattr(packet, "trailer", None))


def destinations_of(route: bytes) -> list[int]:
    try:
        return list(codec.decode_destinations(route))
    except codec.WireError:
        return []


def expected_trailer(trailer: Trailer | None) -> Seen:
    if trailer is None:
        return {"tag": [], "key_id": [], "algorithm": []}
    return {"tag": [trailer.tag.hex()], "key_id": [trailer.key_id], "algorithm": [trailer.algorithm]}


def in_order(message: Message) -> list[str]:
    return sorted(message.attributes, key=str.encode)


def predicate_text(filters) -> str:
    """In the order of the wire, which is the vector's."""
    texts = [" and ".join(constraint_text(c) for c in constraints) or "all" for constraints in filters]
    return " or ".join(texts) or "none"


def constraint_text(constraint) -> str:
    return format_filter(vectors.predicate_of([[constraint]]).filters[0])


@each(PACKETS)
def test_every_field_of_a_packet_is_shown_with_its_value(seen, vector: Vector):
    packet = packet_of(vector.fields["packet"])
    shown = seen[vector.id]
    expected = expected_of(packet)
    assert {name: shown[name] for name in expected} == expected
    assert shown["type"] == [PacketType[vector.fields["packet"]["type"]]]
    assert shown["length"] == [len(vector.data)]


@each(DATAGRAMS)
def test_a_datagram_is_shown_as_its_sequence_of_packets(seen, vector: Vector):
    shown = seen[vector.id]
    assert shown["type"] == [PacketType[packet["type"]] for packet in vector.fields["packets"]]
    assert sum(shown["length"]) == len(vector.data)
    assert shown["_ws.expert.message"] == []


@each(PAYLOADS)
def test_a_payload_in_one_fragment_is_shown_by_its_fields(seen, vector: Vector):
    payload, shown = payload_of(vector.fields["kind"], vector.fields["payload"]), seen[vector.id]
    assert shown["_ws.expert.message"] == []
    for name in IN_PAYLOADS:
        assert shown[name] == ([getattr(payload, name)] if hasattr(payload, name) else [])
    if isinstance(payload, LinkState):
        assert list(zip(shown["neighbour"], shown["cost"], strict=True)) == list(payload.neighbours)
    if isinstance(payload, InterestChange | OfferChange):
        changes = [predicate_text(vector.fields["payload"][name]) for name in ("removed", "added")]
        assert [*shown["removed"], *shown["added"]] == changes
        assert shown["digest"] == [payload.digest.hex()]
    signature = getattr(payload, "signature", b"")
    assert shown["signature"] == ([signature.hex()] if signature else [])
    if isinstance(payload, CbcbEra):
        records = zip(*(shown[name] for name in ("router", "renewal", "nonce")), strict=True)
        assert list(records) == list(payload.records)
    assert shown["text"] == ([payload.text] if hasattr(payload, "text") else [])
    if isinstance(payload, Match):
        assert shown["source"] == [message.source for message in payload.messages]
        assert shown["attribute"] == [format_message(m.attributes) for m in payload.messages if m.attributes]
    if isinstance(payload, CostAnnounce):
        assert shown["announced"] == [payload.publishes | payload.subscribes << 1]
        rates = shown["publication_rate"], shown["subscription_rate"]
        assert rates == ([payload.publication_rate], [payload.subscription_rate])
        assert shown["cause"] == list(payload.causes)
    if isinstance(payload, ChangeMarking | ChangeMarkingReply):
        listed = zip(*(shown[name] for name in ("router", "descriptor", "place")), strict=True)
        assert list(listed) == list(payload.descriptors)
    if isinstance(payload, CdUpdate):
        assert shown["updated"] == [payload.withdrawn | payload.again << 1 | payload.kept << 2]
    if hasattr(payload, "sequence"):
        name = "message_sequence" if isinstance(payload, Refused) else "origin_sequence"
        assert shown[name] == [payload.sequence]


@each([v for v in PAYLOADS if "predicate" in v.fields["payload"]])
def test_a_predicate_is_shown_in_the_syntax_people_write_it_in(seen, vector: Vector):
    filters = vector.fields["payload"]["predicate"]
    assert seen[vector.id]["predicate"] == [predicate_text(filters)]
    assert seen[vector.id]["filter"] == [predicate_text([constraints]) for constraints in filters]


@each(INVALID)
def test_what_is_malformed_is_marked_at_the_same_byte_as_the_codec_says(seen, vector: Vector):
    (told,) = seen[vector.id]["_ws.expert.message"]
    if vector.name not in HALF_HEADERS:
        assert offset_in(told) == offset_in(vector.fields["error"])


def offset_in(error: str) -> int:
    return int(error.partition(" at byte ")[2].split()[0])


def test_a_bad_packet_leaves_its_neighbours_readable(tmp_path):
    good = codec.encode(Message(7, 1, 2, {"price": 395}))
    bad = good[:8] + bytes(4) + good[12:]
    (shown,) = dissect(tmp_path / "neighbours.pcap", [good + bad + good])
    assert shown["attribute"] == ["price = 395", "price = 395"]
    assert shown["_ws.expert.message"] == ["source at byte 8 is 0, which is not allowed"]


def test_tshark_prints_the_attributes_of_a_captured_message(tmp_path):
    message = Message(7, 41, 2, {"airline": "UA", "price": 395})
    hello = Hello(Role.CLIENT, 7, 1, 3000)
    pcap = tmp_path / "captured.pcap"
    dissect(pcap, [codec.encode(message) + codec.encode(hello)])
    summary, tree = tshark(pcap), tshark(pcap, "-V")
    assert "MESSAGE 7:41, HELLO client 7" in summary
    assert 'Attribute: airline = "UA"' in tree
    assert "Attribute: price = 395" in tree
