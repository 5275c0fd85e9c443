"""Whatever a neighbour says under CBCB, it is counted or held within bounds, and others are not harmed."""

from __future__ import annotations

import random
import struct

import pytest

from nodes.config import LimitConfig, TimerConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.schemes.cbcb import Cbcb
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind
from nodes.wire.scheme_payloads import Advertisement, Reply, Request
from tests.routing.cbcb_networks import central, held, network, routers
from tests.routing.cbcb_talkers import Office
from tests.routing.fabric import LIMITS, MS, SECOND, Network, line, ring
from tests.routing.impostor import Impostor
from tests.routing.test_cbcb_faults import subscribe
from tests.wire.payloads import CbcbEra, encode_payload

PREDICATE = encode_predicate(parse_predicate("x = 1 or x = 2"))
BIG = encode_predicate(parse_predicate(" or ".join(f"x = {n}" for n in range(40))))


def settled(limits: LimitConfig = LIMITS) -> Network:
    """A ring of three, a client at r1; interface 0 of r1 leads to r2."""
    net = network(ring(3), 1, {"c1": 1, "c2": 3}, limits=limits)
    subscribe(net, "c1", "x > 1")
    subscribe(net, "c2", "y = 1")
    net.converge()
    return net


def era(net: Network) -> int:
    """The era that r1 is in, which its status tells beside what it told."""
    adjacencies = net.router("r1").status()["adjacencies"]
    return int(adjacencies[0]["sent_digest"].split("/")[1], 16)  # type: ignore[index]


def scheme(net: Network, name: str) -> Cbcb:
    found = net.router(name)._scheme
    assert isinstance(found, Cbcb)
    return found


def tables(net: Network) -> list[str]:
    return [router.tables() for router in routers(net).values()]


MALFORMED = [
    (Kind.CBCB_RA, b""),
    (Kind.CBCB_RA, Advertisement(2, 1, 1, False, PREDICATE).encode()[:-1]),
    (Kind.CBCB_RA, Advertisement(2, 1, 1, False, PREDICATE).encode() + b"\0"),
    (Kind.CBCB_SR, Request(2, 1, 1, False).encode() + b"\0"),
    (Kind.CBCB_SR, struct.pack(">IQIB", 0, 1, 1, 0)),
    (Kind.CBCB_SR, struct.pack(">IQIB", 2, 1, 1, 4)),
    (Kind.CBCB_UR, Reply(2, 1, 1, PREDICATE).encode()[:-3]),
    (Kind.CBCB_UR, struct.pack(">IQII", 2, 1, 1, 0xFFFF_FFFF)),
    (Kind.CBCB_ERA, b""),
    (Kind.CBCB_ERA, bytes(19)),
    (Kind.CBCB_ERA, bytes(20)),
    (Kind.CBCB_ERA, struct.pack(">IQQ", 9, 1 << 63, 1)),
]


@pytest.mark.parametrize(("kind", "payload"), MALFORMED)
def test_a_malformed_payload_is_counted_and_changes_nothing(kind: int, payload: bytes) -> None:
    net = settled()
    before = tables(net)
    Impostor(net, 0).send(kind, payload)
    assert net.router("r1").drops[Reason.MALFORMED_PAYLOAD] == 1
    net.run(SECOND)
    assert tables(net) == before


@pytest.mark.parametrize("origin", [1, 3, 77])
def test_a_router_is_not_believed_to_be_behind_a_neighbour_that_is_not_on_the_way_to_it(origin: int) -> None:
    """P1: what a router issues comes by the reverse path or not at all; r2 is not between r1 and r3."""
    net = settled()
    impostor = Impostor(net, 0)
    impostor.send(Kind.CBCB_RA, Advertisement(origin, era(net), 99, False, PREDICATE).encode())
    impostor.send(Kind.CBCB_SR, Request(origin, era(net), 99, False).encode())
    assert net.router("r1").drops[Reason.MALFORMED_PAYLOAD] == 2
    assert held(net) == central(net)


