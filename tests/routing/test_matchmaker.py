"""Networks of `bp` and `bs`: deliveries, tables, what is said where, faults, and forged descriptors (K1)."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from fastpath.fib import DropReason
from nodes.config import LimitConfig
from nodes.matchmaker.problem import Problem
from nodes.matchmaker.topdown import top_down
from nodes.model import parse_predicate
from nodes.model.meeting import Key
from nodes.routing.effects import Reason
from nodes.routing.router import Router
from nodes.routing.schemes.base import learned
from nodes.routing.schemes.matchmaker import Matchmaker
from nodes.scheme_catalog import OptionValue
from nodes.wire.codec import encode_filter
from nodes.wire.matchmaker_payloads import DescriptorUpdate
from nodes.wire.packets import Kind
from tests.routing.fabric import MS, SECOND, Network, configure, line, random_graph, ring
from tests.routing.impostor import Impostor
from tests.routing.matchmaker_cases import (
    OPTIONS,
    adaptive,
    faults,
    marking_faults,
    marks_of,
    network,
    of_scheme,
    problems_of,
    routers_of,
    said,
    whole_of,
)
from tests.routing.random_faults import break_at_random, calm, drawn_network
from tests.routing.workload import delivered, owed, start, within

SCHEMES = ["amsp", "bp", "bs"]
ADVERTISED: Mapping[str, OptionValue] = {"advertisements": True}
EVERY = pytest.mark.parametrize(("scheme", "options"), [(s, o) for s in SCHEMES for o in OPTIONS], ids=str)
BOTH = pytest.mark.parametrize("scheme", SCHEMES)
FIXED = pytest.mark.parametrize("scheme", ["bp", "bs"])


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
    edges, conditions = drawn_network(rng)
    net = network(scheme, edges, options, seed, conditions, clients=4)
    break_at_random(net, rng, edges)
    calm(net)
    hold_to_the_definition(net, scheme, options, f"seed {seed}")
    for router in routers_of(net).values():
        assert router.status()["descriptors"] == held_by(router), f"seed {seed}"


def held_by(router: Router) -> dict[str, int]:
    """How many descriptors and matches a router holds, counted one by one."""
    assert isinstance(router.scheme, Matchmaker)
    keys = [Key(*key) for key in router.scheme._meeting.held()]
    pcds = sum(bool(key.publisher) and not key.is_match for key in keys)
    scds = sum(bool(key.subscriber) and not key.is_match for key in keys)
    return {"PCD": pcds, "SCD": scds, "MCD": sum(key.is_match for key in keys)}


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


@FIXED
def test_one_sort_of_descriptors_travels_and_a_match_along_its_path(scheme: str) -> None:
    net = quiet(scheme)
    mark = do(net, "c1", "advertise", "x > 5")
    assert said(net, mark) == {}, "nobody subscribes"
    do(net, "c3", "subscribe", "x > 7")
    sort, other = ("PCD", "SCD") if scheme == "bp" else ("SCD", "PCD")
    assert said(net, mark) == {sort: 2, "MCD": 2}
    assert net.router("r2").status()["descriptors"] == {sort: 1, other: 0, "MCD": 1}


SQUARE = "x >= {0} and x <= {1} and y >= {0} and y <= {1}"


@pytest.mark.parametrize(("scheme", "descriptors"), [("bp", {"PCD": 6}), ("bs", {"SCD": 8})])
def test_K2_in_the_network_of_fig_4_as_many_descriptors_and_four_messages_of_matches_are_told(
    scheme: str, descriptors: dict[str, int]
) -> None:
    """A is router 1, B 2, C 3 and D 4; A publishes at two places, C wants one square and D three."""
    configs = configure([(1, 2, 1), (2, 3, 1), (2, 4, 1)], {"a": 1, "c": 3, "d": 4})
    net = Network(of_scheme(configs, scheme, ADVERTISED), 1)
    net.converge(within_ns=2 * SECOND)
    mark = len(net.sent)
    for number, place in enumerate([2, 7]):
        do(net, "a", "advertise", f"x = {place} and y = {place}", number)
    do(net, "c", "subscribe", SQUARE.format(1, 3))
    for number, square in enumerate([(20, 22), (30, 32), (7, 9)]):
        do(net, "d", "subscribe", SQUARE.format(*square), number)
    assert said(net, mark) == {**descriptors, "MCD": 4}


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
@pytest.mark.parametrize(("client", "what"), [("c1", "unadvertise"), ("c3", "unsubscribe")])
def test_nobody_is_told_twice_that_the_last_descriptors_of_a_router_are_gone(
    scheme: str, client: str, what: str
) -> None:
    net = quiet(scheme)
    do(net, "c1", "advertise", "x > 5 or y > 5")
    do(net, "c3", "subscribe", "x > 7 or y > 7 or z > 7")
    do(net, client, what)
    assert {name: dict(net.router(name).drops) for name in ("r1", "r2", "r3")} == {
        name: {} for name in ("r1", "r2", "r3")
    }


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
    quick = {"interval_ms": 300} if scheme == "amsp" else {}
    net = network(scheme, ring(5), {**options, **quick})
    net.run(30 * SECOND)  # rates go back to 0
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
        ids = {"publisher": 1, "pcd": number, "subscriber": 3, "scd": 9}
        impostor.send(Kind.CD_UPDATE, forged(**ids, filter=WANTS_ALL))
    assert drops(net)[Reason.TOO_MANY_FILTERS] >= 15


MEASURED: Mapping[str, OptionValue] = {
    "advertisements": True,
    "interval_ms": 1500,
    "alpha": 0.9,
    "announce_deviations": 0.0,
}
"""Rates follow soon, and there is time to come to a fixpoint before they are measured again."""


def marks(net: Network) -> dict[tuple[int, int], int]:
    """The mark of each link within trees, which both ends must have alike."""
    found, differing = marks_of(routers_of(net))
    assert differing == []
    return {link: found[link] for link in centrally(net)[0].links}


def centrally(net: Network) -> tuple[Problem, dict[tuple[int, int], int]]:
    """What TDM makes of the rates that are announced."""
    [problem] = problems_of(routers_of(net), whole_of(net, MEASURED))
    return problem, dict(top_down(problem))


def churn(net: Network, rng: random.Random, rates: Mapping[str, tuple[str, float]], seconds: int) -> None:
    """Clients advertise or subscribe anew, so often a second, each time something else."""
    steps = sorted(
        (rng.random() * seconds, client, what)
        for client, (what, rate) in rates.items()
        for _ in range(round(rate * seconds))
    )
    began = net.now_ns
    for number, (at, client, what) in enumerate(steps):
        net.run(max(0, began + int(at * SECOND) - net.now_ns))
        text = f"x = {number}" if what == "advertise" else f"x > {number}"
        getattr(net.client(client).core, what)(net.now_ns, parse_predicate(text), 50)
        net.after(client)


def changing(net: Network, rng: random.Random) -> None:
    clients = sorted(name for name in net.configs if name[0] == "c")
    kinds = [(rng.choice(["advertise", "subscribe"]), rng.choice([0.5, 1.0, 4.0])) for _ in clients]
    churn(net, rng, dict(zip(clients, kinds, strict=True)), 4)


@pytest.mark.parametrize("tree", ["source", "shared"])
@pytest.mark.parametrize("seed", range(6))
def test_K8_at_a_fixpoint_marks_are_valid_alike_at_both_ends_and_those_of_central_top_down_marking(
    seed: int, tree: str
) -> None:
    rng = random.Random(f"{seed}/marks")
    edges = random_graph(rng, rng.randrange(3, 9), rng.randrange(7))
    options = {**MEASURED, "tree": tree, "marking": rng.choice("sp")}
    net = network("amsp", edges, options, seed)
    for _ in range(2):
        changing(net, rng)
        net.converge(within_ns=20 * SECOND)
        problem, _ = centrally(net)
        assert any(problem.publishers.values()) or any(problem.subscribers.values()), (
            "rates are not back at 0"
        )
        assert marking_faults(routers_of(net), whole_of(net, options)) == [], f"seed {seed}"
        assert faults(net, "amsp", options) == [], f"seed {seed}"
    hold_to_the_definition(net, "amsp", options, f"seed {seed}")


@pytest.mark.parametrize("seed", range(4))
def test_descriptors_that_are_too_many_for_one_change_of_a_mark_are_all_taken(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodes.routing.schemes.amsp.LIST_BYTES", 50)
    rng = random.Random(f"{seed}/long")
    configs = configure(line(4), {"p1": 1, "p2": 1, "s": 4})
    net = Network(of_scheme(configs, "amsp", {**MEASURED, "marking": "s"}), seed)
    net.converge(within_ns=2 * SECOND)
    for number in range(10):
        do(net, "p1", "advertise", f"y = {number}", number)
    before = marks_as_they_are(net)
    churn(net, rng, {"s": ("subscribe", 8.0)}, 6)
    assert marks_as_they_are(net) != before, f"seed {seed}: marks did not change"
    do(net, "s", "subscribe", "y > 3")
    net.run(SECOND // 5)
    assert encode_filter(parse_predicate("y > 3").filters[0]) in wanted(net, "r1", 4), f"seed {seed}"
    net.converge(within_ns=20 * SECOND)
    assert faults(net, "amsp", {**MEASURED, "marking": "s"}) == [], f"seed {seed}"


@pytest.mark.parametrize("seed", range(3))
def test_K8_what_clients_keep_holding_is_delivered_while_marks_change(seed: int) -> None:
    """Others change what they advertise and want all the time, so links change their marks."""
    rng = random.Random(f"{seed}/changing")
    edges = random_graph(rng, 8, 5)
    configs = configure(edges, {"p": 1, "s": 8, "c1": 1, "c2": 8, "c3": 4, "c4": 5})
    net = Network(of_scheme(configs, "amsp", {**MEASURED, "interval_ms": 400}), seed)
    net.converge(within_ns=2 * SECOND)
    do(net, "p", "advertise", "y any integer")
    do(net, "s", "subscribe", "y > 0")
    changes, sent = 0, 0
    for round_ in range(8):
        fast, slow = (5.0, 0.0) if round_ % 2 else (0.0, 5.0)
        rates = {"c1": ("advertise", fast), "c2": ("subscribe", slow), "c3": ("subscribe", slow)}
        before = marks_as_they_are(net)
        for _ in range(4):
            churn(net, rng, {**rates, "c4": ("advertise", fast)}, 1)
            for _ in range(10):
                net.client("p").core.publish(net.now_ns, {"y": 1})
                net.after("p")
                net.run(20 * MS)
                sent += 1
        changes += before != marks_as_they_are(net)
    net.run(SECOND)
    got = [e for e in net.events if e["event"] == "deliver" and e["node"] == "s"]
    assert len(got) == sent == 320, f"seed {seed}"
    assert changes >= 4, f"seed {seed}: marks did not change"


def marks_as_they_are(net: Network) -> list[bool]:
    routers = [name for name in net.configs if name[0] == "r"]
    return [link.is_p_out for name in routers for link in adaptive(net.router(name))._links.values()]


def test_E18_in_a_ring_forcing_taken_literally_keeps_s_links_for_good_and_causes_do_not() -> None:
    found = {}
    for forcing in ("literal", "cause"):
        clients = {f"{kind}{n}": n for n in range(1, 6) for kind in ("c", "d")}
        options = {**MEASURED, "forcing": forcing, "marking": "p"}
        net = Network(of_scheme(configure(ring(5), clients), "amsp", options), 1)
        net.converge(within_ns=2 * SECOND)
        demand(net, published=4.0, wanted=0.5)
        assert not any(marks(net).values()), "publications are dearer everywhere"
        demand(net, published=0.5, wanted=4.0)
        found[forcing] = marks(net)
        assert all(centrally(net)[1].values()), "now subscriptions are"
    assert all(found["cause"].values())
    assert not any(found["literal"].values())


def demand(net: Network, published: float, wanted: float) -> None:
    """All clients change what they hold, so often a second, for some intervals."""
    publishing = {f"c{n}": ("advertise", published) for n in range(1, 6)}
    wanting = {f"d{n}": ("subscribe", wanted) for n in range(1, 6)}
    churn(net, random.Random(1), {**publishing, **wanting}, 6)
    net.converge(within_ns=2 * SECOND)
