"""Routers that sign what others pass on of them: nobody speaks for another, nobody else is hindered."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from nodes.config import Action
from nodes.model import Predicate, parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.numbers import LAST
from nodes.wire.packets import Kind, PacketType
from nodes.wire.signature import SIGNATURE_BYTES, Signer
from tests.routing.fabric import SECOND, Conditions, Network, configure, line, random_graph, ring, split
from tests.routing.signed import signed, signer
from tests.routing.workload import delivered, owed, scripts, start
from tests.wire.payloads import (
    CbcbAdvertisement,
    CbcbEra,
    CbcbRequest,
    CostAnnounce,
    Interest,
    InterestChange,
    LinkState,
    Payload,
    encode_payload,
    kind_of,
)

WANTS = [Action(-1, "subscribe", 1, "x > 1"), Action(SECOND, "subscribe", 2, 'y = "a"')]
SEEDS = pytest.mark.parametrize("seed", range(6))
FAR_AWAY = 3
"""The router in whose name r2 speaks to r1."""
NOTHING, EVERYTHING = Predicate(()), parse_predicate("all")
LIAR = 2


def network(records: bool = True) -> Network:
    configs = configure(ring(4), {"c1": 1, "c3": 3})
    found = Network(signed(configs) if records else configs, 1, scripts={"c3": WANTS})
    found.converge(within_ns=SECOND)
    found.run(3 * SECOND)
    return found


def known(net: Network) -> list[tuple[object, ...]]:
    """All that routing depends on at any router."""
    keys = ("link_state_digest", "interest_digest", "routers_known", "superseded", "fib_serial", "settled")
    routers = [net.router(name) for name in sorted(net.configs) if name.startswith("r")]
    return [(*(router.status()[key] for key in keys), router.tables()) for router in routers]


def drops(net: Network, name: str = "r1") -> dict[str, int]:
    return dict(net.router(name).drops)


def above(net: Network, kind: Kind) -> int:
    """A number above that of the record that r1 holds."""
    router = net.router("r1")
    if kind is Kind.LINK_STATE:
        payload = router.linkstate.database.records.payload(FAR_AWAY)
        assert payload is not None
        return int.from_bytes(payload[4:12], "big") + 1
    state = router.interest.database.state(FAR_AWAY)
    assert state is not None
    return state.sequence + 1


# What goes on as before.


@SEEDS
def test_signed_networks_deliver_what_is_owed_over_links_that_lose_double_and_reorder(seed: int) -> None:
    rng = random.Random(seed)
    clients = {f"c{n}": rng.randrange(1, 7) for n in range(1, 5)}
    configs = signed(configure(random_graph(rng, 6, 3), clients))
    net = Network(configs, seed, Conditions(jitter_ns=3_000_000, loss=0.1, duplicate=0.1), scripts(rng, 4))
    net.converge()
    for wire in net.wires.values():
        wire.conditions = Conditions()
    net.run(5 * SECOND)
    start(net)
    net.run(3 * SECOND)
    assert delivered(net.events) == owed(net.events) != {}
    refused = {Reason.WRONG_SIGNATURE, Reason.UNKNOWN_SIGNER, Reason.MALFORMED_PAYLOAD}
    assert not any(refused & drops(net, f"r{n}").keys() for n in range(1, 7)), f"seed {seed}"


def test_all_is_known_as_without_signatures() -> None:
    one, other = ([row[:3] for row in known(network(records))] for records in (False, True))
    assert one == other


def test_who_was_not_there_is_sent_the_records_with_the_signatures_of_those_that_they_are_of() -> None:
    """r1 hears of r3 from others alone, after steps of r3's interest came about that it never saw."""
    net = network()
    net.kill("r1")
    net.run(5 * SECOND)
    net.start("r1")
    net.converge()
    state = net.router("r1").interest.database.state(FAR_AWAY)
    assert state == net.router("r3").interest.database.state(FAR_AWAY) is not None
    assert drops(net) == {}


# Restarts.


def own_numbers(net: Network, since: int) -> list[int]:
    """The numbers of the records of its links that r3 has sent."""
    packets = [p for _, name, _, datagram in net.sent[since:] if name == "r3" for _, p in split(datagram)]
    records = [
        packet[32:] for packet in packets if packet[1] == PacketType.CONTROL and packet[5] == Kind.LINK_STATE
    ]
    return [int.from_bytes(r[4:12], "big") for r in records if int.from_bytes(r[:4], "big") == 3]


