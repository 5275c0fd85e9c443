"""Whatever arrives, a router counts it, drops it, and keeps what it knew."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fastpath.wire import codec
from nodes.config import Action, LimitConfig
from nodes.model import UsageError, parse_predicate
from nodes.routing.effects import Log, Reason
from nodes.routing.router import Router
from nodes.scheme_catalog import CATALOG
from nodes.wire.codec import encode
from nodes.wire.packets import Ack, Control, Hello, Kind, Message, Role
from tests.routing.fabric import MS, SECOND, Network, configure, line, ring
from tests.routing.impostor import Impostor
from tests.wire.payloads import Interest, LinkState, Subscribe, encode_payload

WANTS = [Action(-1, "subscribe", 1, "x > 1"), Action(-1, "subscribe", 2, 'y = "a"')]


def network(limits: LimitConfig = LimitConfig()) -> Network:  # noqa: B008
    found = Network(configure(ring(3), {"c1": 1}, limits=limits), 1, scripts={"c1": WANTS})
    found.converge(within_ns=SECOND)
    found.run(SECOND)
    return found


def known(net: Network, name: str = "r1") -> tuple[object, ...]:
    """All of a router's state that routing depends on."""
    status = net.router(name).status()
    keys = ("link_state_digest", "interest_digest", "routers_known", "fib_serial", "settled")
    return (*(status[key] for key in keys), net.router(name).tables())


def forwarding(state: tuple[object, ...]) -> tuple[object, ...]:
    """Of what `known` says all but whether something is under way."""
    *rest, _, tables = state
    return (*rest, tables)


def drops(net: Network) -> dict[str, int]:
    return dict(net.router("r1").drops)


def test_random_bytes_change_nothing() -> None:
    net = network()
    before, rng = known(net), random.Random(1)
    for _ in range(2_000):
        junk = bytearray(rng.randbytes(rng.randrange(80)))
        if rng.random() < 0.8 and len(junk) >= 4:
            junk[0:4] = bytes([1, rng.randrange(5)]) + len(junk).to_bytes(2, "big")
        net.router("r1").receive(net.now_ns, rng.randrange(3), bytes(junk))
    net.after("r1")
    net.run(10 * SECOND)
    assert known(net) == before
    assert drops(net).keys() <= {Reason.MALFORMED, Reason.OTHER_SESSION, Reason.UNEXPECTED_PACKET}
    assert drops(net)[Reason.MALFORMED] > 1_500, "the others were well-formed padding"
    assert net.reasons() == []


def test_every_packet_ever_sent_replayed_changes_nothing() -> None:
    net = network()
    net.run(5 * SECOND)
    before = known(net)
    captured = [(name, interface, datagram) for _, name, interface, datagram in net.sent]
    random.Random(2).shuffle(captured)
    for name, interface, datagram in captured:
        wire = net.wires[name, interface]
        net._arrive(wire.target, wire.interface, datagram)
    net.run(5 * SECOND)
    assert known(net) == before
    assert {log.event for _, _, log in net.logs} == {"adjacency_up"}
    assert drops(net).keys() == {Reason.DUPLICATE_CONTROL}
    assert net.reasons() == []


@pytest.mark.parametrize(
    "packet",
    [
        Control(1, 5, 6, 1, 0, 16, True, True, b"x"),
        Ack(5, 6, 1, 16),
    ],
)
def test_packets_of_another_session_are_dropped(packet: Control | Ack) -> None:
    net = network()
    before = known(net)
    net.router("r1").receive(net.now_ns, 0, encode(packet))
    net.after("r1")
    assert drops(net) == {Reason.OTHER_SESSION: 1}
    assert known(net) == before


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (Hello(Role.ROUTER, 77, 5, 2000), Reason.WRONG_PEER),
        (Hello(Role.CLIENT, 2, 5, 2000), Reason.WRONG_PEER),
        (Hello(Role.ROUTER, 1, 5, 2000), Reason.OWN_ID),
    ],
)
def test_a_hello_of_somebody_else_does_not_disturb_the_session(hello: Hello, reason: Reason) -> None:
    net = network()
    before = known(net)
    for _ in range(5):
        net.router("r1").receive(net.now_ns, 0, encode(hello))
    net.after("r1")
    net.run(SECOND)
    assert drops(net) == {reason: 5}
    assert known(net) == before
    assert net.router("r1").links[0].up


