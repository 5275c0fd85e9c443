"""DRP and unicast (RTE 3.4, T5, E11; M8): goldens, and messages over whole networks.

What holds of every scheme stands in `test_schemes`.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from fastpath.fib import DropReason, Fib
from nodes.model import parse_predicate
from nodes.routing.install import Installer
from nodes.routing.schemes.base import FibSpec, RouteSpec, View
from nodes.routing.schemes.drp import Drp, unicast
from nodes.routing.store import PredicateStore
from nodes.routing.trees import Topology
from nodes.wire.codec import decode, decode_destinations, encode, encode_destinations
from nodes.wire.packets import Message, Role
from tests.routing.fabric import MS, SECOND, Conditions, Network, configure, random_graph, ring
from tests.routing.test_schemes import interested, random_case, view
from tests.routing.test_trees import FIGURE
from tests.routing.trips import World, publish
from tests.routing.workload import delivered, owed, populated, start

EVERYTHING = parse_predicate("all")
EVERYBODY = dict.fromkeys(range(1, 13), EVERYTHING)


def fib_of(node: int, spec: FibSpec) -> Fib:
    """The FIB of a router without clients in the graph of the figures."""
    made = Installer(configure(FIGURE)[f"r{node}"], PredicateStore()).build(spec)
    assert made is not None
    return made


def sent_on(
    node: int, spec: FibSpec, came_from: int, *routers: int, source: int = 1
) -> dict[int, tuple[int, ...]]:
    """(neighbour, destinations) of the copies a router makes of a message for these routers."""
    interfaces = configure(FIGURE)[f"r{node}"].interfaces
    ingress = next(i.index for i in interfaces if i.peer_id == came_from)
    packet = encode(Message(99, 1, 0, {"x": 1}, header_class=source, route=encode_destinations(routers)))
    drop, copies = fib_of(node, spec).forward(packet, ingress)
    assert drop == 0
    found = [(interfaces[i].peer_id, decode_destinations(decode(copy).route)) for i, copy in copies]  # type: ignore[union-attr]
    assert len(dict(found)) == len(found), "one copy a next hop"
    return dict(found)


def figure_view(node: int) -> View:
    """Of a router whose interfaces are in the order of `configure`."""
    interfaces = {i.peer_id: (i.index,) for i in configure(FIGURE)[f"r{node}"].interfaces}
    return replace(view(node, FIGURE, EVERYBODY), interfaces=interfaces)


def test_T5_at_6_the_destinations_2_3_4_8_are_partitioned_into_2_3_via_2_and_4_8_via_7() -> None:
    """RTE 3.4, Figure 4; 6 is one of W as well, and takes itself out (E11)."""
    spec = Drp({}).compile(figure_view(6))
    assert sent_on(6, spec, 1, 2, 3, 4, 8) == {2: (2, 3), 7: (4, 8)}
    assert sent_on(6, spec, 1, 2, 3, 4, 6, 8) == {2: (2, 3), 7: (4, 8)}


def test_T5_counter_example_7_sees_two_packets_where_shortest_paths_are_chosen_apart() -> None:
    """RTE 3.4: 5 sends to {7, 8, 11}; its path to 8 goes through 9, that to 11 through 1, all through 7."""
    at_5 = Drp({}).compile(figure_view(5))
    assert at_5.route is not None
    towards = {i.peer_id: i.index for i in configure(FIGURE)["r5"].interfaces}
    chosen = {7: 9, 8: 9, 11: 1}
    ways = tuple((r, towards[chosen[r]] if r in chosen else way) for r, way in at_5.route.destinations)
    route = RouteSpec(at_5.route.table, ways)
    from_5 = sent_on(5, replace(at_5, route=route), 1, 7, 8, 11)
    assert from_5 == {1: (11,), 9: (7, 8)}
    at_6 = Drp({}).compile(figure_view(6))
    anywhere = tuple(replace(entry, accept=0b1111) for entry in at_6.classes)
    by_6 = [sent_on(6, replace(at_6, classes=anywhere), hop, *routers) for hop, routers in from_5.items()]
    assert by_6 == [{7: (11,)}, {7: (7, 8)}], "two packets for 7"


def test_T5_E7_with_agreed_unique_weights_no_router_sees_two_packets() -> None:
    """DRP is ideal if shortest paths are unique (RTE 3.4), and here they are: 5 to 8 and to 11 part at 7."""
    trip = publish(FIGURE, dict.fromkeys((7, 8, 11), EVERYTHING), 5, {"x": 1}, "drp")
    assert Counter(b for _, b in trip.links).most_common(1)[0][1] == 1
    assert trip.delivered == [7, 8, 11]


def test_P1_a_copy_is_taken_from_the_parent_in_the_sources_tree_alone() -> None:
    """Whoever has seen a message cannot have it delivered again from where it cannot come."""
    made, hops = Drp({}).compile(figure_view(6)), Topology.around(6, FIGURE).first_hops(6)
    fib, interfaces = fib_of(6, made), configure(FIGURE)["r6"].interfaces
    for source in range(1, 13):
        packet = encode(Message(99, 1, 0, {"x": 1}, header_class=source, route=encode_destinations((2, 7))))
        taken = [
            i.peer_id for i in interfaces if fib.forward(packet, i.index)[0] != DropReason.WRONG_INTERFACE
        ]
        assert taken == ([] if source == 6 else [hops[source]]), source


def test_T5_every_router_but_ourselves_is_a_destination_and_no_other_tree_is_needed() -> None:
    made = Drp({}).compile(view(6, FIGURE, EVERYBODY))
    assert made.route is not None
    hops = Topology.around(6, FIGURE).first_hops(6)
    assert dict(made.route.destinations) == {
        r: view(6, FIGURE, {}).interfaces[hop][0] for r, hop in hops.items()
    }
    assert [entry.header_class for entry in made.classes] == [*range(1, 13)]


def test_a_router_behind_a_lost_neighbour_is_no_destination() -> None:
    whole = view(6, FIGURE, EVERYBODY)
    lost = replace(whole, interfaces={n: i for n, i in whole.interfaces.items() if n != 9})
    assert {r for r, _ in unicast(whole)} - {r for r, _ in unicast(lost)} == {5, 9, 10}


@pytest.mark.parametrize("seed", range(12))
def test_T5_a_message_crosses_the_links_of_its_shortest_paths_once_and_no_other(seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, "drp")
    topology = Topology.around(source, edges)
    paths = [topology.path(source, each) for each in interested(wants, message, source)]
    assert trip.links == sorted({hop for path in paths for hop in pairwise(path)}), f"seed {seed}"


@pytest.mark.parametrize("seed", range(12))
def test_M8_unicast_costs_the_length_of_every_path(seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    trip = publish(edges, wants, source, message, "unicast")
    topology = Topology.around(source, edges)
    paths = [topology.path(source, each) for each in interested(wants, message, source)]
    assert trip.links == sorted(hop for path in paths for hop in pairwise(path)), f"seed {seed}"


@pytest.mark.parametrize("scheme", ["drp", "unicast"])
@pytest.mark.parametrize("seed", range(6))
def test_T5_a_small_mtu_cuts_destinations_apart_and_loses_none(scheme: str, seed: int) -> None:
    """Links that carry the message with one or two destinations at most."""
    rng = random.Random(seed)
    edges = random_graph(rng, 14, 8)
    world = World(edges, dict.fromkeys(range(1, 15), EVERYTHING), scheme, {})
    size = len(encode(Message(99, 1, 0, {"x": 1}))) + rng.randrange(1, 3)
    for node, config in world.routers.items():
        small = replace(config, interfaces=tuple(replace(i, mtu=28 + size) for i in config.interfaces))
        fib = Installer(small, world.network.store(node)).build(world.network.expected(node, scheme, {}))
        assert fib is not None
        world.fibs[node] = fib
    trip = world.publish(1, {"x": 1})
    assert trip.delivered == [*range(2, 15)], f"seed {seed}"


@pytest.mark.parametrize("scheme", ["drp", "unicast"])
@pytest.mark.parametrize("seed", range(3))
def test_T1_clients_get_what_they_are_owed_once_over_a_network_of_routers(scheme: str, seed: int) -> None:
    network = switched(populated(random_graph(random.Random(seed), 8, 6), seed), scheme)
    network.converge()
    start(network)
    network.run(3 * SECOND)
    assert delivered(network.events) == owed(network.events), f"seed {seed}"
    assert network.forward_drops == [], f"seed {seed}"


@pytest.mark.parametrize("seed", range(4))
def test_T5_nothing_is_delivered_twice_while_a_link_fails_and_returns(seed: int) -> None:
    """Every destination is in one copy whatever routers believe; what is lost meanwhile is counted."""
    network = switched(populated(ring(5), seed, Conditions(delay_ns=3 * MS)), "drp")
    network.converge()
    start(network)
    network.run(300 * MS)
    network.cut("r1", "r2")
    network.run(4 * SECOND)
    network.cut("r1", "r2", down=False)
    network.converge()
    network.run(SECOND)
    found = delivered(network.events)
    assert found <= owed(network.events), f"seed {seed}: twice, or not wanted"
    reasons = {reason for _, reason in network.forward_drops}
    expected = {DropReason.UNREACHABLE, DropReason.HOP_LIMIT, DropReason.WRONG_INTERFACE, DropReason.RETURNED}
    assert reasons <= expected, f"seed {seed}"


@pytest.mark.parametrize("count", [4, 30])
def test_T6_the_state_of_drp_is_a_hop_and_a_predicate_for_every_router(count: int) -> None:
    """O(n r log n + s r M_p) over the network: n (n - 1) hops, and at each router the predicates of all."""
    rng = random.Random(count)
    edges = random_graph(rng, count, count // 2)
    wants = {r: parse_predicate(f"x > {r}") for r in range(1, count + 1)}
    world = World(edges, wants, "drp", {})
    specs = [world.network.expected(node, "drp", {}) for node in world.network.routers]
    hops = sum(len(spec.route.destinations) for spec in specs if spec.route)
    filters = sum(fib.stats()["filters"] for fib in world.fibs.values())
    assert hops == count * (count - 1)
    assert filters == count * count, "r M_p at each of s sources, M_p one filter"
    assert {fib.stats()["classes"] for fib in world.fibs.values()} == {count}, "from where each source comes"


def switched(network: Network, scheme: str) -> Network:
    """The same network under another scheme."""
    configs = {
        name: replace(config, scheme=scheme) if config.role is Role.ROUTER else config
        for name, config in network.configs.items()
    }
    return Network(configs, network.seed, network.conditions, network.scripts)