def test_replies_that_nobody_asked_for_and_payloads_of_other_eras_are_stale() -> None:
    net = settled()
    impostor = Impostor(net, 0)
    stale_before = net.router("r1").drops[Reason.STALE_PAYLOAD]
    impostor.send(Kind.CBCB_UR, Reply(1, era(net), 1, PREDICATE).encode())
    impostor.send(Kind.CBCB_UR, Reply(3, era(net), 77, PREDICATE).encode())
    impostor.send(Kind.CBCB_UR, Reply(1, era(net) ^ 1, 1, PREDICATE).encode())
    impostor.send(Kind.CBCB_RA, Advertisement(2, era(net) ^ 1, 9, False, PREDICATE).encode())
    assert net.router("r1").drops[Reason.STALE_PAYLOAD] == stale_before + 4
    assert held(net) == central(net)


def test_more_filters_than_the_limit_are_dropped_with_the_name_of_the_setting_and_not_passed_on() -> None:
    net = settled(LimitConfig(filters_per_neighbour=30))
    before = tables(net)
    impostor = Impostor(net, 0)
    impostor.send(Kind.CBCB_RA, Advertisement(2, era(net), 1, False, BIG).encode())
    assert net.router("r1").drops[Reason.TOO_MANY_FILTERS] == 1
    output = [log for _, name, log in net.logs if name == "r1" and log.event == Reason.TOO_MANY_FILTERS]
    assert output[0].fields["setting"] == "limits.filters_per_neighbour"
    net.run(SECOND)
    assert tables(net) == before


def test_a_reply_above_the_limit_counts_as_an_answer_so_that_nobody_waits_for_ever() -> None:
    """r1 and r2 together want more than r3 will hold; r3 says so and goes on."""
    limits = LimitConfig(filters_per_neighbour=30)
    net = network(line(3), 2, {"c1": 1, "c2": 2, "c3": 3}, limits=limits)
    subscribe(net, "c1", " or ".join(f"x = {n}" for n in range(20)))
    subscribe(net, "c2", " or ".join(f"y = {n}" for n in range(20)))
    subscribe(net, "c3", "z = 1")
    net.converge()
    net.kill("r3")
    net.start("r3")
    net.run(SECOND)
    net.converge()
    assert net.router("r3").drops[Reason.TOO_MANY_FILTERS]
    assert held(net)[1, 2] == central(net)[1, 2]


def test_a_flood_of_requests_of_other_eras_is_held_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.routing.schemes.cbcb.EARLY_MAX", 50)
    net = settled()
    impostor = Impostor(net, 0)
    for origin in range(100, 200):
        impostor.send(Kind.CBCB_SR, Request(origin, 5, 1, False).encode())
    assert net.router("r1").drops[Reason.STALE_PAYLOAD] >= 50
    net.run(SECOND)
    assert held(net) == central(net)


def test_records_of_invented_routers_are_capped_and_soon_forgotten() -> None:
    net = settled(LimitConfig(unlisted_origins=50))
    before = era(net)
    records = tuple((origin, 1, 1) for origin in range(100, 200))
    Impostor(net, 0).send(Kind.CBCB_ERA, encode_payload(CbcbEra(records)))
    assert net.router("r1").drops[Reason.UNLISTED_ORIGIN] == 50
    assert len(scheme(net, "r1").origins()) == 52
    assert era(net) == before
    net.run((TimerConfig().renumber_ms + 1_000) * MS)
    assert all(scheme(net, f"r{node}").origins() == {1, 2, 3} - {node} for node in (1, 2, 3))