def test_the_first_number_of_who_starts_again_is_above_all_that_it_has_used() -> None:
    net = network()
    before, since = above(net, Kind.LINK_STATE) - 1, len(net.sent)
    net.kill("r3")
    net.run(5 * SECOND)
    net.start("r3")
    began_us = net.now_ns // 1000
    net.converge()
    assert min(own_numbers(net, since)) > began_us > before


def test_nobody_silences_who_has_started_again_with_its_records_of_before() -> None:
    net = network()
    recorded = net.router("r1").linkstate.database.records.payload(FAR_AWAY)
    assert recorded is not None
    net.kill("r3")
    net.run(5 * SECOND)
    net.start("r3")
    net.converge()
    before = known(net)
    say(net, Kind.LINK_STATE, recorded)
    net.run(SECOND)
    assert known(net) == before


def test_who_starts_again_with_a_clock_that_was_set_back_goes_above_its_own_records() -> None:
    net = network()
    net.kill("r3")
    net.run(5 * SECOND)
    net.start("r3")
    router = net.router("r3")
    for own in (router.linkstate.database.records.own, router.interest.database.own):
        own._from_clock = False
    net.converge()
    assert router.rules.identity.superseded_count > 0
    assert net.reasons() == []


# New keys.


def test_a_router_starts_again_with_another_key_and_what_it_signed_before_is_refused() -> None:
    net = network()
    fresh = bytes(range(32))
    signers = {**net.configs["r1"].signers, FAR_AWAY: Signer(fresh).public}
    net.kill("r3")
    for name in ("r1", "r2", "r4"):
        net.router(name).use_signers(signers)
    record = encode_payload(LinkState(FAR_AWAY, above(net, Kind.LINK_STATE), ()))
    say(net, Kind.LINK_STATE, record + signer(FAR_AWAY).sign(Kind.LINK_STATE, record))
    assert drops(net)[Reason.WRONG_SIGNATURE] == 1
    net.configs["r3"] = replace(net.configs["r3"], signing_seed=fresh, signers=signers)
    net.run(SECOND)
    net.start("r3")
    net.converge()
    assert net.reasons() == []
    assert net.router("r1").linkstate.database.listed() == {1, 2, 3, 4}
    assert drops(net)[Reason.WRONG_SIGNATURE] == 1


# Attacks of a router with keys, which speaks in the name of another.


def no_links(number: int) -> Payload:
    return LinkState(FAR_AWAY, number, ())


def wants_nothing(number: int) -> Payload:
    return Interest(FAR_AWAY, number, NOTHING)


def wants_everything(number: int) -> Payload:
    return Interest(FAR_AWAY, number, EVERYTHING)


Forged = Callable[[int], Payload]
LIES = pytest.mark.parametrize(
    "lie", [no_links, wants_nothing, wants_everything], ids=lambda lie: lie.__name__
)


def as_it_is(record: bytes, kind: Kind) -> bytes:
    return record


def of_the_liar(record: bytes, kind: Kind) -> bytes:
    return record + signer(LIAR).sign(kind, record)


def of_another_kind(record: bytes, kind: Kind) -> bytes:
    return record + signer(FAR_AWAY).sign(Kind.OFFER, record)


def of_nobody(record: bytes, kind: Kind) -> bytes:
    return record + bytes(SIGNATURE_BYTES)


SIGNED_AS = pytest.mark.parametrize(
    "sign", [as_it_is, of_the_liar, of_another_kind, of_nobody], ids=lambda sign: sign.__name__
)


