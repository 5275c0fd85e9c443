"""PSF and iPSF against their definitions (RTE 3.1, 3.2; T2, T3, E10, E12), and on the wire."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings

from nodes.model import matches, parse_predicate
from nodes.routing.schemes.base import ClassSpec, FibSpec
from nodes.routing.trees import Edge, Topology
from tests.routing.fabric import random_graph
from tests.routing.test_schemes import interested, numbered, random_case, spec, view
from tests.routing.test_trees import FIGURE, below, graphs
from tests.routing.trips import World, publish

Sets = dict[int, frozenset[int]]
BELOW_6 = (2, 3, 4, 7, 8, 11, 12)


def seen(topology: Topology, u: int, v: int) -> Sets:
    """What u sees of a source v: its children, and the descendants via each (RTE 3.2)."""
    return {w: frozenset(below(topology, v, u, w)) for w in topology.children(u)[v]}


def indistinguishable(topology: Topology, u: int, *sources: int) -> bool:
    """v1 ~_u v2 ~_u ..., by the definition."""
    first, *others = (seen(topology, u, v) for v in sources)
    return all(first == other for other in others)


def row(made: FibSpec, header: int) -> ClassSpec:
    return next(c for c in made.classes if c.header_class == header)


def rows_of(made: FibSpec, header: int) -> dict[int, tuple[int, ...]]:
    """F_u(header, .) by interface, as numbers of routers."""
    entry = row(made, header)
    table = made.tables[entry.table]
    return {i: tuple(s.number for s in table[i]) for i in table if entry.out >> i & 1}


def test_T2_the_table_of_processor_6_in_figure_1() -> None:
    """F_6(1, 7) = p4 or p7 or p8 or p11 or p12, F_6(1, 2) = p2 or p3, and nothing goes to 9."""
    at_6 = view(6, FIGURE, numbered(list(range(1, 13))))
    made = spec(6, FIGURE, numbered(list(range(1, 13))), "psf")
    towards = {w: interfaces[0] for w, interfaces in at_6.interfaces.items()}
    assert rows_of(made, 1) == {towards[7]: (4, 7, 8, 11, 12), towards[2]: (2, 3)}
    assert not row(made, 1).out >> towards[9] & 1


@settings(max_examples=25)
@given(graphs())
def test_T2_F_u_is_the_union_over_the_descendants_via_an_edge(topology: Topology) -> None:
    edges, wants = list(topology.edges), numbered([n for n in topology.nodes if n % 3])
    for u in topology.nodes:
        made, interfaces = spec(u, edges, wants, "psf"), view(u, edges, wants).interfaces
        for v in topology.nodes:
            by_definition = {w: tuple(sorted(x & {*wants})) for w, x in seen(topology, u, v).items()}
            assert rows_of(made, v) == {interfaces[w][0]: x for w, x in by_definition.items() if x}


def test_T3_sources_1_5_and_9_are_indistinguishable_at_6_and_all_that_is_below_6_likewise() -> None:
    figure = Topology.around(6, FIGURE)
    assert (1, 5, 9) in [group.sources for group in figure.groups(6)]
    for u in BELOW_6:
        assert any({1, 5, 6, 9} <= {*group.sources} for group in figure.groups(u)), u
        assert indistinguishable(figure, u, 1, 5, 6, 9)


def test_T3_processor_6_rewrites_the_headers_of_1_5_and_9_to_its_own() -> None:
    made = spec(6, FIGURE, numbered(list(range(1, 13))), "ipsf")
    headers = {v: Topology.around(6, FIGURE).headers(6)[v] for v in (1, 5, 9)}
    assert headers == {1: 1, 5: 9, 9: 9}, "9 has rewritten that of 5"
    assert [row(made, header).rewrite for header in (1, 9)] == [6, 6]
    trip = publish(FIGURE, numbered([4, 12]), 5, {"p": 12}, "ipsf")
    assert trip.crossed == [(5, 9, 5), (6, 7, 6), (7, 11, 7), (9, 6, 9), (11, 12, 11)]


@settings(max_examples=30)
@given(graphs())
def test_T3_groups_are_the_classes_of_indistinguishable_sources(topology: Topology) -> None:
    for u in topology.nodes:
        group_of = {v: n for n, group in enumerate(topology.groups(u)) for v in group.sources}
        sights = {v: seen(topology, u, v) for v in topology.nodes}
        for a in topology.nodes:
            for b in topology.nodes:
                assert (group_of[a] == group_of[b]) == (sights[a] == sights[b])


@settings(max_examples=30)
@given(graphs())
def test_E12_a_router_rewrites_if_nobody_below_can_tell_it_from_any_source_of_the_class(
    topology: Topology,
) -> None:
    for u in topology.nodes:
        rewrites = topology.rewrites(u)
        for group in topology.groups(u):
            by_definition = all(
                indistinguishable(topology, w, v, u) for v in group.sources for w in group.below
            )
            assert {v in rewrites for v in group.sources} == {by_definition}


@settings(max_examples=30)
@given(graphs())
def test_T3_a_header_arrives_from_the_way_to_whom_it_names_and_means_what_its_source_means(
    topology: Topology,
) -> None:
    """Why iPSF's accept mask and table are those of the router in the header."""
    for u in topology.nodes:
        headers, hops = topology.headers(u), topology.first_hops(u)
        group_of = {v: n for n, group in enumerate(topology.groups(u)) for v in group.sources}
        for v, header in headers.items():
            assert header in topology.path(v, u)[:-1] or v == u == header
            assert hops.get(header) == hops.get(v)
            assert group_of[header] == group_of[v]


