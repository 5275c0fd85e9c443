"""Networks of `bp` and `bs`: deliveries, tables, what is said where, faults, and forged descriptors (K1)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from fastpath.fib import DropReason
from nodes.config import LimitConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.schemes.base import learned
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import encode_filter
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from nodes.wire.packets import Kind
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure, line, random_graph, ring
from tests.routing.impostor import Impostor
from tests.routing.matchmaker_cases import OPTIONS, faults, network, of_scheme, said
from tests.routing.test_faults import apply_random_fault
from tests.routing.workload import delivered, owed, start, within

SCHEMES = ["bp", "bs"]
ADVERTISED: Mapping[str, OptionValue] = {"advertisements": True}
EVERY = pytest.mark.parametrize(("scheme", "options"), [(s, o) for s in SCHEMES for o in OPTIONS], ids=str)
BOTH = pytest.mark.parametrize("scheme", SCHEMES)


def hold_to_the_definition(net: Network, scheme: str, options: Mapping[str, OptionValue], what: str) -> None:
    assert faults(net, scheme, options) == [], what
    mark = len(net.events)
    start(net)
    net.run(2 * SECOND)
    held = [e for e in net.events[:mark] if e["event"] in ("subscribe", "advertise")]
    events = held + net.events[mark:]
    if options.get("advertisements"):
        events = within(events)
    assert delivered(events) == owed(events), what


@EVERY
@pytest.mark.parametrize("seed", range(6))
def test_all_that_is_owed_is_delivered_once_by_the_tables_of_a_central_computation(
    scheme: str, options: Mapping[str, OptionValue], seed: int
) -> None:
    rng = random.Random(seed)
    edges = [(1, 2, 1)] if seed == 0 else random_graph(rng, rng.randrange(3, 11), rng.randrange(9))
    net = network(scheme, edges, options, seed)
    net.converge(within_ns=2 * SECOND)
    hold_to_the_definition(net, scheme, options, f"seed {seed}")
    assert {reason for _, reason in net.forward_drops} <= {DropReason.UNADVERTISED}
    assert net.reasons() == []


@EVERY
@pytest.mark.parametrize("seed", range(6))
def test_after_random_faults_nothing_is_missing_and_tables_are_as_computed_centrally(
    scheme: str, options: Mapping[str, OptionValue], seed: int
) -> None:
    rng = random.Random(f"{seed}/faults")
    edges = random_graph(rng, rng.randrange(2, 9), rng.randrange(8))
    conditions = Conditions(
        rng.choice([MS // 10, 20 * MS]), rng.choice([0, MS, 50 * MS]), rng.choice([0, 0.05, 0.2]), 0.1
    )
    net = network(scheme, edges, options, seed, conditions, clients=4)
    dead: set[str] = set()
    for _ in range(rng.randrange(1, 12)):
        net.run(rng.randrange(3 * SECOND))
        apply_random_fault(net, rng, edges, dead)
    for name in sorted(dead):
        net.start(name)
    for wire in net.wires.values():
        wire.cut = False
    net.converge(within_ns=30 * SECOND)
    for wire in net.wires.values():
        wire.conditions = Conditions()
    net.run(SECOND)
    hold_to_the_definition(net, scheme, options, f"seed {seed}")


def quiet(scheme: str, options: Mapping[str, OptionValue] = ADVERTISED) -> Network:
    """Three routers in a line with a client each, of which nothing is known yet."""
    configs = configure(line(3), {"c1": 1, "c2": 2, "c3": 3})
    net = Network(of_scheme(configs, scheme, options), 1)
    net.converge(within_ns=2 * SECOND)
    return net


def do(net: Network, client: str, what: str, text: str = "", number: int = 1) -> int:
    """Let a client do something; where what is said then begins."""
    mark, core = len(net.sent), net.client(client).core
    arguments = (parse_predicate(text), number) if text else (number,)
    getattr(core, what)(net.now_ns, *arguments)
    net.after(client)
    net.converge(within_ns=2 * SECOND)
    return mark


@BOTH
def test_one_sort_of_descriptors_goes_everywhere_and_a_match_along_its_path(scheme: str) -> None:
    net = quiet(scheme)
    told, kept = ("PCD", "SCD") if scheme == "bp" else ("SCD", "PCD")
    advertised = said(net, do(net, "c1", "advertise", "x > 5"))
    assert advertised == ({"PCD": 2} if told == "PCD" else {})
    subscribed = said(net, do(net, "c3", "subscribe", "x > 7"))
    assert subscribed == ({"MCD": 2} if told == "PCD" else {"SCD": 2, "MCD": 2})
    assert kept not in advertised + subscribed


@BOTH
def test_what_does_not_overlap_makes_no_match(scheme: str) -> None:
    net = quiet(scheme)
    do(net, "c1", "advertise", "x > 5")
    assert "MCD" not in said(net, do(net, "c3", "subscribe", "x < 3"))
    assert wanted(net, "r2", 3) == []


@BOTH
@pytest.mark.parametrize(("client", "what"), [("c1", "unadvertise"), ("c3", "unsubscribe")])
def test_a_match_goes_with_either_of_its_descriptors(scheme: str, client: str, what: str) -> None:
    net = quiet(scheme)
    do(net, "c1", "advertise", "x > 5")
    do(net, "c3", "subscribe", "x > 7")
    assert wanted(net, "r2", 3) != []
    gone = said(net, do(net, client, what))
    assert gone["MCD withdrawn"] == 2
    assert wanted(net, "r2", 3) == []


@BOTH
def test_two_clients_of_a_router_with_the_same_filter_are_one_descriptor(scheme: str) -> None:
    configs = configure(line(2), {"c1": 1, "c2": 2, "c3": 2})
    net = Network(of_scheme(configs, scheme, ADVERTISED), 1)
    net.converge(within_ns=2 * SECOND)
    do(net, "c1", "advertise", "x > 5")
    do(net, "c2", "subscribe", "x > 7")
    assert said(net, do(net, "c3", "subscribe", "x > 7")) == {}
    assert said(net, do(net, "c2", "unsubscribe")) == {}
    assert said(net, do(net, "c3", "unsubscribe"))["MCD withdrawn"] == 1


@EVERY
def test_nothing_is_said_when_nothing_changes(scheme: str, options: Mapping[str, OptionValue]) -> None:
    net = network(scheme, ring(5), options)
    net.converge(within_ns=2 * SECOND)
    mark = len(net.sent)
    net.run(5 * SECOND)
    assert said(net, mark) == {}


@BOTH
def test_without_advertisements_each_router_publishes_anything(scheme: str) -> None:
    net = quiet(scheme, {})
    subscribed = said(net, do(net, "c3", "subscribe", "x > 7"))
    assert subscribed["MCD"] == 3, "from r1 over two links and from r2 over one"


def forged(**fields: object) -> bytes:
    ids = {"publisher": 0, "pcd": 0, "subscriber": 0, "scd": 0, "filter": None}
    return DescriptorUpdate(**{**ids, **fields}).encode()  # type: ignore[arg-type]


WANTS_ALL = encode_filter(parse_predicate("all").filters[0])


def attack(net: Network, payload: bytes) -> None:
    """Router 1 says something to router 2."""
    Impostor(net, 0, "r2").send(Kind.CD_UPDATE, payload)


def drops(net: Network) -> dict[str, int]:
    return dict(net.router("r2").drops)


def wanted(net: Network, router: str, subscriber: int) -> list[bytes]:
    """By what a router forwards messages towards another."""
    return sorted(net.router(router).store.filters(learned(subscriber)))


@BOTH
def test_descriptors_that_come_the_wrong_way_are_held_and_not_used(scheme: str) -> None:
    """Router 2 is told by router 1 what router 3, which is on its other side, is said to want."""
    net = quiet(scheme, {})
    attack(net, forged(publisher=2, pcd=1, subscriber=3, scd=9, filter=WANTS_ALL))
    attack(net, forged(subscriber=3, scd=9, filter=WANTS_ALL))
    assert wanted(net, "r2", 3) == []
    attack(net, forged(publisher=2, pcd=1, subscriber=1, scd=9, filter=WANTS_ALL))
    assert wanted(net, "r2", 1) == [WANTS_ALL], "from where it should come it counts"


@BOTH
@pytest.mark.parametrize(
    "payload",
    [b"", b"\0" * 7, forged(subscriber=3, scd=9), forged(publisher=1, pcd=2) + b"\0"],
    ids=["nothing", "cut off", "an SCD without a filter", "a byte too many"],
)
def test_what_is_malformed_is_dropped_and_counted(scheme: str, payload: bytes) -> None:
    net = quiet(scheme, {})
    attack(net, payload)
    assert drops(net) == {Reason.MALFORMED_PAYLOAD: 1}


@BOTH
def test_what_was_never_told_cannot_be_withdrawn(scheme: str) -> None:
    net = quiet(scheme, {})
    attack(net, forged(publisher=1, pcd=77, withdrawn=True))
    assert drops(net) == {Reason.UNKNOWN_SUBSCRIPTION: 1}


@BOTH
def test_a_neighbour_cannot_make_a_router_hold_more_than_its_limit(scheme: str) -> None:
    configs = configure(line(3), {"c1": 1, "c3": 3}, limits=LimitConfig(filters_per_neighbour=10))
    net = Network(of_scheme(configs, scheme, {}), 1)
    net.converge(within_ns=2 * SECOND)
    impostor = Impostor(net, 0, "r2")
    for number in range(2, 30):
        impostor.send(Kind.CD_UPDATE, forged(publisher=1, pcd=number))
    assert drops(net)[Reason.TOO_MANY_FILTERS] >= 15
