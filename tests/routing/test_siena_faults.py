"""Networks of siena whose links and routers fail, and neighbours that say what they should not."""

from __future__ import annotations

import random

import pytest

from fastpath.wire import codec
from nodes.config import LimitConfig
from nodes.model import parse_predicate
from nodes.routing.effects import Reason
from nodes.routing.schemes.base import Options
from nodes.wire.codec import encode_predicate
from nodes.wire.packets import Kind
from tests.routing.fabric import MS, SECOND, Conditions, Network, random_graph, ring
from tests.routing.random_faults import break_at_random, calm, drawn_network
from tests.routing.siena_cases import (
    ADVERTISED,
    LITERAL,
    LITERAL_ADVERTISED,
    SHARED,
    SOURCE,
    SOURCE_ADVERTISED,
    central,
    network,
    scheme,
    table,
)
from tests.routing.test_hostile import Impostor, drops
from tests.routing.workload import Edges, delivered, owed, start, within

OPTIONS = [SHARED, SOURCE, ADVERTISED, SOURCE_ADVERTISED]


def hold_to_the_definition(net: Network, options: Options, what: str) -> None:
    for name in net.configs:
        if name[0] == "r":
            assert table(net.router(name)) == central(net, name, options), f"{what}: tables of {name}"
    mark = len(net.events)
    start(net)
    net.run(2 * SECOND)
    held = [e for e in net.events[:mark] if e["event"] in ("subscribe", "advertise")]
    events = held + net.events[mark:]
    if options.get("advertisements"):
        events = within(events)
    assert delivered(events) == owed(events), what


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(14))
def test_after_random_faults_nothing_is_missing_nothing_comes_twice_and_tables_are_as_computed_centrally(
    seed: int, options: Options
) -> None:
    """Links cut in both or one direction, nodes killed and restarted, on wires that lose and reorder."""
    rng = random.Random(f"{seed}/faults")
    edges, conditions = drawn_network(rng)
    net = network(edges, options, seed, conditions, clients=4)
    break_at_random(net, rng, edges)
    calm(net)
    hold_to_the_definition(net, options, f"seed {seed}")