def test_a_message_does_not_belong_in_the_control_plane() -> None:
    net = network()
    net.router("r1").receive(net.now_ns, 0, encode(Message(9, 1, 0, {"x": 1})))
    net.after("r1")
    assert drops(net) == {Reason.UNEXPECTED_PACKET: 1}


BAD_PAYLOADS = [
    (0, Kind.LINK_STATE, b"", Reason.MALFORMED_PAYLOAD),
    (0, Kind.LINK_STATE, bytes(14), Reason.MALFORMED_PAYLOAD),
    (0, Kind.LINK_STATE, encode_payload(LinkState(9, 1, ((1, 1),))) + b"\0", Reason.MALFORMED_PAYLOAD),
    (0, Kind.INTEREST, (9).to_bytes(4, "big") + bytes(7) + b"\1" + b"\xff\xff\xff", Reason.MALFORMED_PAYLOAD),
    (
        0,
        Kind.INTEREST,
        (9).to_bytes(4, "big") + (2**63).to_bytes(8, "big") + bytes(4),
        Reason.MALFORMED_PAYLOAD,
    ),
    (0, Kind.SUBSCRIBE, encode_payload(Subscribe(1, parse_predicate("all"))), Reason.UNEXPECTED_KIND),
    (0, 40, b"of a scheme we do not run", Reason.UNKNOWN_KIND),
    (2, Kind.LINK_STATE, encode_payload(LinkState(9, 1, ())), Reason.UNEXPECTED_KIND),
    (2, Kind.SUBSCRIBE, b"\0\0", Reason.MALFORMED_PAYLOAD),
    (2, Kind.SUBSCRIBE, bytes(4) + b"\0\0\0\2", Reason.MALFORMED_PAYLOAD),
    (2, Kind.UNSUBSCRIBE, bytes(5), Reason.MALFORMED_PAYLOAD),
    (2, Kind.UNSUBSCRIBE, (9).to_bytes(4, "big"), Reason.UNKNOWN_SUBSCRIPTION),
]


@pytest.mark.parametrize(("interface", "kind", "payload", "reason"), BAD_PAYLOADS)
def test_a_payload_that_says_nothing_sensible_is_counted(
    interface: int, kind: int, payload: bytes, reason: Reason
) -> None:
    net = network()
    before = known(net)
    impostor = Impostor(net, interface)
    impostor.send(kind, payload)
    assert drops(net) == {reason: 1}
    net.router("r1").handle_timer(net.now_ns + 30 * MS)
    assert known(net)[:-1] == before[:-1]


def test_fragments_without_a_beginning_are_counted() -> None:
    net = network()
    impostor = Impostor(net, 0)
    impostor.say(impostor.packet(Kind.LINK_STATE, b"tail", first=False))
    assert drops(net) == {Reason.FRAGMENT_WITHOUT_FIRST: 1}


def test_a_payload_above_the_limit_is_counted_and_logged_with_the_setting_to_change() -> None:
    net = network(LimitConfig(payload_bytes=5_000))
    before = known(net)
    impostor = Impostor(net, 0)
    for number in range(6):
        impostor.say(impostor.packet(Kind.INTEREST, bytes(1_000), first=number == 0, last=number == 5))
    assert drops(net) == {Reason.OVERSIZE_PAYLOAD: 1}
    assert known(net) == before
    (output,) = [log for *_, log in net.logs if log.event == Reason.OVERSIZE_PAYLOAD]
    assert output.fields["setting"] == "limits.payload_bytes"


