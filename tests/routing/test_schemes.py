"""The schemes as pure functions, and the FIBs made of them: what holds for every scheme there is.

A scheme of which something does not hold says why in `EXEMPT`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise

import pytest

from nodes.model import Predicate, matches, parse_predicate
from nodes.routing.install import Installer
from nodes.routing.schemes import SCHEMES, make_scheme
from nodes.routing.schemes.base import FibSpec, View, of_router, talks
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Edge, Topology
from nodes.wire.codec import encode_predicate
from tests.routing.fabric import configure, random_graph
from tests.routing.test_trees import FIGURE
from tests.routing.trips import World, publish

EXEMPT: Mapping[tuple[str, str], str] = {
    (
        "siena",
        "within the tree",
    ): "it keeps to one tree, which is not that of shortest paths from every source",
    ("unicast", "one copy a link"): "a copy for each destination is what unicast is (M8)",
}
"""By (scheme, property): why the scheme does not have it."""


def schemes(having: str) -> list[str]:
    """All schemes but those that do not have a property."""
    return [name for name in sorted(SCHEMES) if (name, having) not in EXEMPT]


def view(node: int, edges: list[Edge], wants: Mapping[int, Predicate]) -> View:
    """What a router knows in a converged network; interface i leads to its i-th neighbour by id."""
    topology = Topology.around(node, edges)
    return View(
        node=node,
        topology=topology,
        interfaces={neighbour: (i,) for i, neighbour in enumerate(topology.neighbours(node))},
        wanting=tuple(sorted(wants)),
        clients=(),
    )


def store(wants: Mapping[int, Predicate]) -> PredicateStore:
    made = PredicateStore()
    change(made, wants)
    return made


def change(store: PredicateStore, wants: Mapping[int, Predicate]) -> None:
    for router, predicate in wants.items():
        store.replace(of_router(router), encode_predicate(predicate))


def spec(node: int, edges: list[Edge], wants: Mapping[int, Predicate], scheme: str = "pif") -> FibSpec:
    return make_scheme(scheme, {}).compile(view(node, edges, wants))


def numbered(nodes: list[int]) -> dict[int, Predicate]:
    """p_i for each processor."""
    return {i: parse_predicate(f"p = {i}") for i in nodes}


def random_case(seed: int) -> tuple[list[Edge], dict[int, Predicate], int, dict[str, int]]:
    """A graph, who wants what, and a source's message."""
    rng = random.Random(seed)
    edges = random_graph(rng, 9, 7)
    wants = {i: parse_predicate(f"x > {rng.randrange(10)}") for i in range(1, 10) if rng.random() < 0.6}
    return edges, wants, rng.randrange(1, 10), {"x": rng.randrange(12)}


def interested(wants: Mapping[int, Predicate], message: Mapping[str, int], source: int) -> list[int]:
    """The routers that owe a client a delivery; a client does not get its own message."""
    return [i for i, p in sorted(wants.items()) if matches(p, message) and i != source]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheme", schemes("correct"))
def test_T1_all_who_want_a_message_get_it_once_and_nobody_else(scheme: str, seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, scheme)
    assert trip.delivered == interested(wants, message, source), f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheme", schemes("within the tree"))
def test_T1_E7_messages_keep_to_their_sources_tree_of_shortest_paths(scheme: str, seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, scheme)
    topology = Topology.around(source, edges)
    paths = [topology.path(source, x) for x in topology.nodes]
    assert {*trip.links} <= {(a, b) for path in paths for a, b in pairwise(path)}, f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheme", schemes("one copy a link"))
def test_P1_no_link_is_crossed_twice_and_nothing_is_refused(scheme: str, seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, scheme)
    assert len({*trip.links}) == len(trip.links), f"seed {seed}"
    assert trip.refused == [], f"seed {seed}"


@pytest.mark.parametrize("scheme", schemes("pure"))
def test_a_scheme_is_a_pure_function_of_what_the_router_knows(scheme: str) -> None:
    wants = numbered([2, 5, 7])
    assert spec(6, FIGURE, wants, scheme) == spec(6, FIGURE[::-1], wants, scheme)


@pytest.mark.parametrize("scheme", schemes("lost neighbour"))
def test_a_neighbour_that_is_not_there_any_more_is_neither_sent_to_nor_accepted_from(scheme: str) -> None:
    whole = view(6, FIGURE, numbered([5, 9, 10]))
    without = {neighbour: interfaces for neighbour, interfaces in whole.interfaces.items() if neighbour != 9}
    lost = View(whole.node, whole.topology, without, whole.wanting, ())
    bit = 1 << whole.interfaces[9][0]
    made = make_scheme(scheme, {}).compile(lost)
    assert all(not (c.out | c.accept) & bit for c in made.classes)
    assert all(whole.interfaces[9][0] not in table for table in made.tables)