@pytest.mark.parametrize("options", [LITERAL, LITERAL_ADVERTISED], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_literal_converges_after_random_faults_to_what_both_ends_of_every_link_agree_on(
    seed: int, options: Options
) -> None:
    """What it then lacks is E6, not a difference between what was told and what was heard."""
    rng = random.Random(f"{seed}/literal")
    edges = random_graph(rng, 7, 5)
    net = network(edges, options, seed, Conditions(loss=0.05, jitter_ns=MS), clients=5)
    for _ in range(6):
        net.run(rng.randrange(2 * SECOND))
        a, b, _ = rng.choice(edges)
        net.cut(f"r{a}", f"r{b}", down=rng.random() < 0.5)
    for wire in net.wires.values():
        wire.cut = False
    net.converge(within_ns=30 * SECOND)
    calm(net)
    start(net)
    net.run(2 * SECOND)
    assert not delivered(net.events) - owed(net.events), f"seed {seed}"


@pytest.mark.parametrize("options", [SHARED, SOURCE], ids=str)
def test_a_partition_is_served_on_both_sides_and_heals_with_another_root(options: Options) -> None:
    """Router 1 is the root of the shared tree; the side without it takes another."""
    net = network(ring(6), options, seed=5, clients=6)
    net.converge(within_ns=2 * SECOND)
    for a, b in ((1, 2), (4, 5)):
        net.cut(f"r{a}", f"r{b}")
    net.run(2500 * MS)
    down = [f"r{a}-eth{i.index}" for a, b in ((1, 2), (2, 1), (4, 5), (5, 4)) for i in
            net.configs[f"r{a}"].interfaces if i.peer_name == f"r{b}"]  # fmt: skip
    whole = central(net, "r3", options)
    sides = [net.router(f"r{n}").linkstate.database.topology().nodes for n in (1, 2)]
    assert sides == [(1, 5, 6), (2, 3, 4)]
    for name in ("r1", "r2", "r3", "r4", "r5", "r6"):
        assert table(net.router(name)) == central(net, name, options), name
    for a, b in ((1, 2), (4, 5)):
        net.cut(f"r{a}", f"r{b}", down=False)
    net.converge(within_ns=2 * SECOND)
    assert central(net, "r3", options) != whole
    assert down
    hold_to_the_definition(net, options, "healed")


@pytest.mark.parametrize("options", [SHARED, SOURCE], ids=str)
def test_a_router_that_restarts_within_the_hold_time_receives_everything_again(
    options: Options,
) -> None:
    net = network(ring(5), options, seed=6)
    net.converge(within_ns=2 * SECOND)
    net.kill("r2")
    net.run(50 * MS)
    net.start("r2")
    assert net.converge(within_ns=2 * SECOND) < 500 * MS
    hold_to_the_definition(net, options, "restarted")


def test_a_root_that_dies_is_replaced_by_the_next() -> None:
    net = network(ring(5), SHARED, seed=9)
    net.converge(within_ns=2 * SECOND)
    orphans = [n for n, c in net.configs.items() if n[0] == "c" and c.interfaces[0].peer_name == "r1"]
    for name in ["r1", *orphans]:
        net.kill(name)
    net.run(2500 * MS)
    net.converge(within_ns=2 * SECOND, down=["r1", *orphans])
    for name in ("r2", "r3", "r4", "r5"):
        assert table(net.router(name)) == central(net, name, SHARED), name
    for name in ["r1", *orphans]:
        net.start(name)
    net.converge(within_ns=2 * SECOND)
    hold_to_the_definition(net, SHARED, "back")


def output(issuer: int, predicate: str) -> bytes:
    return codec.encode_unsubscribe(issuer) + encode_predicate(parse_predicate(predicate))


def hostile(options: Options, limits: LimitConfig = LimitConfig()) -> tuple[Network, Impostor]:  # noqa: B008
    net = network(ring(3), options, seed=2, clients=3, limits=limits)
    net.converge(within_ns=2 * SECOND)
    net.run(SECOND)
    return net, Impostor(net, 0)


def state(net: Network) -> object:
    router = net.router("r1")
    return table(router), scheme(router).accounts(), router.tables()


BAD = [
    b"",
    b"\0\0\0",
    bytes(4),
    bytes(8),
    bytes(4) + b"\xff\xff\xff\xff",
    output(0, "x = 1") + b"\0",
    output(0, "x = 1")[:-1],
    output(0, "none"),
    output(2, "x = 1"),
]


@pytest.mark.parametrize("kind", [Kind.SIENA_SUBSCRIBE, Kind.SIENA_UNSUBSCRIBE])
@pytest.mark.parametrize("payload", BAD, ids=repr)
def test_a_malformed_payload_or_one_of_another_kind_of_tree_is_counted_and_changes_nothing(
    kind: int, payload: bytes
) -> None:
    net, impostor = hostile(SHARED)
    before = state(net)
    impostor.send(kind, payload)
    assert drops(net)[Reason.MALFORMED_PAYLOAD] == 1
    assert state(net) == before


@pytest.mark.parametrize(("options", "issuer"), [(SHARED, 0), (SOURCE, 2)], ids=str)
def test_withdrawing_an_unknown_subscription_is_counted_and_ignored(options: Options, issuer: int) -> None:
    net, impostor = hostile(options)
    before = state(net)
    impostor.send(Kind.SIENA_UNSUBSCRIBE, output(issuer, "never = 1"))
    assert drops(net)[Reason.UNKNOWN_SUBSCRIPTION] == 1
    assert state(net) == before


def test_a_change_that_was_made_before_may_be_repeated_without_effect() -> None:
    net, impostor = hostile(SHARED)
    impostor.send(Kind.SIENA_SUBSCRIBE, output(0, "x = 77"))
    before = state(net)
    impostor.send(Kind.SIENA_SUBSCRIBE, output(0, "x = 77"))
    assert state(net) == before


def test_a_neighbour_may_not_make_us_hold_more_than_the_limit_and_is_not_found_in_agreement() -> None:
    net, impostor = hostile(SHARED, LimitConfig(filters_per_neighbour=30))
    before = state(net)
    impostor.send(Kind.SIENA_SUBSCRIBE, output(0, " or ".join(f"n = {i}" for i in range(31))))
    assert drops(net)[Reason.TOO_MANY_FILTERS] == 1
    assert state(net) == before
    logged = [log for _, _, log in net.logs if log.event == Reason.TOO_MANY_FILTERS]
    assert logged[0].fields["setting"] == "limits.filters_per_neighbour"


@pytest.mark.parametrize("issuer", [1, 3, 99, 2**32 - 1])
def test_a_subscription_attracts_nothing_if_its_issuer_is_not_that_way(issuer: int) -> None:
    """Held and counted, as the trees may turn, but not forwarded and in no table: of ourselves, of
    whom the other neighbour leads to, of nobody."""
    net, impostor = hostile(SOURCE)
    tables = table(net.router("r1"))
    mark = len(net.sent)
    impostor.send(Kind.SIENA_SUBSCRIBE, output(issuer, "all"))
    net.run(100 * MS)
    assert table(net.router("r1")) == tables
    assert not any(datagram[1] == 3 for _, sender, i, datagram in net.sent[mark:] if (sender, i) == ("r1", 1))
    assert "r1 and r2" not in str(net.reasons())
    assert net.reasons(), "and it is seen: r2 has not said what r1 heard"


def test_covered_filters_of_a_neighbour_who_does_not_prune_are_served_and_survive_their_cover() -> None:
    net, impostor = hostile(SHARED)
    for predicate in ("n > 5", "n > 1", "n > 9"):
        impostor.send(Kind.SIENA_SUBSCRIBE, output(0, predicate))
    impostor.send(Kind.SIENA_UNSUBSCRIBE, output(0, "n > 1"))
    net.run(100 * MS)
    assert "n > 5" in net.router("r1").tables()
    assert "n > 1" not in net.router("r1").tables()
    assert "n > 5" in net.router("r3").tables()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_whenever_a_network_says_it_is_ready_its_tables_are_those_of_a_central_computation(
    seed: int, options: Options
) -> None:
    """Asked every few milliseconds while links flap, routers restart and clients change their minds."""
    rng = random.Random(f"{seed}/ready")
    edges = random_graph(rng, 6, 4)
    net = network(edges, options, seed, Conditions(jitter_ns=3 * MS, loss=0.05), clients=4)
    ready = 0
    for step in range(600):
        if step % 60 == 0:
            disturb(net, rng, edges)
        net.run(5 * MS)
        if not net.reasons():
            ready += 1
            for name in [n for n in net.configs if n[0] == "r"]:
                computed = central(net, name, options)
                assert table(net.router(name)) == computed, f"seed {seed} step {step} {name}"
    assert ready > 20, f"seed {seed}"


def disturb(net: Network, rng: random.Random, edges: Edges) -> None:
    """A session broken, a router restarted, or a subscription replaced."""
    a, b, _ = rng.choice(edges)
    match rng.randrange(3):
        case 0:
            net.kill(f"r{a}")
            net.start(f"r{a}")
        case 1:
            net.cut(f"r{a}", f"r{b}")
            net.at(net.now_ns + rng.randrange(60 * MS), lambda: net.cut(f"r{a}", f"r{b}", down=False))
        case 2:
            name = rng.choice(sorted(net.scripts))
            core, text = net.client(name).core, f"x > {rng.randrange(9)}"
            if rng.random() < 0.5:
                core.subscribe(net.now_ns, parse_predicate(text), 0)
            else:
                core.advertise(net.now_ns, parse_predicate(f"{text} and k any string"), 0)
            net.after(name)