@pytest.mark.parametrize(("interface", "filters"), [(0, 6), (2, 5)])
def test_more_filters_than_a_neighbour_may_make_us_hold_are_refused(interface: int, filters: int) -> None:
    """The client holds two already, so five more of it are as many as six of a router; and it is told."""
    net = network(LimitConfig(filters_per_neighbour=5))
    before = known(net)
    impostor = Impostor(net, interface)
    predicate = parse_predicate(" or ".join(f"z = {i}" for i in range(filters)))
    if interface == 0:
        impostor.send(Kind.INTEREST, encode_payload(Interest(9, 1, predicate)))
    else:
        impostor.send(Kind.SUBSCRIBE, encode_payload(Subscribe(9, predicate)))
    assert drops(net) == {Reason.TOO_MANY_FILTERS: 1}
    assert forwarding(known(net)) == forwarding(before)
    assert net.router("r1").settled is (interface == 0)
    output = [log for *_, log in net.logs if log.event == Reason.TOO_MANY_FILTERS]
    assert output == [
        Log(
            Reason.TOO_MANY_FILTERS,
            {
                "interface": f"r1-eth{interface}",
                "peer": net.configs["r1"].interfaces[interface].peer_name,
                "filters": filters + (2 if interface else 0),
                "limit": 5,
                "setting": "limits.filters_per_neighbour",
            },
        )
    ]


def test_a_claimed_count_of_filters_is_refused_before_anything_is_read() -> None:
    net = network()
    impostor = Impostor(net, 0)
    impostor.send(Kind.INTEREST, (9).to_bytes(4, "big") + bytes(7) + b"\1" + b"\xff" * 4)
    assert drops(net) == {Reason.TOO_MANY_FILTERS: 1}


def test_somebody_elses_record_in_our_name_is_outdone() -> None:
    """A replayed or forged record of our own origin makes us speak again, louder."""
    net = network()
    forged = encode_payload(LinkState(1, 1_000, ((2, 9),)))
    impostor = Impostor(net, 0)
    impostor.send(Kind.LINK_STATE, forged)
    net.run(SECOND)
    sequence = codec.decode_link_state(dict(net.router("r3").linkstate.database.records.payloads())[1])[1]
    assert sequence == 1_001


def test_of_two_records_with_one_sequence_the_same_wins_everywhere() -> None:
    net = Network(configure(line(3)), 1)
    net.converge(within_ns=SECOND)
    low = encode_payload(LinkState(50, 7, ((51, 1),)))
    high = encode_payload(LinkState(50, 7, ((51, 2),)))
    for name, payload in (("r1", low), ("r3", high)):
        router = net.router(name)
        link = router.links[0]
        router.linkstate.take_record(net.now_ns, link, payload)
        router.linkstate._flood(net.now_ns, payload)
        net.after(name)
    net.run(SECOND)
    held = {dict(net.router(n).linkstate.database.records.payloads())[50] for n in ("r1", "r2", "r3")}
    assert held == {high}


def test_a_client_drops_what_no_router_would_send() -> None:
    net = network()
    client = net.client("c1")
    client.receive(net.now_ns, 0, b"\1\1\0\4")
    client.receive(net.now_ns, 0, encode(Message(2, 1, 0, {"x": 1}))[:-1])
    net.after("c1")
    assert client.status()["drops"] == {Reason.MALFORMED: 2}
    assert client.status()["attached"]


def test_an_unknown_scheme_is_refused_with_the_names_of_those_there_are() -> None:
    config = replace(configure([(1, 2, 1)])["r1"], scheme="magic")
    known = ", ".join(sorted(CATALOG))
    with pytest.raises(UsageError, match=f"no routing scheme 'magic'; there are: {known}"):
        Router(config, random.Random(1))
    with pytest.raises(UsageError, match="ipsf, option speed = 1: expected no options"):
        Router(replace(config, scheme="ipsf", scheme_options={"speed": 1}), random.Random(1))
