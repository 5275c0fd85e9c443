"""Generated topologies: what each shape is known by."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.generators import SHAPES, extent, make_map
from topologies.map import pieces

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "line": {"size": 7},
    "ring": {"size": 7},
    "star": {"size": 7},
    "tree": {"size": 15, "branching": 3},
    "grid": {"width": 4, "height": 5},
    "torus": {"width": 4, "height": 5},
    "full": {"size": 6},
    "fat-tree": {"k": 6},
    "random": {"size": 40},
    "erdos-renyi": {"size": 60, "degree": 2},
    "waxman": {"size": 60, "alpha": 0.05, "side_km": 900},
    "barabasi-albert": {"size": 60, "attach": 3},
    "power-law": {"size": 120, "exponent": 2.1},
    "transit-stub": {},
}


def graph_of(made):
    graph = nx.Graph((link.a, link.b) for link in made.links)
    graph.add_nodes_from(node.name for node in made.nodes)
    assert graph.number_of_edges() == len(made.links), "parallel links"
    assert nx.number_of_selfloops(graph) == 0
    return graph


def degrees(made):
    return Counter(degree for _, degree in graph_of(made).degree)


def test_every_shape_has_an_example():
    assert set(EXAMPLES) == set(SHAPES)


@pytest.mark.parametrize("shape", EXAMPLES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_shape_is_in_one_piece_and_as_large_as_it_says(shape, seed):
    made = make_map(shape, EXAMPLES[shape], seed)
    routers, links = extent(shape, EXAMPLES[shape])
    assert nx.is_connected(graph_of(made)), f"seed {seed}"
    assert len(made.nodes) == routers
    assert abs(len(made.links) - links) <= 0.5 * links


@pytest.mark.parametrize("shape", [s for s, kind in SHAPES.items() if kind.drawn])
def test_drawn_shapes_differ_by_seed_and_the_others_do_not(shape):
    assert make_map(shape, EXAMPLES[shape], 1).links != make_map(shape, EXAMPLES[shape], 2).links
    assert make_map("grid", EXAMPLES["grid"], 1).links == make_map("grid", EXAMPLES["grid"], 2).links


def test_the_same_topologies_come_out_under_any_hash_seed():
    program = (
        "import json, sys\n"
        "from topologies.generators import make_map\n"
        "from topologies.drawing import draw_svg\n"
        "maps = [make_map(s, p, 5) for s, p in json.loads(sys.argv[1]).items()]\n"
        "print([(repr(m), draw_svg(m)) for m in maps])"
    )
    reported = [
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(EXAMPLES)],
            cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "77")
    ]  # fmt: skip
    assert reported[0] == reported[1]


def test_random_graphs_are_those_they_always_were():
    """Runs that are kept name their seed alone: the graph must not change."""
    links = [link.name for link in make_map("random", {"size": 8, "degree": 2.5}, 7).links]
    assert links == GOLDEN_RANDOM


GOLDEN_RANDOM = [
    "r1--r2",
    "r1--r3",
    "r1--r4",
    "r1--r6",
    "r2--r5",
    "r2--r8",
    "r3--r4",
    "r3--r7",
    "r3--r8",
    "r4--r7",
]


def test_regular_shapes_have_their_degrees():
    assert degrees(make_map("torus", {"width": 5, "height": 3}, 1)) == {4: 15}
    assert degrees(make_map("ring", {"size": 9}, 1)) == {2: 9}
    assert degrees(make_map("full", {"size": 6}, 1)) == {5: 6}
    assert degrees(make_map("star", {"size": 9}, 1)) == {1: 8, 8: 1}
    assert nx.is_tree(graph_of(make_map("tree", {"size": 30, "branching": 4}, 1)))


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_fat_tree_is_one(k):
    """(k/2)^2 core switches and k pods of k; every core switch reaches every pod by one link."""
    made = make_map("fat-tree", {"k": k}, 1)
    graph = graph_of(made)
    tags = {node.name: node.tags for node in made.nodes}
    kinds = Counter(tag for node in made.nodes for tag in node.tags if "pod" not in tag)
    assert kinds == {"core": (k // 2) ** 2, "aggregation": k * k // 2, "edge": k * k // 2}
    for name, degree in graph.degree:
        assert degree == (k // 2 if "edge" in tags[name] else k)
        if "core" in tags[name]:
            pods = {tag for other in graph[name] for tag in tags[other] if tag.startswith("pod")}
            assert len(pods) == k
    assert all(
        d <= 4 for found in dict(nx.all_pairs_shortest_path_length(graph)).values() for d in found.values()
    )


def test_barabasi_albert_grows_hubs():
    made = make_map("barabasi-albert", {"size": 400, "attach": 2}, 3)
    found = degrees(made)
    assert len(made.links) == 2 * (400 - 2)
    assert max(found) > 20


@pytest.mark.parametrize("seed", range(4))
def test_power_law_degrees_fall_off_as_asked(seed):
    steep = degrees(make_map("power-law", {"size": 500, "exponent": 3.0, "least": 2}, seed))
    flat = degrees(make_map("power-law", {"size": 500, "exponent": 1.8, "least": 2, "most": 60}, seed))
    assert steep[2] > 250, f"seed {seed}"  # 0.62 of all by the law
    assert steep[2] > 2 * steep[3] > 2 * steep[4], f"seed {seed}"
    assert max(flat) <= 60
    assert max(flat) > max(10, flat[60]), f"seed {seed}"


def test_degrees_too_low_to_connect_all_are_raised_and_a_note_says_so():
    made = make_map("power-law", {"size": 200, "exponent": 4.0}, 1)
    assert len(made.links) == 199
    assert "raised" in made.notes[0]


def test_erdos_renyi_has_the_degree_asked_for():
    made = make_map("erdos-renyi", {"size": 500, "degree": 8}, 1)
    assert abs(2 * len(made.links) / 500 - 8) < 0.5
    with_probability = make_map("erdos-renyi", {"size": 500, "probability": 8 / 499}, 1)
    assert with_probability.links == made.links


def test_waxman_links_are_short_and_have_delays_from_their_length():
    made = make_map("waxman", {"size": 120, "alpha": 0.08, "beta": 0.6, "side_km": 1000}, 1)
    at = {node.name: node.at for node in made.nodes}
    longest = max(link.delay_ns for link in made.links)
    assert longest < 1000 * 2**0.5 * 5004 * 1.01
    mean = sum(abs(at[k.a][0] - at[k.b][0]) for k in made.links) / len(made.links)
    assert mean < 0.2  # a third, were they drawn alike
    assert all(link.delay_ns is None for link in make_map("waxman", {"size": 20}, 1).links)


def test_transit_stub_has_the_parameters_of_k4():
    """K4: 100 nodes, 4 of transit in one domain, 12 stub domains, 96 stub nodes."""
    made = make_map("transit-stub", {}, 1)
    tags = Counter(tag for node in made.nodes for tag in node.tags)
    assert len(made.nodes) == 100
    assert (tags["transit"], tags["stub"]) == (4, 96)
    assert [tags[f"stub-{i}"] for i in range(1, 13)] == [8] * 12
    access = [link for link in made.links if "access" in link.tags]
    assert len(access) == 12
    graph = graph_of(made)
    for link in access:
        graph.remove_edge(link.a, link.b)
    assert nx.number_connected_components(graph) == 13


def test_extra_links_join_stubs_to_transit_and_to_each_other():
    plain, more = (make_map("transit-stub", p, 1) for p in ({}, {"extra_transit": 5, "extra_stub": 7}))
    assert len(more.links) == len(plain.links) + 12
    kinds = Counter(tag for link in more.links for tag in link.tags)
    assert kinds["access"] == 12 + 5


def test_pieces_are_joined_and_a_note_says_so():
    made = make_map("erdos-renyi", {"size": 200, "degree": 0.5}, 1)
    assert len(pieces(made.neighbours())) == 1
    assert "added to what was drawn" in made.notes[0]


WRONG = [
    ("ring", {"size": 2}, "at least 3"),
    ("ring", {"size": 0}, "1 to 65536"),
    ("torus", {"width": 2, "height": 5}, "3 to 256"),
    ("fat-tree", {"k": 5}, "even"),
    ("random", {"size": 4, "degree": 9}, "cannot have"),
    ("erdos-renyi", {"size": 4, "degree": 9}, "cannot have"),
    ("erdos-renyi", {"size": 4, "degree": 2, "probability": 0.1}, "expected one of them"),
    ("waxman", {"size": 10_000}, "1 to 3000"),
    ("barabasi-albert", {"size": 3, "attach": 3}, "size > attach"),
    ("power-law", {"size": 10, "least": 5, "most": 3}, "least <= most"),
    ("power-law", {"size": 10, "most": 1}, "at least 2"),
    ("transit-stub", {"stubs": 0, "extra_stub": 1}, "stubs of at least 1"),
    ("transit-stub", {"stubs": 1, "stub_routers": 1, "extra_transit": 100}, "no room"),
    ("line", {}, "size is missing"),
    ("line", {"size": 3, "k": 4}, "no parameter k"),
    ("line", {"size": 3.5}, "whole number"),
    ("line", {"size": True}, "whole number"),
    ("waxman", {"size": 5, "alpha": float("nan")}, "a number"),
]


@pytest.mark.parametrize(("shape", "parameters", "reported"), WRONG)
def test_what_cannot_be_made_is_refused_with_what_was_expected(shape, parameters, reported):
    with pytest.raises(ValueError, match=reported):
        make_map(shape, parameters, seed=1)


@given(st.sampled_from(["erdos-renyi", "waxman", "power-law", "barabasi-albert", "random"]),
       st.integers(1, 40), st.integers(0, 10**6))  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_graphs_of_any_size_and_seed_are_in_one_piece(shape, size, seed):
    more = {"attach": min(2, size - 1)} if shape == "barabasi-albert" else {}
    if shape == "barabasi-albert" and size < 2:
        return
    made = make_map(shape, {"size": size, **more}, seed)
    assert len(made.nodes) == size
    assert nx.is_connected(graph_of(made)), (shape, size, seed)
