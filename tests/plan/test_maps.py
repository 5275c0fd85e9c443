"""Topologies of shapes, maps and files in scenarios: what the plan's links and nodes take of them."""

import pytest

from testbed.plan.drawn import load_map, map_of_plan
from testbed.plan.load import load_plan
from topologies.library import library_map

EDGES = "a b delay=5ms rate=10mbit loss=0.5 cost=7 tags=slow\nb c\n"


@pytest.fixture
def scenario(tmp_path):
    def write(topology, more="", folder=""):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "links.edges").write_text(EDGES)
        path = tmp_path / folder / "scenario.yaml"
        path.write_text(f"name: x\ntopology: {topology}\n{more}\n")
        return path

    return write


def first_link(path, **more):
    link = load_plan(path, **more).links[0]
    reported = link.impairment
    return reported.delay_ns, reported.rate_bps, reported.loss, link.cost


def test_a_file_s_links_have_all_it_says_of_them(scenario):
    plan = load_plan(scenario("{import: links.edges}"))
    assert first_link(scenario("{import: links.edges}")) == (5_000_000, 10_000_000, 0.5, 7)
    assert plan.links[0].tags == ("slow",)
    assert plan.links[1].impairment.delay_ns is None


def test_take_says_what_is_wanted_of_a_map(scenario):
    assert first_link(scenario("{import: links.edges, take: [cost]}")) == (None, None, 0.0, 7)
    assert first_link(scenario("{import: links.edges, take: []}")) == (None, None, 0.0, 1)


def test_defaults_come_before_the_map_and_words_for_tags_after_it(scenario):
    reported = (
        "{import: links.edges, link_defaults: {delay: 1ms, cost: 2}, links_by_tag: {slow: {delay: 9ms}}}"
    )
    plan = load_plan(scenario(reported))
    assert [(k.impairment.delay_ns, k.cost) for k in plan.links] == [(9_000_000, 7), (1_000_000, 2)]


def test_all_stands_for_every_link(scenario):
    plan = load_plan(scenario("{map: geant, links_by_tag: {all: {loss: 0.1}, ocean: {loss: 0.2}}}"))
    assert {k.impairment.loss for k in plan.links if "ocean" in k.tags} == {0.2}
    assert {k.impairment.loss for k in plan.links if "ocean" not in k.tags} == {0.1}
    assert all(k.impairment.delay_ns for k in plan.links)


def test_library_maps_give_delays_and_costs_and_keep_their_rates_to_themselves(scenario):
    assert first_link(scenario("{map: abilene}")) == (5_698_000, None, 0.0, 861)
    assert first_link(scenario("{map: abilene, take: [rate]}")) == (None, 10_000_000_000, 0.0, 1)


def test_tags_of_a_map_are_those_of_the_plan(scenario):
    plan = load_plan(scenario("{map: geant}"))
    assert {n.name: n.tags for n in plan.routers} == {n.name: n.tags for n in library_map("geant").nodes}


def test_the_path_of_a_file_counts_from_the_scenario(scenario, monkeypatch, tmp_path):
    path = scenario("{import: links.edges}", folder="deep")
    monkeypatch.chdir("/")
    assert len(load_plan(path).routers) == 3


def test_a_shape_keeps_its_own_seed_while_the_scenario_s_varies(scenario):
    own = [load_plan(scenario("{generate: waxman, size: 30, seed: 5}"), seed=s).links for s in (1, 2)]
    drawn = [load_plan(scenario("{generate: waxman, size: 30}"), seed=s).links for s in (1, 2)]
    assert own[0] == own[1]
    assert drawn[0] != drawn[1]


def test_a_map_can_be_cut_down(scenario):
    plan = load_plan(scenario("{map: geant, drop: [far], keep: 12}"))
    assert len(plan.routers) == 12
    assert "frankfurt" in {n.name for n in plan.routers}


def test_a_parameter_can_be_set_from_outside(scenario):
    path = scenario("{generate: fat-tree, k: 4}")
    assert len(load_plan(path, overrides={"topology.k": "6"}).routers) == 45


def test_the_map_of_a_scenario_has_places_from_its_map_and_clients_beside(scenario):
    path = scenario("{map: geant}", "clients: {alice: {at: paris}}")
    drawn = load_map(path)
    assert drawn.node("paris").place == library_map("geant").node("paris").place
    assert drawn.node("paris").title == "Paris"
    assert drawn.node("alice").tags == ("client",)
    assert drawn.links[0].delay_ns == load_plan(path).links[0].impairment.delay_ns
    assert len(map_of_plan(load_plan(path)).links) == len(drawn.links) == 37