def test_invented_routers_keep_no_new_one_out() -> None:
    """What was refused for want of room is asked for when somebody lists its router."""
    net = network(line(4), 1, {"c1": 1, "c2": 4}, limits=LimitConfig(unlisted_origins=2))
    subscribe(net, "c2", "y = 1")
    net.cut("r3", "r4")
    net.run(SECOND)
    Impostor(net, 0).send(Kind.CBCB_ERA, encode_payload(CbcbEra(((100, 1, 1), (101, 1, 1)))))
    net.cut("r3", "r4", down=False)
    net.run(5 * SECOND)
    assert len({status.split("/")[1] for status in digests(net)}) == 1, "all are in one era"
    assert held(net) == central(net)


def test_routers_apart_for_so_long_that_they_are_forgotten_agree_on_an_era_again() -> None:
    net = network(line(4), 1, {"c1": 1, "c2": 4}, timers=TimerConfig(forget_ms=3_000))
    subscribe(net, "c2", "y = 1")
    net.converge()
    net.cut("r2", "r3")
    net.run(10 * SECOND)
    assert scheme(net, "r1").origins() == {2}
    net.cut("r2", "r3", down=False)
    net.converge()
    assert len({status.split("/")[1] for status in digests(net)}) == 1, "all are in one era"
    assert held(net) == central(net)


def test_a_forged_record_of_ours_is_outdone_and_the_network_settles() -> None:
    net = settled()
    Impostor(net, 0).send(Kind.CBCB_ERA, encode_payload(CbcbEra(((1, 1 << 40, 7),))))
    assert not net.router("r1").settled
    net.run(500 * MS)
    assert all(router.settled for router in routers(net).values())
    assert len({status.split("/")[1] for status in digests(net)}) == 1, "all are in one era again"


def digests(net: Network) -> list[str]:
    found: list[str] = []
    for router in routers(net).values():
        found += [str(pair[0]) for pair in router._scheme.accounts().values()]  # type: ignore[attr-defined]
    return found


def test_random_payloads_from_a_neighbour_raise_nothing_and_leave_others_able_to_settle() -> None:
    net = settled()
    rng, impostor, current = random.Random(3), Impostor(net, 0), era(net)
    valid = [
        (Kind.CBCB_RA, Advertisement(2, current, 1, True, PREDICATE).encode()),
        (Kind.CBCB_SR, Request(2, current, 9, False).encode()),
        (Kind.CBCB_UR, Reply(1, current, 1, PREDICATE).encode()),
        (Kind.CBCB_ERA, struct.pack(">IQQ", 9, 1, 1)),
    ]
    for _ in range(600):
        kind, payload = rng.choice(valid)
        damaged = bytearray(payload)
        for _ in range(rng.randrange(3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        impostor.send(kind, bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged) + 1)])]))
    net.run(SECOND)
    for name in ("r1", "r2"):
        net.kill(name)
        net.start(name)
    net.run(SECOND)
    net.converge()
    assert held(net) == central(net)


def test_a_neighbour_that_never_answers_does_not_stop_advertisements() -> None:
    """r3 swallows what it is asked: the others' tables still widen; the network does not count as settled."""
    office = Office([(1, 2, 1), (2, 3, 1)], 4)
    office.schemes[3]._handlers[Kind.CBCB_SR] = lambda now_ns, interface, payload: None
    office.schemes[2].joined(office.now_ns, 0, 1)
    office.run(200 * MS)
    office.want(1, "x = 1")
    while office.step():
        pass
    assert not office.schemes[1].settled
    assert office.held()[3, 2] == encode_predicate(parse_predicate("x = 1"))


def test_a_request_that_got_lost_in_a_neighbour_is_sent_again() -> None:
    office = Office([(1, 2, 1), (2, 3, 1)], 5, sr_timeout_ms=1000)
    honest = office.schemes[3]._handlers[Kind.CBCB_SR]
    office.schemes[3]._handlers[Kind.CBCB_SR] = lambda now_ns, interface, payload: None
    office.schemes[2].joined(office.now_ns, 0, 1)
    office.run(200 * MS)
    office.schemes[3]._handlers[Kind.CBCB_SR] = honest
    office.settle(within_ns=3 * SECOND)
