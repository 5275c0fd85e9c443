"""Tables that routers came to are those a central computation gives, and the comparison sees what differs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from nodes.config import Action, NodeConfig
from nodes.model import parse_predicate
from nodes.routing.schemes import SCHEMES
from nodes.routing.schemes.base import ClassSpec, FibSpec, RouteSpec, learned, of_router
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Edge
from nodes.wire.codec import encode_predicate
from tests.routing.central import Network as Whole
from tests.routing.comparison import Tables, differences, tables_equal
from tests.routing.fabric import SECOND, Network, configure, random_graph
from tests.routing.test_schemes import schemes

EDGES = random_graph(random.Random(8), 8, 6)
CLIENTS = {"c1": 1, "c2": 4, "c3": 4, "c4": 7, "c5": 8}
TEXTS = {"c1": "x > 3", "c2": "x > 5 or y = 1", "c3": "x > 7", "c4": "z = 5", "c5": "x > 1"}


def configs(scheme: str, edges: list[Edge] = EDGES) -> dict[str, NodeConfig]:
    return {name: replace(c, scheme=scheme) for name, c in configure(edges, CLIENTS).items()}


def wants(nodes: Mapping[str, NodeConfig], texts: Mapping[str, str]) -> dict[int, bytes]:
    return {nodes[name].node_id: encode_predicate(parse_predicate(text)) for name, text in texts.items()}


def network(scheme: str, edges: list[Edge] = EDGES) -> Network:
    scripts = {name: [Action(-1, "subscribe", 1, text)] for name, text in TEXTS.items()}
    return Network(configs(scheme, edges), seed=1, scripts=scripts)


def faults(net: Network, whole: Whole, scheme: str) -> list[str]:
    """How the routers' tables differ from what they should be."""
    found = []
    for node in whole.routers:
        expected = Tables.of_names(whole.expected(node, scheme), whole.store(node))
        installed = Tables.installed(net.router(f"r{node}").installer)
        found += [f"r{node}: {what}" for what in differences(installed, expected)]
    return found


@pytest.mark.parametrize("scheme", schemes("central"))
def test_routers_come_to_the_tables_that_the_whole_network_gives(scheme: str) -> None:
    net = network(scheme)
    net.converge()
    whole = Whole(net.configs.values(), wants(net.configs, TEXTS))
    assert faults(net, whole, scheme) == []


@pytest.mark.parametrize("scheme", schemes("central"))
def test_also_after_a_link_a_router_and_a_client_have_gone(scheme: str) -> None:
    net = network(scheme)
    net.converge()
    a, b, _ = EDGES[-1]
    net.cut(f"r{a}", f"r{b}")
    net.kill("r6")
    net.kill("c5")
    ends = {f"r{end}": f"r{a + b - end}" for end in (a, b)}
    cut = [i.name for end, peer in ends.items() for i in net.configs[end].interfaces if i.peer_name == peer]
    down = {"r6", "c5", *cut}
    net.converge(within_ns=60 * SECOND, down=down)
    whole = Whole(net.configs.values(), wants(net.configs, TEXTS), down)
    assert 6 not in whole.routers
    assert faults(net, whole, scheme) == []


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_what_a_client_wants_is_seen_to_make_a_difference(scheme: str) -> None:
    nodes = configs(scheme)
    one, other = (Whole(nodes.values(), wants(nodes, texts)) for texts in (TEXTS, {**TEXTS, "c3": "x < 0"}))
    reported = [Tables.of_names(whole.expected(4, scheme), whole.store(4)) for whole in (one, other)]
    assert any("interface" in what for what in differences(*reported))
    assert tables_equal(reported[0], reported[0])


def test_of_two_links_between_routers_the_cheaper_counts() -> None:
    nodes = configure([(1, 2, 5), (1, 2, 3), (2, 3, 1)])
    assert Whole(nodes.values(), {}).edges == [(1, 2, 3), (2, 3, 1)]
    assert Whole(nodes.values(), {}, {"r1-eth1", "r2-eth1"}).edges == [(1, 2, 5), (2, 3, 1)]
    assert Whole(nodes.values(), {}).view(2).interfaces == {1: (1, 0), 3: (2,)}


def tables(spec: FibSpec, **predicates: str) -> Tables:
    """Tables by the texts of learned predicates p0, p1, ..."""
    store = PredicateStore()
    for name, text in predicates.items():
        store.replace(learned(int(name[1:])), encode_predicate(parse_predicate(text)))
    return Tables.of_names(spec, store)


ONE = FibSpec(1, (ClassSpec(1, 0, 0b11, 0, 1),), ({0: (learned(0),), 1: (learned(1),)},))


def test_tables_are_equal_that_match_the_same_in_other_words() -> None:
    left = tables(ONE, p0="x > 1 or x > 5", p1="y = 1")
    renumbered = FibSpec(1, (ClassSpec(1, 0, 0b11, 1, 1),), ({}, {0: (learned(0),), 1: (learned(1),)}))
    assert tables_equal(left, tables(renumbered, p0="x > 1", p1="y = 1"))
    assert tables_equal(left, tables(ONE, p0="x > 1", p1="y = 1 and y > 0"))


def test_what_a_class_does_not_reach_makes_no_difference() -> None:
    left = FibSpec(1, (ClassSpec(1, 0, 0b01, 0, 1),), ({0: (learned(0),), 1: (learned(1),)},))
    right = FibSpec(1, (ClassSpec(1, 0, 0b11, 0, 1),), ({0: (learned(0),)},))
    assert tables_equal(tables(left, p0="x = 1", p1="y = 1"), tables(right, p0="x = 1"))


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        (ClassSpec(2, 0, 0b11, 0, 1), "class 1 is known to the first alone"),
        (ClassSpec(1, 1, 0b11, 0, 1), "class 1: accept is 0, not 1"),
        (ClassSpec(1, 0, 0b11, 0, 7), "class 1: rewrite is 1, not 7"),
        (ClassSpec(1, 0, 0b01, 0, 1), "class 1: other messages go to interface 1"),
    ],
)
def test_a_difference_is_named(entry: ClassSpec, what: str) -> None:
    texts = {"p0": "x = 1", "p1": "y = 1"}
    assert what in list(differences(tables(ONE, **texts), tables(replace(ONE, classes=(entry,)), **texts)))


def test_other_filters_and_other_destinations_are_differences() -> None:
    left = tables(ONE, p0="x > 1", p1="y = 1")
    assert list(differences(left, tables(ONE, p0="x > 2", p1="y = 1"))) == [
        "class 1: other messages go to interface 0"
    ]
    routed = replace(ONE, route=RouteSpec(0, ((7, 0), (9, 1))))
    assert "only one of them forwards by destinations" in list(
        differences(left, tables(routed, p0="x > 1", p1="y = 1"))
    )
    first, second = (tables(routed, p0="x > 1", p1=text) for text in ("y = 1", "y = 2"))
    assert "other messages are for router 9" in list(differences(first, second))


def test_names_of_routers_are_looked_up_in_the_store_of_the_whole_network() -> None:
    nodes = configs("pif")
    store = Whole(nodes.values(), wants(nodes, TEXTS)).store(4)
    assert store.wants(of_router(7))
    assert not store.wants(of_router(2))
