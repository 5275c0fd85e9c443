"""Agreed, symmetric shortest-path trees (E7) and the goldens on them (T2, T4)."""

from __future__ import annotations

import heapq
import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.routing.linkstate import LinkStateDatabase
from nodes.routing.trees import Edge, Topology, mix
from tests.routing.fabric import random_graph

# The figures of RTE 2 and 3 are drawn, not written; only their sets are in the text. This graph of 12
# processors is one in which all of the sets stated for Figures 1 and 2 hold (and, of Figure 4, the
# partition at processor 6).
FIGURE: list[Edge] = [
    (1, 5, 2), (1, 6, 3), (2, 3, 1), (2, 6, 1), (3, 4, 5), (4, 8, 1), (5, 9, 1),
    (6, 7, 1), (6, 9, 1), (7, 8, 1), (7, 10, 2), (7, 11, 1), (8, 12, 2), (9, 10, 1), (11, 12, 1),
]  # fmt: skip


def weight(a: int, b: int, cost: int) -> int:
    """The documented weight of a link (docs/protocols.md)."""
    return (cost << 96) | mix(a, b)


def plain_parents(topology: Topology, root: int) -> dict[int, int]:
    """Dijkstra's algorithm in plain integers: the parent of each node but the root."""
    links: dict[int, list[tuple[int, int]]] = {node: [] for node in topology.nodes}
    for a, b, cost in topology.edges:
        links[a].append((b, weight(a, b, cost)))
        links[b].append((a, weight(a, b, cost)))
    parents: dict[int, int] = {}
    done: set[int] = set()
    heap = [(0, root, root)]
    while heap:
        length, node, parent = heapq.heappop(heap)
        if node not in done:
            done.add(node)
            parents[node] = parent
            for to, step in links[node]:
                heapq.heappush(heap, (length + step, to, node))
    del parents[root]
    return parents


def plain_path(topology: Topology, source: int, target: int) -> list[int]:
    parents, path = plain_parents(topology, source), [target]
    while path[-1] != source:
        path.append(parents[path[-1]])
    return path[::-1]


def below(topology: Topology, source: int, node: int, child: int) -> set[int]:
    """T_source/(node, child), straight from the definition (RTE 3.1), by walking each path."""
    if child not in topology.children(node)[source]:
        return set()
    return {x for x in topology.nodes if (path := topology.path(source, x)) and child in path}


def graphs() -> st.SearchStrategy[Topology]:
    return st.builds(
        lambda seed, count, extra: Topology.around(1, random_graph(random.Random(seed), count, extra)),
        st.integers(0, 2**32),
        st.integers(2, 14),
        st.integers(0, 20),
    )


def test_T2_descendants_of_figure_1() -> None:
    figure = Topology.around(1, FIGURE)
    assert below(figure, 1, 6, 7) == {4, 7, 8, 11, 12}
    assert below(figure, 1, 6, 9) == set()


def test_T3_sources_1_5_9_have_the_same_children_and_descendants_at_6_in_figure_1() -> None:
    figure = Topology.around(1, FIGURE)
    at_6 = {v: {w: frozenset(below(figure, v, 6, w)) for w in figure.children(6)[v]} for v in (1, 5, 9)}
    assert at_6[1] == at_6[5] == at_6[9] == {2: {2, 3}, 7: {4, 7, 8, 11, 12}}


def test_T4_F_star_of_figure_2_is_5_9_10_by_definition_and_by_next_hop() -> None:
    """RTE 3.3: F*_6(9) = p5 or p9 or p10, the union of T_v/(6,9) over all sources v."""
    figure = Topology.around(6, FIGURE)
    assert set().union(*(below(figure, v, 6, 9) for v in figure.nodes)) == {5, 9, 10}
    assert {x for x, hop in figure.first_hops(6).items() if hop == 9} == {5, 9, 10}


def test_T5_unicast_at_6_in_figure_4() -> None:
    hops = Topology.around(6, FIGURE).first_hops(6)
    assert [hops[x] for x in (2, 3, 4, 8)] == [2, 2, 7, 7]


@settings(max_examples=40)
@given(graphs())
def test_E7_the_path_back_is_the_path_there_reversed(topology: Topology) -> None:
    for a in topology.nodes:
        for b in topology.nodes:
            assert topology.path(a, b) == topology.path(b, a)[::-1]


@settings(max_examples=25)
@given(graphs())
def test_E7_F_star_is_the_predicates_grouped_by_unicast_next_hop(topology: Topology) -> None:
    for u in topology.nodes:
        hops = topology.first_hops(u)
        for w in topology.neighbours(u):
            by_definition = set().union(*(below(topology, v, u, w) for v in topology.nodes))
            assert by_definition == {x for x, hop in hops.items() if hop == w}


@settings(max_examples=40)
@given(graphs())
def test_children_are_those_of_the_sources_own_trees(topology: Topology) -> None:
    for u in topology.nodes:
        children = topology.children(u)
        for v in topology.nodes:
            parents = plain_parents(topology, v)
            assert children[v] == sorted(w for w, parent in parents.items() if parent == u)


@settings(max_examples=40)
@given(graphs())
def test_E7_paths_and_next_hops_are_those_of_plain_arithmetic_on_the_documented_weights(
    topology: Topology,
) -> None:
    for a in topology.nodes:
        hops = topology.first_hops(a)
        assert sorted(hops) == [b for b in topology.nodes if b != a]
        for b in topology.nodes:
            assert topology.path(a, b) == plain_path(topology, a, b)
            assert a == b or hops[b] == topology.path(a, b)[1]


@settings(max_examples=25)
@given(graphs())
def test_trees_are_shortest_in_cost(topology: Topology) -> None:
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from(topology.edges)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    for a in topology.nodes:
        for b in topology.nodes:
            assert nx.path_weight(graph, topology.path(a, b), "weight") == lengths[a][b]


def test_routers_that_see_the_same_network_share_its_trees() -> None:
    edges = random_graph(random.Random(3), 20, 15)
    shuffled = random.Random(4).sample(edges, len(edges))
    first, second = Topology.around(1, edges), Topology.around(20, shuffled)
    assert first is second


def test_only_the_part_that_is_connected_with_us_counts() -> None:
    topology = Topology.around(2, [(1, 2, 1), (3, 4, 1)])
    assert topology.nodes == (1, 2)
    assert Topology.around(5, [(1, 2, 1)]).nodes == (5,)


def test_weights_are_the_documented_ones_and_equal_from_both_ends() -> None:
    assert mix(1, 2) == mix(2, 1) == 0xB3703AD894507022
    assert weight(7, 3, 5) == 5 << 96 | mix(3, 7)


def test_a_link_counts_when_both_ends_say_it_and_costs_what_the_dearer_says() -> None:
    database = LinkStateDatabase(1, 6_000)
    other = LinkStateDatabase(2, 6_000)
    database.originate(0, {2: 3, 9: 1})
    assert database.topology().nodes == (1,)
    payload = other.originate(0, {1: 5})
    assert payload is not None
    database.store(0, payload)
    assert database.topology().edges == ((1, 2, 5),)


@pytest.mark.parametrize("count", [2, 5])
def test_digests_differ_when_the_networks_do(count: int) -> None:
    base = random_graph(random.Random(count), count, 0)
    costlier = [(a, b, cost + 1) for a, b, cost in base]
    assert Topology.around(1, base).digest != Topology.around(1, costlier).digest
