"""Numbers about maps, against what is known of them."""

import pytest

from topologies.generators import make_map
from topologies.library import library_map
from topologies.map import Map, MapLink, MapNode, delay_of_km, distance_km
from topologies.measures import measured


def test_a_line_is_all_bridges():
    found = measured(make_map("line", {"size": 5}, 1))
    assert found.bridges == ("r1--r2", "r2--r3", "r3--r4", "r4--r5")
    assert found.cut_nodes == ("r2", "r3", "r4")
    assert (found.diameter, found.average_path) == (4, 2.0)
    assert found.delays_ms is None
    assert found.farthest_ms is None


def test_a_ring_has_none():
    found = measured(make_map("ring", {"size": 6}, 1))
    assert (found.bridges, found.cut_nodes, found.diameter) == ((), (), 3)
    assert found.degrees == {2: 6}


def test_a_single_router_can_be_measured():
    found = measured(make_map("line", {"size": 1}, 1))
    assert (found.diameter, found.average_path, found.mean_degree) == (0, 0.0, 0.0)


def test_delays_are_those_of_shortest_paths():
    links = (MapLink("a", "b", 1_000_000), MapLink("b", "c", 2_000_000), MapLink("a", "c", 9_000_000))
    found = measured(Map("x", tuple(map(MapNode, "abc")), links))
    assert found.delays_ms == (1.0, 2.0, 9.0)
    assert found.farthest_ms == 3.0


def test_abilene_is_as_the_literature_has_it():
    found = measured(library_map("abilene"))
    assert (found.nodes, found.links, found.diameter) == (11, 14, 5)
    assert found.bridges == ()


def test_nsfnet_is_as_the_literature_has_it():
    found = measured(library_map("nsfnet"))
    assert (found.nodes, found.links, found.diameter) == (14, 21, 3)
    assert found.mean_degree == 3.0
    assert found.average_path == pytest.approx(2.14, abs=0.01)


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [
        ((51.51, -0.13), (40.71, -74.01), 5570),
        ((0, 0), (0, 180), 20015),
        ((-90, 0), (90, 77), 20015),
        ((5, 5), (5, 5), 0),
    ],
)
def test_distances_are_great_circles(a, b, km):
    assert distance_km(a, b) == pytest.approx(km, rel=0.002, abs=0.001)


def test_a_thousand_kilometres_take_five_milliseconds():
    assert delay_of_km(1000) == 5_003_000
    assert delay_of_km(0) == delay_of_km(1) == 5_000
