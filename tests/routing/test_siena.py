"""Networks of siena: deliveries, tables, what is said and what is not (S1, S3, E6, E7, E15)."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fastpath.fib import DropReason
from nodes.config import Action
from nodes.model import parse_predicate
from nodes.routing.schemes.base import Options
from nodes.routing.schemes.siena_messages import KINDS, read
from nodes.routing.trees import Topology
from nodes.wire.codec import decode_datagram
from nodes.wire.packets import Control, Kind, Message
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure, line, random_graph, ring
from tests.routing.siena_cases import (
    ADVERTISED,
    LITERAL,
    SHARED,
    SOURCE,
    SOURCE_ADVERTISED,
    central,
    network,
    of_siena,
    table,
    texts,
)
from tests.routing.workload import Edges, delivered, owed, start, within

OPTIONS = [SHARED, SOURCE]
ADVERTISING = [ADVERTISED, SOURCE_ADVERTISED]


def output(net: Network, since: int = 0) -> list[tuple[str, str, int, int, tuple[str, ...]]]:
    """(from, to, kind, issuer, filters) of all that was said, in the order of sending, on quiet wires."""
    found = []
    for _, sender, interface, datagram in net.sent[since:]:
        for packet in decode_datagram(datagram):
            if isinstance(packet, Control) and packet.kind in KINDS:
                issuer, filters = read(packet.fragment)
                to = net.wires[sender, interface].target
                found.append((sender, to, packet.kind, issuer, tuple(texts(filters))))
    return found


def subscribe(net: Network, client: str, wanted: str, number: int = 1) -> None:
    net.client(client).core.subscribe(net.now_ns, parse_predicate(wanted), number)
    net.after(client)
    net.converge(within_ns=2 * SECOND)


def unsubscribe(net: Network, client: str, number: int = 1) -> None:
    net.client(client).core.unsubscribe(net.now_ns, number)
    net.after(client)
    net.converge(within_ns=2 * SECOND)


def quiet(edges: Edges, clients: dict[str, int], options: Options) -> Network:
    net = Network(of_siena(configure(edges, clients), options), 1)
    net.converge(within_ns=2 * SECOND)
    return net


@pytest.mark.parametrize("options", [*OPTIONS, *ADVERTISING], ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_it_delivers_what_the_model_says_each_once_by_the_tables_of_a_central_computation(
    seed: int, options: Options
) -> None:
    rng = random.Random(seed)
    edges = [(1, 2, 1)] if seed == 0 else random_graph(rng, rng.randrange(3, 11), rng.randrange(9))
    net = network(edges, options, seed)
    net.converge(within_ns=2 * SECOND)
    for name in net.configs:
        if name[0] == "r":
            assert table(net.router(name)) == central(net, name, options), f"seed {seed} {name}"
    start(net)
    net.run(2 * SECOND)
    events = within(net.events) if options.get("advertisements") else net.events
    assert delivered(events) == owed(events), f"seed {seed}"
    assert {reason for _, reason in net.forward_drops} <= {DropReason.UNADVERTISED}
    assert net.reasons() == []


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_nothing_is_sent_when_nothing_changes(options: Options) -> None:
    net = network(ring(5), options)
    net.converge(within_ns=2 * SECOND)
    net.run(SECOND)
    mark = len(net.sent)
    net.run(5 * SECOND)
    assert {datagram[1] for *_, datagram in net.sent[mark:]} == {2}, "HELLOs alone"


def test_S1_only_roots_are_announced_and_a_second_equal_subscription_costs_nothing_on_the_shared_tree() -> (
    None
):
    net = quiet(line(4), {"a": 1, "b": 1, "c": 2}, SHARED)
    subscribe(net, "a", "x > 1")
    assert [w[:2] for w in output(net)] == [("r1", "r2"), ("r2", "r3"), ("r3", "r4")]
    mark = len(net.sent)
    subscribe(net, "b", "x > 1")
    subscribe(net, "b", "x = 7 and y = 2", 2)
    assert output(net, mark) == []
    subscribe(net, "c", "x > 5")
    assert output(net, mark) == [("r2", "r1", Kind.SIENA_SUBSCRIBE, 0, ("x > 5",))], "the others know a cover"


def test_S3_a_wider_filter_goes_out_before_what_it_covers_is_withdrawn() -> None:
    net = quiet(line(3), {"a": 1, "b": 1}, SHARED)
    subscribe(net, "a", "x > 5")
    mark = len(net.sent)
    subscribe(net, "b", "x > 1")
    steps = [(a, b, kind, filters) for a, b, kind, _, filters in output(net, mark)]
    assert steps == [
        ("r1", "r2", Kind.SIENA_SUBSCRIBE, ("x > 1",)),
        ("r1", "r2", Kind.SIENA_UNSUBSCRIBE, ("x > 5",)),
        ("r2", "r3", Kind.SIENA_SUBSCRIBE, ("x > 1",)),
        ("r2", "r3", Kind.SIENA_UNSUBSCRIBE, ("x > 5",)),
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_E15_while_a_cover_is_withdrawn_nothing_that_is_still_wanted_gets_lost(
    options: Options,
) -> None:
    actions = {"p": [Action(i * MS // 2, "publish", 0, f"x = {7 + i % 3}") for i in range(600)]}
    edges = [*line(6), (1, 6, 4)]
    net = Network(of_siena(configure(edges, {"a": 1, "b": 1, "p": 5}), options), 1, scripts=actions)
    net.converge(within_ns=2 * SECOND)
    subscribe(net, "a", "x > 1")
    subscribe(net, "b", "x > 6")
    subscribe(net, "b", "x > 5 and x < 100", 2)
    start(net)
    for number, (client, wanted) in enumerate([("a", ""), ("a", "x > 2"), ("b", ""), ("a", "")]):
        net.run(60 * MS)
        core = net.client(client).core
        core.subscribe(net.now_ns, parse_predicate(wanted), 1) if wanted else core.unsubscribe(net.now_ns, 1)
        net.after(client)
        assert number < 4
    net.run(2 * SECOND)
    got = Counter(e["sequence"] for e in net.events if e["event"] == "deliver" and e["node"] == "b")
    assert sorted(got) == sorted(e["sequence"] for e in net.events if e["event"] == "publish")
    assert set(got.values()) == {1}


def test_E15_the_original_subscriber_is_named_all_the_way_on_source_trees() -> None:
    net = quiet(ring(5), {"a": 2}, SOURCE)
    subscribe(net, "a", "x = 1")
    reported = output(net)
    assert {issuer for *_, issuer, _ in reported} == {2}
    path = Topology.around(2, ring(5)).path
    assert sorted(w[:2] for w in reported) == sorted(
        (f"r{path(2, n)[-2]}", f"r{n}") for n in range(1, 6) if n != 2
    ), "along T_2 and nowhere else (E7)"


CYCLE = {"r": 1, "r2": 2, "x": 3, "c": 4, "u": 5, "a": 6}
E6 = [(1, 3, 1), (2, 3, 1), (2, 4, 1), (3, 5, 1), (5, 6, 1), (4, 6, 1)]


@pytest.mark.parametrize(
    ("first", "second"), [("k = 1", "k = 1"), ("k > 0", "k = 1")], ids=["the same", "a covered one"]
)
@pytest.mark.parametrize(("options", "reached"), [(SHARED, True), (SOURCE, True), (LITERAL, False)], ids=str)
def test_E6_on_the_six_node_graph_literal_misses_r_and_the_others_do_not(
    options: Options, reached: bool, first: str, second: str
) -> None:
    """Edges r-x, r2-x, r2-c, x-u, u-a, a-c: r2, then r, subscribe; a publishes."""
    actions = {"at-a": [Action(0, "publish", 0, "k = 1")]}
    places = {"at-r": CYCLE["r"], "at-r2": CYCLE["r2"], "at-a": CYCLE["a"]}
    net = Network(of_siena(configure(E6, places), options), 1, scripts=actions)
    net.converge(within_ns=2 * SECOND)
    subscribe(net, "at-r2", first)
    subscribe(net, "at-r", second)
    start(net)
    net.run(SECOND)
    got = {str(e["node"]) for e in net.events if e["event"] == "deliver"}
    assert got == {"at-r2", "at-r"} if reached else got == {"at-r2"}


def test_E6_literal_loses_on_random_cyclic_graphs_what_safe_delivers() -> None:
    """20 nodes, 10 edges more than a tree, 5 receivers of one predicate, every node publishes (E6)."""
    missing = []
    for seed in range(4):
        rng = random.Random(seed)
        edges = [(a, b, 1) for a, b, _ in random_graph(rng, 20, 10)]
        receivers = {f"w{i}": node for i, node in enumerate(rng.sample(range(1, 21), 5))}
        publishers = {f"p{n}": n for n in range(1, 21)}
        actions = {p: [Action(0, "publish", 0, "k = 1")] for p in publishers}
        for options in (SOURCE, LITERAL):
            net = Network(of_siena(configure(edges, receivers | publishers), options), seed, scripts=actions)
            net.converge(within_ns=2 * SECOND)
            for name in receivers:
                net.client(name).core.subscribe(net.now_ns, parse_predicate("k = 1"), 1)
                net.after(name)
                net.run(20 * MS)
            net.converge(within_ns=2 * SECOND)
            start(net)
            net.run(SECOND)
            got = delivered(net.events)
            assert set(got.values()) == {1}, f"seed {seed}"
            if options is SOURCE:
                assert len(got) == 5 * 20, f"seed {seed}"
            else:
                missing.append(5 * 20 - len(got))
    assert sum(1 for each in missing if each) >= 3, missing
    assert 0.02 < sum(missing) / (4 * 5 * 20) < 0.5, missing


def test_E10_on_the_shared_tree_the_class_is_the_source_and_no_link_off_the_tree_is_crossed() -> None:
    net = network(ring(6), SHARED, seed=3)
    net.converge(within_ns=2 * SECOND)
    mark = len(net.sent)
    start(net)
    net.run(2 * SECOND)
    home = {c.node_id: c.interfaces[0].peer_id for n, c in net.configs.items() if n[0] == "c"}
    crossed = set()
    for _, sender, interface, datagram in net.sent[mark:]:
        for packet in decode_datagram(datagram):
            to = net.wires[sender, interface].target
            if isinstance(packet, Message) and sender[0] == to[0] == "r":
                assert packet.header_class == home[packet.source]
                crossed.add(frozenset((sender, to)))
    tree = Topology.around(1, ring(6))
    on_it = {frozenset((f"r{n}", f"r{tree.path(1, n)[-2]}")) for n in tree.nodes[1:]}
    assert crossed <= on_it
    assert len(crossed) > 2


def test_of_parallel_links_one_is_spoken_over_and_the_other_takes_its_place() -> None:
    actions = {"p": [Action(0, "publish", 0, "x = 2"), Action(5 * SECOND, "publish", 0, "x = 3")]}
    net = Network(
        of_siena(configure([(1, 2, 5), (1, 2, 2), (2, 3, 1)], {"a": 1, "p": 3}), SOURCE), 1, scripts=actions
    )
    net.converge(within_ns=2 * SECOND)
    subscribe(net, "a", "x > 1")
    assert len(output(net)) == 2
    start(net)
    net.run(SECOND)
    for end in ("r1", "r2"):
        net.wires[end, 1].cut = True
    net.run(3 * SECOND)
    net.converge(within_ns=SECOND, down=["r1-eth1", "r2-eth1"])
    net.run(2 * SECOND)
    assert [e["sequence"] for e in net.events if e["event"] == "deliver"] == [1, 2]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_ten_thousand_filters_in_many_payloads_cross_a_lossy_line(options: Options) -> None:
    wanted = " or ".join(f'serial = {i} and name = "part-number-{i % 97}"' for i in range(4_000))
    actions = {"c1": [Action(-1, "subscribe", i, wanted.replace("part", f"part{i}")) for i in range(2)]}
    conditions = Conditions(loss=0.03, jitter_ns=2 * MS)
    net = Network(of_siena(configure(line(3), {"c1": 1}), options), 7, conditions, actions)
    net.converge()
    fib = net.router("r3").status()["fib"]
    assert isinstance(fib, dict)
    assert fib["filters"] == 8_000


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_withdrawing_everything_leaves_nothing_behind(options: Options) -> None:
    net = network(random_graph(random.Random(4), 7, 5), options, seed=4)
    net.converge(within_ns=2 * SECOND)
    for name in net.scripts:
        for number, action in enumerate(a for a in net.scripts[name] if a.do == "subscribe"):
            assert action.subscription == number
            net.client(name).core.unsubscribe(net.now_ns, number)
        net.after(name)
    net.run(SECOND)
    net.converge(within_ns=2 * SECOND)
    for name in net.configs:
        if name[0] == "r":
            assert table(net.router(name)) == {}
            assert {reported for reported, _ in net.router(name)._scheme.accounts().values()} == {f"{0:064x}"}  # type: ignore[attr-defined]