@pytest.mark.parametrize("scheme", schemes("parallel links"))
def test_of_two_links_to_a_neighbour_the_cheaper_is_sent_on_and_both_are_accepted_from(scheme: str) -> None:
    alone = View(1, Topology.around(1, [(1, 2, 1)]), {2: (1, 0)}, (2,), ())
    made = make_scheme(scheme, {}).compile(alone)
    assert {c.accept for c in made.classes if c.accept} == {0b11}
    assert not any(c.out & 0b01 for c in made.classes)
    assert made.route is None or made.route.destinations == ((2, 1),)


def test_every_exemption_is_of_a_scheme_there_is() -> None:
    assert {name for name, _ in EXEMPT} <= {*SCHEMES}


def test_every_scheme_that_exchanges_payloads_names_their_kinds() -> None:
    made = {name: make_scheme(name, {}) for name in SCHEMES}
    talking = {name: scheme for name, scheme in made.items() if talks(scheme)}
    assert all(scheme.kinds for scheme in talking.values())
    sets = {scheme.kinds for scheme in talking.values()}
    kinds = [kind for each in sets for kind in sorted(each)]
    assert all(16 <= kind <= 63 for kind in kinds)
    assert len(kinds) == len({*kinds}), "two schemes have the same kinds of payload, or none in common"


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


def test_T4_the_table_of_processor_6_towards_9_is_p5_or_p9_or_p10() -> None:
    wants = numbered(list(range(1, 13)))
    towards_9 = view(6, FIGURE, wants).interfaces[9][0]
    assert spec(6, FIGURE, wants).tables[0][towards_9] == tuple(of_router(i) for i in (5, 9, 10))


FIGURE_3: list[Edge] = [(1, 2, 5), (1, 4, 3), (3, 4, 2), (2, 3, 4)]
WANTS_3 = {2: parse_predicate("x = 1"), 3: parse_predicate("x = 2"), 4: parse_predicate("x = 1")}


def test_T4_figure_3_pif_is_correct_but_sends_in_vain_from_4_to_3() -> None:
    """RTE 3.3: 2 and 4 want m of 1. T_1 has the edge (4,3); F*_4(3) holds p2 because of T_4."""
    assert publish(FIGURE_3, WANTS_3, 1, {"x": 1}).links == [(1, 2), (1, 4), (4, 3)]


@pytest.mark.parametrize("scheme", ["psf", "ipsf"])
def test_T2_figure_3_per_source_forwarding_sends_nothing_in_vain(scheme: str) -> None:
    assert publish(FIGURE_3, WANTS_3, 1, {"x": 1}, scheme).links == [(1, 2), (1, 4)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheme", ["flood", "pif", "psf"])
def test_E10_the_class_is_the_sources_all_the_way(scheme: str, seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, scheme)
    assert {header for *_, header in trip.crossed} <= {source}, f"seed {seed}"


def test_flooding_crosses_each_link_of_the_tree_whoever_wants_the_message() -> None:
    trip = publish(FIGURE, numbered([3]), 1, {"p": 3}, "flood")
    assert len(trip.crossed) == 11, "a tree of 12 routers"
    assert trip.delivered == [3]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheme", ["flood", "pif"])
def test_P1_reverse_paths_deliver_the_same_and_cost_the_copies_that_are_refused(
    scheme: str, seed: int
) -> None:
    edges, wants, source, message = random_case(seed)
    by_tree = publish(edges, wants, source, message, scheme)
    by_path = publish(edges, wants, source, message, scheme, broadcast="reverse-path")
    assert by_path.delivered == by_tree.delivered, f"seed {seed}"
    assert sorted(by_tree.links + by_path.refused) == by_path.links, f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
def test_P1_flooding_by_reverse_paths_crosses_every_other_link_both_ways(seed: int) -> None:
    """RFB's known cost: n - 1 crossings for the tree, two for each link outside of it."""
    edges, wants, source, message = random_case(seed)
    trip = World(edges, wants, "flood", {"broadcast": "reverse-path"}).publish(source, message)
    outside = len(edges) - 8
    assert len(trip.refused) == 2 * outside, f"seed {seed}"
    assert len(trip.crossed) == 8 + 2 * outside, f"seed {seed}"