def say(net: Network, kind: Kind, payload: bytes) -> None:
    """r2 says it to r1, over its own session, and r1 has heard it soon."""
    (link,) = (link for link in net.router("r2").links if link.interface.peer_name == "r1")
    link.send(net.now_ns, kind, payload)
    net.after("r2")
    net.run(SECOND // 10)


def tell(net: Network, lie: Forged, sign: Callable[[bytes, Kind], bytes], number: int | None = None) -> None:
    """r2 tells r1 a lie about r3."""
    kind = kind_of(lie(0))
    record = encode_payload(lie(above(net, kind) if number is None else number))
    say(net, kind, sign(record, kind))


@LIES
def test_without_signatures_a_router_speaks_for_another(lie: Forged) -> None:
    net = network(records=False)
    before = known(net)
    tell(net, lie, as_it_is)
    assert net.router("r3").status()["superseded"], "r3 has to contradict it"
    assert known(net) != before


@LIES
@SIGNED_AS
def test_with_signatures_it_changes_nothing_anywhere(
    lie: Forged, sign: Callable[[bytes, Kind], bytes]
) -> None:
    net = network()
    before, sent = known(net), len(net.sent)
    tell(net, lie, sign)
    net.run(SECOND // 10)
    assert known(net) == before
    assert drops(net) == {Reason.WRONG_SIGNATURE: 1}
    told = {name for _, name, _, datagram in net.sent[sent:] if datagram[1] == PacketType.CONTROL}
    assert told == {"r2"}, "nobody passes it on"
    net.run(5 * SECOND)
    assert net.reasons() == []


@LIES
def test_a_forged_highest_number_silences_nobody(lie: Forged) -> None:
    net = network()
    before = known(net)
    tell(net, lie, of_the_liar, number=LAST)
    net.run(SECOND)
    assert known(net) == before
    assert not net.router("r3").contradicted


@LIES
def test_what_is_true_of_a_router_is_told_on_after_a_lie_about_it(lie: Forged) -> None:
    """The channel goes on: what comes behind a record that was dropped is taken."""
    net = network()
    tell(net, lie, of_the_liar)
    start(net)
    net.run(3 * SECOND)
    assert 'y = "a"' in net.router("r1").tables()
    assert {log.event for _, _, log in net.logs} == {"adjacency_up", Reason.WRONG_SIGNATURE}


def test_a_change_that_its_origin_has_not_signed_is_not_taken() -> None:
    net = network()
    router = net.router("r1")
    state, predicate = router.interest.database.state(FAR_AWAY), router.interest.database.predicate(FAR_AWAY)
    assert state is not None
    added = parse_predicate("z = 1")
    read = router.store.pool.read(encode_payload(Interest(1, 1, added))[12:])
    digest = predicate.digest_after(router.store.pool.read(bytes(4)), read)
    change = InterestChange(FAR_AWAY, state.sequence + 1, digest, NOTHING, added)
    before = known(net)
    for end in (b"", signer(LIAR).sign(Kind.INTEREST, encode_payload(change)), bytes(SIGNATURE_BYTES)):
        say(net, Kind.INTEREST_CHANGE, encode_payload(change) + end)
    net.run(SECOND)
    assert known(net) == before
    assert drops(net) == {Reason.WRONG_SIGNATURE: 3}


def test_a_record_in_our_own_name_that_we_have_not_signed_is_not_answered_by_a_louder_one() -> None:
    net = network()
    before = known(net)
    for payload in (LinkState(1, 2**55, ()), LinkState(1, LAST, ()), Interest(1, LAST, EVERYTHING)):
        say(net, kind_of(payload), of_the_liar(encode_payload(payload), kind_of(payload)))
    net.run(SECOND)
    assert known(net) == before
    assert drops(net) == {Reason.WRONG_SIGNATURE: 3}


def test_a_router_that_nobody_gave_a_key_is_believed_by_nobody() -> None:
    net = network()
    before = known(net)
    record = encode_payload(LinkState(99, 1, ((1, 1),)))
    say(net, Kind.LINK_STATE, record + signer(99).sign(Kind.LINK_STATE, record))
    net.run(SECOND)
    assert known(net) == before
    assert drops(net) == {Reason.UNKNOWN_SIGNER: 1}


def test_a_reason_is_logged_once_a_session_and_says_what_is_wrong() -> None:
    net = network()
    for number in range(5):
        record = encode_payload(no_links(LAST - number))
        say(net, Kind.LINK_STATE, of_the_liar(record, Kind.LINK_STATE))
    net.run(SECOND)
    (log,) = (log for _, name, log in net.logs if (name, log.event) == ("r1", Reason.WRONG_SIGNATURE))
    assert log.fields["peer"] == "r2"
    assert log.fields["origin"] == FAR_AWAY
    assert drops(net) == {Reason.WRONG_SIGNATURE: 5}


def test_where_records_are_not_signed_one_with_a_signature_is_malformed() -> None:
    net = Network(configure(line(3)), 1)
    net.converge(within_ns=SECOND)
    record = encode_payload(LinkState(FAR_AWAY, 2**40, ()))
    say(net, Kind.LINK_STATE, record + signer(FAR_AWAY).sign(Kind.LINK_STATE, record))
    assert drops(net) == {Reason.MALFORMED_PAYLOAD: 1}


# What schemes pass on.


def scheme_network(scheme: str, records: bool) -> Network:
    """A line, so that what is said in the name of r3 comes by r2."""
    configs = configure(line(4), {"c1": 1, "c3": 3})
    configs = {name: replace(config, scheme=scheme) for name, config in configs.items()}
    net = Network(signed(configs) if records else configs, 1, scripts={"c3": WANTS})
    net.converge(within_ns=5 * SECOND)
    net.run(3 * SECOND)
    return net


def era(net: Network) -> int:
    adjacencies = net.router("r1").status()["adjacencies"]
    return int(adjacencies[0]["sent_digest"].split("/")[1], 16)  # type: ignore[index]


def another_era(net: Network) -> Payload:
    return CbcbEra(((FAR_AWAY, 2**55, 7),))


def more_interest(net: Network) -> Payload:
    return CbcbAdvertisement(FAR_AWAY, era(net), 77, False, parse_predicate("z = 1"))


def another_request(net: Network) -> Payload:
    return CbcbRequest(FAR_AWAY, era(net), 77, False)


def other_costs(net: Network) -> Payload:
    return CostAnnounce(FAR_AWAY, 2**55, True, True, 10**9, 10**9, ())


OF_SCHEMES = pytest.mark.parametrize(
    ("scheme", "lie"),
    [
        ("cbcb", another_era),
        ("cbcb", more_interest),
        ("cbcb", another_request),
        ("amsp", other_costs),
    ],
)


@OF_SCHEMES
def test_without_signatures_what_a_scheme_passes_on_is_believed(
    scheme: str, lie: Callable[[Network], Payload]
) -> None:
    net = scheme_network(scheme, records=False)
    sent, payload = len(net.sent), lie(net)
    say(net, kind_of(payload), encode_payload(payload))
    assert drops(net) == {}
    replied = {name for _, name, _, datagram in net.sent[sent:] if datagram[1] == PacketType.CONTROL}
    assert replied - {"r2"} or "z = 1" in net.router("r1").tables()


@OF_SCHEMES
@SIGNED_AS
def test_with_signatures_nothing_comes_of_it(
    scheme: str, lie: Callable[[Network], Payload], sign: Callable[[bytes, Kind], bytes]
) -> None:
    net = scheme_network(scheme, records=True)
    before, sent, payload = known(net), len(net.sent), lie(net)
    kind = kind_of(payload)
    say(net, kind, sign(encode_payload(payload), kind))
    assert known(net) == before
    (reason,) = drops(net)
    cut_short = sign is as_it_is and reason == Reason.MALFORMED_PAYLOAD
    assert cut_short or reason == Reason.WRONG_SIGNATURE
    replied = {name for _, name, _, datagram in net.sent[sent:] if datagram[1] == PacketType.CONTROL}
    assert replied == {"r2"}


@SEEDS
def test_ten_thousand_changed_records_change_nothing(seed: int) -> None:
    """Of those that crossed the link, each with bits turned, its number raised, or its end cut off."""
    net, rng = network(), random.Random(seed)
    router = net.router("r1")
    held = [(Kind.LINK_STATE, payload) for _, payload in router.linkstate.database.records.payloads()]
    held += [(Kind.INTEREST, router.interest.database.payload(o)) for o in router.interest.database.origins]
    before = known(net)
    for number in range(10_000 // 6):
        kind, payload = rng.choice(held)
        changed = bytearray(payload)
        way = number % 3
        if way == 0:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        elif way == 1:
            changed[4:12] = rng.randrange(2**63).to_bytes(8, "big")
        else:
            del changed[rng.randrange(len(changed)) :]
        say(net, kind, bytes(changed))
    net.run(SECOND)
    assert known(net) == before, f"seed {seed}"
    expected = {
        Reason.WRONG_SIGNATURE,
        Reason.UNKNOWN_SIGNER,
        Reason.MALFORMED_PAYLOAD,
        Reason.TOO_MANY_FILTERS,
    }
    assert drops(net).keys() <= expected, f"seed {seed}"