@settings(max_examples=30)
@given(graphs())
def test_T3_only_headers_that_can_arrive_have_a_class_and_all_groups_are_among_them(
    topology: Topology,
) -> None:
    edges, wants = list(topology.edges), numbered(list(topology.nodes))
    for u in topology.nodes:
        psf, ipsf = spec(u, edges, wants, "psf"), spec(u, edges, wants, "ipsf")
        assert {c.header_class for c in ipsf.classes} == set(topology.headers(u).values())
        assert ipsf.tables == psf.tables
        assert len(ipsf.classes) <= len(psf.classes)


@pytest.mark.parametrize("seed", range(5))
def test_T3_in_a_tree_the_header_is_the_previous_hop_and_one_table_serves_all(seed: int) -> None:
    edges = random_graph(random.Random(seed), 10, 0)
    wants = numbered(list(range(1, 11)))
    for u in range(1, 11):
        made, around = spec(u, edges, wants, "ipsf"), view(u, edges, wants)
        assert [c.header_class for c in made.classes] == sorted([u, *around.interfaces]), f"seed {seed}"
        assert {c.rewrite for c in made.classes} == {u}, f"seed {seed}"
        assert made.tables == spec(u, edges, wants, "pif").tables, f"seed {seed}"
    everybody = {i: parse_predicate("x = 1") for i in range(1, 11)}
    trip = publish(edges, everybody, 4, {"x": 1}, "ipsf")
    assert all(sender == header for sender, _, header in trip.crossed), f"seed {seed}"


@pytest.mark.parametrize("seed", range(25))
def test_T3_rewritten_headers_lead_all_messages_of_all_sources_where_psf_leads_them(seed: int) -> None:
    """On the wire: through the compiled FIBs of all routers, for every source."""
    rng = random.Random(seed)
    edges = random_graph(rng, rng.randrange(3, 13), rng.randrange(0, 14))
    nodes = sorted({end for edge in edges for end in edge[:2]})
    wants = {n: parse_predicate(f"x > {rng.randrange(10)}") for n in nodes if rng.random() < 0.7}
    psf, ipsf = World(edges, wants, "psf", {}), World(edges, wants, "ipsf", {})
    for source in nodes:
        message = {"x": rng.randrange(12)}
        trip = ipsf.publish(source, message)
        assert trip.links == psf.publish(source, message).links, f"seed {seed}, source {source}"
        assert trip.refused == [], f"seed {seed}, source {source}"
        assert trip.delivered == interested(wants, message, source), f"seed {seed}, source {source}"


@pytest.mark.parametrize("seed", range(8))
def test_T2_psf_crosses_just_the_links_on_the_paths_to_who_wants_the_message(seed: int) -> None:
    edges, wants, source, message = random_case(seed)
    topology = Topology.around(source, edges)
    paths = [topology.path(source, x) for x, p in wants.items() if matches(p, message)]
    needed = sorted({link for path in paths for link in pairwise(path)})
    assert publish(edges, wants, source, message, "psf").links == needed, f"seed {seed}"


def test_E8_where_shortest_paths_are_not_unique_psf_is_not_ideal() -> None:
    """A 4-cycle a-b-c-d: m for c and d costs 3 links instead of 2, unless ties fall well."""
    cycle: list[Edge] = [(1, 2, 1), (2, 3, 1), (3, 4, 1), (1, 4, 1)]
    wants = {3: parse_predicate("x = 1"), 4: parse_predicate("x = 1")}
    names = [dict(zip((1, 2, 3, 4), order, strict=True)) for order in ((1, 2, 3, 4), (1, 4, 3, 2))]
    costs = []
    for name in names:
        edges = [(min(name[a], name[b]), max(name[a], name[b]), cost) for a, b, cost in cycle]
        renamed = {name[node]: predicate for node, predicate in wants.items()}
        costs.append(len(publish(edges, renamed, 1, {"x": 1}, "psf").crossed))
    assert sorted(costs) == [2, 3]
