"""The ideal delivery tree (T1, E8), against trying everything."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise, product

import pytest

from nodes.routing.trees import Topology
from tests.routing.fabric import random_graph
from tests.routing.test_schemes import numbered
from tests.routing.trips import publish
from topologies.ideal import DeliveryTree, Edge, Node, ShortestPaths, ideal_tree


def smallest(paths: ShortestPaths, destinations: list[Node]) -> int:
    """The fewest links, by trying every choice of a predecessor at every node."""
    before = {
        node: [a for a, cost in neighbours if paths.distance[a] + cost == paths.distance[node]]
        for node, neighbours in paths._links.items()
        if node != paths.source
    }
    return min(
        len(links_used(dict(zip(before, choice, strict=True)), paths.source, destinations))
        for choice in product(*before.values())
    )


def links_used(parent: dict[Node, Node], source: Node, destinations: list[Node]) -> set[tuple[Node, Node]]:
    used = set()
    for destination in destinations:
        node = destination
        while node != source:
            used.add((parent[node], node))
            node = parent[node]
    return used


def assert_delivers(tree: DeliveryTree, paths: ShortestPaths, destinations: list[Node], seed: int) -> None:
    """Every node of it has one link in, and every destination is reached over a shortest path."""
    parent = {to: at for at, to in tree.links}
    assert len(parent) == tree.size, f"seed {seed}: a node is reached twice"
    used = links_used(parent, paths.source, destinations)
    assert used == {*tree.links}, f"seed {seed}: links that lead to nobody"
    for at, to in tree.links:
        costs = [cost for other, cost in paths._links[to] if other == at]
        assert paths.distance[at] + min(costs) == paths.distance[to], f"seed {seed}: not a shortest path"


def grid(rows: int, columns: int) -> list[Edge]:
    """Unit costs: as many shortest paths as can be."""
    first = range(1, rows * columns, columns)
    across = [(row + c, row + c + 1, 1) for row in first for c in range(columns - 1)]
    return across + [(n, n + columns, 1) for n in range(1, (rows - 1) * columns + 1)]


def test_E8_on_a_4_cycle_the_ideal_tree_to_c_and_d_has_2_links_and_that_of_psf_may_have_3() -> None:
    cycle = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("a", "d", 1)]
    assert ideal_tree(cycle, "a", ["c", "d"]) == DeliveryTree((("a", "d"), ("d", "c")), exact=True)
    numbers: list[tuple[int, int, int]] = [(1, 2, 1), (2, 3, 1), (3, 4, 1), (1, 4, 1)]
    from_each = [
        len(
            publish(
                numbers, {k: numbered([3])[3] for k in (v % 4 + 1, (v + 1) % 4 + 1)}, v, {"p": 3}, "psf"
            ).links
        )
        for v in (1, 2, 3, 4)
    ]
    assert {*from_each} == {2, 3}


@pytest.mark.parametrize("seed", range(40))
def test_T1_it_is_as_small_as_the_smallest_of_all_latency_minimal_trees(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(a, b, rng.choice((1, 1, 2))) for a, b, _ in random_graph(rng, rng.randrange(4, 9), 10)]
    paths = ShortestPaths(edges, 1)
    destinations: list[Node] = rng.sample(list(paths.distance), rng.randrange(1, 5))
    tree = paths.ideal(destinations)
    assert_delivers(tree, paths, destinations, seed)
    assert tree.exact
    assert tree.size == smallest(paths, destinations), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_T1_also_where_most_is_undecided(seed: int) -> None:
    rng = random.Random(seed)
    paths = ShortestPaths(grid(3, 4), 1)
    destinations: list[Node] = rng.sample(range(2, 13), rng.randrange(2, 6))
    tree = paths.ideal(destinations)
    assert_delivers(tree, paths, destinations, seed)
    assert tree.size == smallest(paths, destinations), f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_an_approximation_says_so_delivers_and_is_no_smaller(seed: int) -> None:
    rng = random.Random(seed)
    paths = ShortestPaths(grid(7, 7), 1)
    destinations: list[Node] = rng.sample(range(2, 50), 9)
    exact, near = paths.ideal(destinations), paths.ideal(destinations, exact_up_to=0)
    assert exact.exact
    assert_delivers(near, paths, destinations, seed)
    assert exact.size <= near.size <= 1.5 * exact.size, f"seed {seed}"
    assert exact == near or not near.exact, f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_T2_where_shortest_paths_are_unique_it_is_the_tree_of_psf(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(a, b, 1 << n) for n, (a, b, _) in enumerate(random_graph(rng, 12, 12))]
    wants = numbered(rng.sample(range(2, 13), 5))
    everybody = {n: wants[min(wants)] for n in wants}
    crossed = publish(edges, everybody, 1, {"p": min(wants)}, "psf").links
    assert sorted(ideal_tree(edges, 1, wants).links) == crossed, f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_T1_no_tree_of_psf_is_smaller(seed: int) -> None:
    rng = random.Random(seed)
    edges = random_graph(rng, 14, 14)
    topology, destinations = Topology.around(1, edges), rng.sample(range(2, 15), 6)
    paths = [topology.path(1, x) for x in destinations]
    ours = {link for path in paths for link in pairwise(path)}
    assert ideal_tree(edges, 1, destinations).size <= len(ours), f"seed {seed}"


def test_the_same_tree_is_found_whatever_the_hashes_of_names() -> None:
    code = (
        "from topologies.ideal import ideal_tree\n"
        "names = [[f'{row}{column}' for column in 'abcdef'] for row in 'uvwxyz']\n"
        "down = [(one, other, 1) for pair in zip(names, names[1:]) for one, other in zip(*pair)]\n"
        "across = [(one, other, 1) for row in names for one, other in zip(row, row[1:])]\n"
        "print(ideal_tree(down + across, 'ua', ['zf', 'xe', 'zb', 'we', 'yc', 'vf']).links)\n"
    )
    output = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": str(seed)}, capture_output=True, check=True
        ).stdout
        for seed in range(4)
    }
    assert len(output) == 1


def test_the_source_itself_takes_no_link() -> None:
    assert ideal_tree([(1, 2, 1)], 1, [1]) == DeliveryTree((), exact=True)


def test_who_cannot_be_reached_is_named() -> None:
    with pytest.raises(ValueError, match="there is no path from 1 to 3"):
        ideal_tree([(1, 2, 1), (3, 4, 1)], 1, [3])


def test_costs_are_positive() -> None:
    with pytest.raises(ValueError, match="the link 1-2 has the cost 0; expected more than 0"):
        ideal_tree([(1, 2, 0)], 1, [2])
