"""Topologies: listed and generated, and the addresses they get."""

import ipaddress
import itertools

import networkx as nx
import pytest

from testbed.plan.load import load_plan
from testbed.plan.model import Impairment
from topologies.generators import SHAPES, extent, generate

CASES = [
    ("line", {"size": 1}),
    ("line", {"size": 5}),
    ("ring", {"size": 3}),
    ("star", {"size": 6}),
    ("tree", {"size": 13, "branching": 3}),
    ("tree", {"size": 2}),
    ("grid", {"width": 4, "height": 3}),
    ("grid", {"width": 1, "height": 1}),
    ("full", {"size": 5}),
    ("random", {"size": 1}),
    ("random", {"size": 30}),
    ("random", {"size": 20, "degree": 1}),
    ("random", {"size": 8, "degree": 6.5}),
    ("torus", {"width": 4, "height": 3}),
    ("fat-tree", {"k": 4}),
    ("erdos-renyi", {"size": 40}),
    ("waxman", {"size": 40}),
    ("barabasi-albert", {"size": 40}),
    ("power-law", {"size": 40}),
    ("transit-stub", {}),
]
DRAWN_ONE_BY_ONE = ("erdos-renyi", "waxman", "power-law", "transit-stub")


@pytest.mark.parametrize(("shape", "parameters"), CASES)
def test_a_generated_network_has_the_size_it_says_and_is_in_one_piece(shape, parameters):
    routers, links = generate(shape, parameters, seed=1)
    graph = nx.Graph(links)
    graph.add_nodes_from(routers)
    assert len(links) == graph.number_of_edges()
    about = extent(shape, parameters)
    assert len(routers) == about[0]
    assert len(links) == about[1] or shape in DRAWN_ONE_BY_ONE
    assert nx.is_connected(graph)
    assert links == generate(shape, parameters, seed=1)[1]


def test_every_shape_is_tried():
    assert {shape for shape, _ in CASES} == set(SHAPES)


def test_random_graphs_differ_by_seed():
    assert generate("random", {"size": 20}, 1) != generate("random", {"size": 20}, 2)


@pytest.mark.parametrize(
    ("shape", "parameters"), [("ring", {"size": 2}), ("random", {"size": 4, "degree": 9})]
)
def test_what_cannot_be_generated_is_refused(shape, parameters):
    with pytest.raises(ValueError, match=r"at least 3|cannot have"):
        generate(shape, parameters, seed=1)


@pytest.fixture
def load(tmp_path):
    def load(topology, clients="{}"):
        path = tmp_path / "scenario.yaml"
        path.write_text(f"name: x\ntopology: {topology}\nclients: {clients}\n")
        return load_plan(path)

    return load


def test_every_end_of_every_link_has_an_address_and_mac_of_its_own(load):
    plan = load("{generate: grid, width: 9, height: 9}", "{a: {at: r1}, b: {at: r81}, c: {at: r1}}")
    interfaces = [i for n in plan.nodes for i in n.interfaces]
    for what in ("address", "mac", "name"):
        assert len({getattr(i, what) for i in interfaces}) == len(interfaces) == 2 * len(plan.links)
    by_name = {i.name: i for i in interfaces}
    for link in plan.links:
        a, b = by_name[link.a_interface], by_name[link.b_interface]
        assert (a.peer, a.peer_address, a.peer_mac) == (link.b, b.address, b.mac)
        assert (b.peer, b.peer_address, b.peer_mac) == (link.a, a.address, a.mac)
        nets = {ipaddress.ip_network(f"{i.address}/{i.prefix_length}", strict=False) for i in (a, b)}
        assert len(nets) == 1
        assert nets.pop().subnet_of(ipaddress.ip_network("10.0.0.0/8"))


def test_interfaces_are_numbered_by_link_with_routers_first(load):
    plan = load("{routers: [b, a, c], links: [c - a, a - b]}", "{z: {at: a}, y: {at: a}}")
    assert [n.node_id for n in plan.nodes] == [1, 2, 3, 4, 5]
    a = plan.nodes[1]
    assert [(i.index, i.name, i.peer) for i in a.interfaces] == [
        (0, "a-eth0", "c"),
        (1, "a-eth1", "b"),
        (2, "a-eth2", "z"),
        (3, "a-eth3", "y"),
    ]
    assert [len(c.interfaces) for c in plan.clients] == [1, 1]
    assert all(link.b in ("z", "y") for link in plan.links[2:])


def test_links_take_their_defaults_and_their_own_properties(load):
    plan = load(
        "{routers: {a: {}, b: , c: {}}, link_defaults: {cost: 3, delay: 5ms, mtu: 9000},"
        " links: [a - b, {between: [b, c], delay: 2.5us, jitter: 100ns, loss: 0.25, rate: 1.5mbit}]}",
        "{z: {at: a, access: {delay: 1ms}}}",
    )
    first, second, access = plan.links
    assert (first.cost, first.mtu, first.impairment) == (3, 9000, Impairment(5_000_000))
    assert second.impairment == Impairment(2_500, 100, loss=0.25, rate_bps=1_500_000)
    assert (access.cost, access.mtu, access.impairment) == (1, 1500, Impairment(1_000_000))


def test_a_random_topology_follows_the_scenario_s_seed_unless_it_has_its_own(tmp_path):
    def links(seed, own=""):
        path = tmp_path / "scenario.yaml"
        path.write_text(f"name: x\nseed: {seed}\ntopology: {{generate: random, size: 20{own}}}\n")
        return [(link.a, link.b) for link in load_plan(path).links]

    assert any(links(1) != links(s) for s in (2, 3))
    assert all(links(1, ", seed: 9") == links(s, ", seed: 9") for s in (2, 3))


def test_neighbouring_indexes_never_share_a_mac():
    from testbed.plan.addresses import address, mac

    ends = list(itertools.product((0, 1, 255, 256, 65535, 65536, 4_194_303), (0, 1)))
    assert len({mac(*e) for e in ends}) == len({address(*e) for e in ends}) == len(ends)
