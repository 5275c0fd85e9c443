"""The maps that are shipped."""

import pytest

from topologies.library import library_map, map_names


@pytest.mark.parametrize("name", map_names())
def test_shipped_maps_are_whole_placed_and_name_their_sources(name):
    found = library_map(name)
    assert found.name == name
    assert found.title
    assert found.sources
    assert all(node.place and node.tags for node in found.nodes)
    assert all(link.delay_ns for link in found.links)
    assert not found.notes
    assert min(len(near) for near in found.neighbours().values()) >= 2


def test_geant_is_about_the_size_that_fault_scenarios_ask_for():
    assert 20 <= len(library_map("geant").nodes) <= 25
