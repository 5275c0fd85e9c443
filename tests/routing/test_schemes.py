"""The schemes as pure functions, and the FIBs made of them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from nodes.config import NodeConfig
from nodes.model import Predicate, Value, matches, parse_predicate
from nodes.routing.install import Installer
from nodes.routing.schemes import SCHEMES, make_scheme
from nodes.routing.schemes.base import FibSpec, View, of_router
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Edge, Topology
from nodes.wire.codec import decode, encode, encode_predicate
from nodes.wire.packets import Message
from tests.routing.fabric import configure, random_graph
from tests.routing.test_trees import FIGURE


def view(node: int, edges: list[Edge], wants: dict[int, Predicate]) -> View:
    """What a router knows in a converged network; interface i leads to its i-th neighbour by id."""
    topology = Topology.around(node, edges)
    return View(
        node=node,
        topology=topology,
        interfaces={neighbour: (i,) for i, neighbour in enumerate(topology.neighbours(node))},
        wanting=tuple(sorted(wants)),
        clients=(),
    )


def store(wants: dict[int, Predicate]) -> PredicateStore:
    made = PredicateStore()
    change(made, wants)
    return made


def change(store: PredicateStore, wants: dict[int, Predicate]) -> None:
    for router, predicate in wants.items():
        store.replace(of_router(router), encode_predicate(predicate))


def spec(node: int, edges: list[Edge], wants: dict[int, Predicate], scheme: str = "pif") -> FibSpec:
    return make_scheme(scheme, {}).compile(view(node, edges, wants))


def crossings(
    edges: list[Edge], wants: dict[int, Predicate], source: int, message: dict[str, Value]
) -> list[Edge]:
    """(from, to, class) of every link a message crosses, through the compiled FIBs of all routers.

    At each router the last interface leads to a client; that of the source publishes the message.
    """
    nodes = sorted({end for edge in edges for end in edge[:2]})
    configs = {node: config_of(node, edges) for node in nodes}
    known = store(wants)
    fibs = {node: Installer(configs[node], known).build(spec(node, edges, wants)) for node in nodes}
    access = configs[source].interfaces[-1]
    waiting = [(source, access.index, encode(Message(access.peer_id, 1, 0, message)))]
    crossed = []
    while waiting:
        node, ingress, packet = waiting.pop()
        fib = fibs[node]
        assert fib is not None
        for interface, copy in fib.forward(packet, ingress)[1]:
            to, got = configs[node].interfaces[interface].peer_id, decode(copy)
            assert isinstance(got, Message)
            crossed.append((node, to, got.header_class))
            back = next(i.index for i in configs[to].interfaces if i.peer_id == node)
            waiting.append((to, back, copy))
    return sorted(crossed)


def config_of(node: int, edges: list[Edge]) -> NodeConfig:
    """A router whose interfaces lead to its neighbours by ascending id, the last to a client."""
    ordered = sorted(edges, key=lambda edge: edge[1] if edge[0] == node else edge[0])
    return configure(ordered, {"c": node})[f"r{node}"]


def numbered(nodes: list[int]) -> dict[int, Predicate]:
    """p_i for each processor."""
    return {i: parse_predicate(f"p = {i}") for i in nodes}


def test_T4_the_table_of_processor_6_towards_9_is_p5_or_p9_or_p10() -> None:
    wants = numbered(list(range(1, 13)))
    towards_9 = view(6, FIGURE, wants).interfaces[9][0]
    assert spec(6, FIGURE, wants).tables[0][towards_9] == tuple(of_router(i) for i in (5, 9, 10))


def test_T4_figure_3_pif_is_correct_but_sends_in_vain_from_4_to_3() -> None:
    """RTE 3.3: 2 and 4 want m of 1. T_1 has the edge (4,3); F*_4(3) holds p2 because of T_4."""
    edges = [(1, 2, 5), (1, 4, 3), (3, 4, 2), (2, 3, 4)]
    wants = {2: parse_predicate("x = 1"), 3: parse_predicate("x = 2"), 4: parse_predicate("x = 1")}
    assert [edge[:2] for edge in crossings(edges, wants, 1, {"x": 1})] == [(1, 2), (1, 4), (4, 3)]


@pytest.mark.parametrize("seed", range(15))
def test_T4_deliveries_follow_the_sources_tree_and_reach_all_who_want_the_message(seed: int) -> None:
    rng = random.Random(seed)
    edges = random_graph(rng, 8, 6)
    wants = {i: parse_predicate(f"x > {rng.randrange(10)}") for i in range(1, 9) if rng.random() < 0.6}
    source, message = rng.randrange(1, 9), {"x": rng.randrange(12)}
    crossed = crossings(edges, wants, source, message)
    topology = Topology.around(source, edges)
    paths = [topology.path(source, x) for x in topology.nodes]
    tree = {(a, b) for path in paths for a, b in pairwise(path)}
    assert len({(a, b) for a, b, _ in crossed}) == len(crossed), f"seed {seed}: a link twice"
    assert {(a, b) for a, b, _ in crossed} <= tree, f"seed {seed}"
    assert {c for *_, c in crossed} <= {source}, "E10: the class is the source's all the way"
    reached = {source, *(b for _, b, _ in crossed)}
    assert {i for i, p in wants.items() if matches(p, message)} <= reached, f"seed {seed}"


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_a_scheme_is_a_pure_function_of_what_the_router_knows(scheme: str) -> None:
    wants = numbered([2, 5, 7])
    assert spec(6, FIGURE, wants, scheme) == spec(6, FIGURE[::-1], wants, scheme)


def test_the_same_tables_are_not_installed_twice_and_a_change_edits_them() -> None:
    known = store(numbered([3, 5, 9, 10]))
    installer = Installer(configure(FIGURE)["r6"], known)
    first = installer.build(spec(6, FIGURE, numbered([5, 9, 10])))
    assert first is not None
    assert installer.build(spec(6, FIGURE, numbered([5, 9, 10]))) is None
    second = installer.build(spec(6, FIGURE, numbered([5, 3])))
    assert second is not None
    assert (first.stats()["filters"], second.stats()["filters"]) == (3, 2), "the first holds what it held"
    assert installer.serial == 2


def test_a_predicate_that_changes_makes_another_fib_of_the_same_specification() -> None:
    known = store(numbered([5, 9]))
    installer = Installer(configure(FIGURE)["r6"], known)
    first = installer.build(spec(6, FIGURE, numbered([5, 9])))
    change(known, {9: parse_predicate("p = 9 or q = 9")})
    second = installer.build(spec(6, FIGURE, numbered([5, 9])))
    assert first is not None
    assert second is not None
    assert (first.stats()["filters"], second.stats()["filters"]) == (2, 3)


def test_a_neighbour_that_is_not_there_any_more_is_neither_sent_to_nor_accepted_from() -> None:
    whole = view(6, FIGURE, numbered([5, 9, 10]))
    lost = View(whole.node, whole.topology, {**whole.interfaces}, whole.wanting, ())
    del lost.interfaces[9]  # type: ignore[attr-defined]
    bit = 1 << whole.interfaces[9][0]
    made = make_scheme("pif", {}).compile(lost)
    assert all(not (c.out | c.accept) & bit for c in made.classes)
    assert whole.interfaces[9][0] not in made.tables[0]
