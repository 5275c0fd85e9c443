"""The Scapy layers as people use them: build, show, list, read captures."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw, ls
from scapy.utils import rdpcap, wrpcap

from nodes.wire import codec
from nodes.wire.layers import (
    CBN,
    PORT,
    CBNAck,
    CBNAttribute,
    CBNCause,
    CBNCbcbEra,
    CBNCbcbRA,
    CBNCbcbSR,
    CBNCbcbUR,
    CBNCdUpdate,
    CBNChangeMarking,
    CBNChangeMarkingReply,
    CBNConstraint,
    CBNControl,
    CBNCostAnnounce,
    CBNDescriptor,
    CBNFilter,
    CBNHello,
    CBNInterest,
    CBNInterestChange,
    CBNLinkState,
    CBNMatch,
    CBNMessage,
    CBNNeighbour,
    CBNPad,
    CBNPredicate,
    CBNRecordRequest,
    CBNRenewal,
    CBNSeal,
    CBNSienaSubscribe,
    CBNSienaUnsubscribe,
    CBNSubscribe,
    CBNSubscribePattern,
    CBNTrailer,
    CBNUnsubscribe,
    CBNUnsubscribePattern,
)
from nodes.wire.packets import Message, Pad

# Every field of every layer that a person sets, at a value that is not its default.
TRAILER = {"flags": "AUTH", "trailer": CBNTrailer(tag=b"tag", key_id=2, algorithm=3)}
SESSION = {"window": 5, "incarnation": 6, "peer_incarnation": 7, "ack": 9}
PREDICATE = CBNPredicate(
    filters=[
        CBNFilter(
            constraints=[
                CBNConstraint(type="string", operator=">*", attribute="airline", value="U"),
                CBNConstraint(type="integer", operator="<", attribute="price", value=-4),
                CBNConstraint(type="float", operator=">=", attribute="rating", value=0.5),
                CBNConstraint(type="boolean", operator="!=", attribute="late", value=1),
                CBNConstraint(type="time", operator="any", attribute="departure"),
            ]
        ),
        CBNFilter(),
    ]
)
LAYERS = [
    CBNPad(padding=b"\0\0\0"),
    CBNMessage(
        hop_limit=1,
        hop_count=2,
        source=3,
        header_class=4,
        sequence=5,
        publish_time_ns=6,
        route_data=b"route",
        attributes=[
            CBNAttribute(type="string", attribute="dest", value="ORD"),
            CBNAttribute(type="integer", attribute="price", value=-395),
            CBNAttribute(type="float", attribute="rating", value=-4.5),
            CBNAttribute(type="boolean", attribute="late", value="true"),
            CBNAttribute(type="time", attribute="departure", value=7),
        ],
        **TRAILER,
    ),
    CBNHello(
        role="client", hold_time_ms=1, node=2, seen_node=3, incarnation=4, seen_incarnation=5, **TRAILER
    ),
    CBNControl(**TRAILER, kind="INTEREST", sequence=8, fragment_data=b"part", **SESSION),
    CBNControl(
        kind="LINK_STATE",
        fragment_data=CBNLinkState(origin=2, sequence=3, neighbours=[CBNNeighbour(node=4, cost=5)]),
    ),
    CBNControl(kind="INTEREST", fragment_data=CBNInterest(origin=2, sequence=3, predicate=PREDICATE)),
    CBNControl(kind="SUBSCRIBE", fragment_data=CBNSubscribe(subscription=2, predicate=PREDICATE)),
    CBNControl(kind="UNSUBSCRIBE", fragment_data=CBNUnsubscribe(subscription=2)),
    CBNControl(
        kind="INTEREST_CHANGE",
        fragment_data=CBNInterestChange(
            origin=2, sequence=3, digest=bytes(range(16)), removed=PREDICATE, added=PREDICATE
        ),
    ),
    CBNControl(
        kind="SUBSCRIBE_PATTERN",
        fragment_data=CBNSubscribePattern(pattern=2, text="[a = 1] then [b = 1] within 5s"),
    ),
    CBNControl(kind="UNSUBSCRIBE_PATTERN", fragment_data=CBNUnsubscribePattern(pattern=2)),
    CBNControl(kind="MATCH", fragment_data=CBNMatch(pattern=2, messages=CBNMessage(source=3) / CBNMessage())),
    CBNControl(kind="RECORD_REQUEST", fragment_data=CBNRecordRequest(origin=2)),
    CBNControl(
        kind="CBCB_RA",
        fragment_data=CBNCbcbRA(origin=2, era=3, revision=4, flags="NARROWED", predicate=PREDICATE),
    ),
    CBNControl(kind="CBCB_SR", fragment_data=CBNCbcbSR(origin=2, era=3, request=4, flags="PERIODIC")),
    CBNControl(kind="CBCB_UR", fragment_data=CBNCbcbUR(origin=2, era=3, request=4, predicate=PREDICATE)),
    CBNControl(kind="SIENA_SUBSCRIBE", fragment_data=CBNSienaSubscribe(issuer=2, predicate=PREDICATE)),
    CBNControl(kind="SIENA_UNSUBSCRIBE", fragment_data=CBNSienaUnsubscribe(issuer=2, predicate=PREDICATE)),
    CBNControl(kind="CBCB_ERA", fragment_data=CBNCbcbEra(records=[CBNRenewal(router=2, renewal=3, nonce=4)])),
    CBNControl(
        kind="COST_ANNOUNCE",
        fragment_data=CBNCostAnnounce(
            origin=2,
            sequence=3,
            flags="PUBLISHES+SUBSCRIBES",
            publication_rate=4,
            subscription_rate=5,
            causes=[CBNCause(cause=6)],
        ),
    ),
    CBNControl(
        kind="CHANGE_MARKING",
        fragment_data=CBNChangeMarking(
            change=2,
            marking=1,
            descriptors=[CBNDescriptor(router=3, descriptor=4, place=1)],
            predicate=PREDICATE,
        ),
    ),
    CBNControl(
        kind="CHANGE_MARKING_REPLY",
        fragment_data=CBNChangeMarkingReply(
            change=2,
            marking=1,
            descriptors=[CBNDescriptor(router=3, descriptor=4, place=1)],
            predicate=PREDICATE,
        ),
    ),
    CBNControl(
        kind="CD_UPDATE",
        fragment_data=CBNCdUpdate(
            flags="AGAIN", publisher=2, pcd=3, subscriber=4, scd=5, predicate=PREDICATE
        ),
    ),
    CBNAck(**SESSION, **TRAILER),
    CBNSeal(algorithm=3, key_id=4, session=5, counter=6, mac=b"sixteen bytes of"),
]


def ident(layer) -> str:
    return layer.summary()


def rebuilt(layer):
    """The layer built and read again, with every computed field."""
    return CBN(bytes(layer))


@pytest.mark.parametrize("layer", LAYERS, ids=ident)
def test_every_field_comes_back_as_it_was_set(layer):
    back = rebuilt(layer)
    assert type(back) is type(layer)
    for name in layer.fields:
        assert as_read(back.getfieldval(name)) == as_read(layer.getfieldval(name)), name


def as_read(value):
    """Sub-layers are compared by their bytes: those that were read have their lengths filled in."""
    if isinstance(value, list):
        return [bytes(part) for part in value]
    return bytes(value) if hasattr(value, "fields_desc") else value


@pytest.mark.parametrize("layer", LAYERS, ids=ident)
def test_building_fills_in_the_length(layer):
    assert rebuilt(layer).length == len(bytes(layer))


def test_building_counts_what_it_holds():
    message, interest = rebuilt(LAYERS[1]), rebuilt(LAYERS[5]).fragment_data
    assert (message.route_length, message.attribute_count, message.trailer.tag_length) == (5, 5, 3)
    assert (message.attributes[0].name_length, message.attributes[0].value_length) == (4, 3)
    assert (interest.predicate.count, interest.predicate.filters[0].count) == (2, 5)


def test_what_people_build_by_hand_is_what_the_codec_reads():
    built = CBNMessage(
        source=7,
        attributes=[
            CBNAttribute(type="string", attribute="dest", value="ORD"),
            CBNAttribute(type="integer", attribute="price", value=395),
        ],
    )
    assert codec.decode(bytes(built)) == Message(7, 0, 0, {"dest": "ORD", "price": 395})


def test_a_capture_reads_as_the_sequence_of_its_packets(tmp_path):
    file = str(tmp_path / "capture.pcap")
    wrpcap(file, [Ether() / IP() / UDP() / LAYERS[1].copy() / LAYERS[2].copy() / LAYERS[0].copy()])
    (packet,) = rdpcap(file)
    assert (packet[UDP].sport, packet[UDP].dport) == (PORT, PORT)
    assert [type(layer) for layer in packet.iterpayloads()][3:6] == [CBNMessage, CBNHello, CBNPad]
    assert packet[CBNHello].node == 2


@pytest.mark.parametrize("ports", [{"sport": PORT, "dport": 5}, {"sport": 5, "dport": PORT}])
def test_either_port_is_enough(ports):
    data = bytes(UDP(**ports) / Raw(bytes(CBNHello(node=9))))
    assert UDP(data)[CBNHello].node == 9


def test_a_super_datagram_of_a_thousand_packets_is_read_and_built_again():
    data = codec.encode(Message(7, 1, 2, {"price": 395})) * 1000 + codec.encode(Pad(9))
    first = CBN(data)
    assert len([layer for layer in first.iterpayloads() if isinstance(layer, CBN)]) == 1001
    assert bytes(first) == data


def test_a_packet_that_makes_no_sense_is_raw_and_its_neighbours_are_read():
    hello = bytes(CBNHello(node=9))
    overlong = b"\x01\x02\x00\x22" + hello[4:] + b"\x00\x00"
    layers = list(CBN(hello + overlong + hello).iterpayloads())
    assert [type(layer) for layer in layers] == [CBNHello, Raw, CBNHello]


def test_after_broken_framing_the_rest_is_raw():
    hello = bytes(CBNHello(node=9))
    layers = list(CBN(hello + b"\x02" + hello).iterpayloads())
    assert [type(layer) for layer in layers] == [CBNHello, Raw]


def test_a_length_can_be_set_wrong_on_purpose():
    assert bytes(CBNPad(length=9))[2:4] == b"\x00\x09"


def test_show_speaks_in_names():
    shown = "".join(rebuilt(layer).show(dump=True) for layer in LAYERS)
    for words in ("type      = MESSAGE", "flags     = AUTH", "role      = client", "kind      = INTEREST"):
        assert words in shown
    for words in (
        "operator  = >*",
        "operator  = any",
        "type      = time",
        "value     = 'ORD'",
        "value     = true",
    ):
        assert words in shown


def test_ls_lists_the_fields(capsys):
    for layer in (CBNMessage, CBNHello, CBNControl, CBNAck, CBNPad, CBNConstraint):
        ls(layer)
    listed = capsys.readouterr().out
    for field in ("publish_time_ns", "attributes", "seen_incarnation", "peer_incarnation", "operator"):
        assert field in listed


def test_summaries_name_the_message_and_the_speaker():
    assert CBNMessage(source=7, sequence=41, hop_count=2).summary() == "CBN MESSAGE 7:41 after 2 hops"
    assert CBNHello(role="client", node=7).summary() == "CBN HELLO of client 7, hears 0"
