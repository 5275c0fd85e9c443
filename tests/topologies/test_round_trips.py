"""Maps written and read again are the same, as far as a format has words for them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.exporters import exported
from topologies.generators import make_map
from topologies.importers import read_map
from topologies.map import Map, MapLink, MapNode

names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Z", "C")), min_size=1, max_size=12
)
tags = st.lists(st.sampled_from(["core", "edge", "pod-1", "far_off"]), unique=True).map(
    lambda t: tuple(sorted(t))
)


@st.composite
def maps(draw):
    """Any map that is in one piece."""
    size = draw(st.integers(1, 12))
    point = st.tuples(st.floats(-89, 89, width=32), st.floats(-179, 179, width=32))
    nodes = tuple(
        MapNode(f"r{i}", draw(names).strip(), draw(st.none() | point), draw(st.none() | point), draw(tags))
        for i in range(size)
    )
    nodes = tuple(MapNode(n.name, n.label if n.label != n.name else "", n.place, n.at, n.tags) for n in nodes)
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, size)]
    links = tuple(
        MapLink(
            f"r{a}", f"r{b}",
            draw(st.integers(1, 3600 * 10**9)), draw(st.none() | st.integers(1, 10**15)),
            draw(st.floats(0, 1)), draw(st.integers(1, 10**6)), draw(tags),
        )
        for a, b in pairs
    )  # fmt: skip
    return Map("any", nodes, links, title=draw(names).strip())


@given(maps())
@settings(max_examples=120, deadline=None)
def test_the_own_format_gives_back_the_same_map(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("own") / "any.map"
    path.write_text(exported(drawn, "map"), encoding="utf-8")
    found = read_map(path)
    assert [n.name for n in found.nodes] == [n.name for n in drawn.nodes]
    assert found.nodes == drawn.nodes
    assert found.links == drawn.links
    assert found.title == drawn.title


@given(maps(), st.sampled_from(["graphml", "gml"]))
@settings(max_examples=120, deadline=None)
def test_graphml_and_gml_give_back_links_places_and_tags(tmp_path_factory, drawn, form):
    path = tmp_path_factory.mktemp("graphs") / f"any.{form}"
    path.write_text(exported(drawn, form), encoding="utf-8")
    found = read_map(path)
    assert [(n.place, n.at, n.tags) for n in found.nodes] == [(n.place, n.at, n.tags) for n in drawn.nodes]
    known = {n.name: i for i, n in enumerate(found.nodes)}
    reported = [(known[k.a], known[k.b], k.delay_ns, k.rate_bps, k.loss, k.cost, k.tags) for k in found.links]
    assert reported == [
        (int(k.a[1:]), int(k.b[1:]), k.delay_ns, k.rate_bps, k.loss, k.cost, k.tags) for k in drawn.links
    ]


@pytest.mark.parametrize("form", ["map", "graphml", "gml", "edges", "minindn"])
@pytest.mark.parametrize("shape", ["ring", "fat-tree", "waxman", "transit-stub", "power-law"])
def test_generated_exported_and_imported_it_is_the_same_graph(tmp_path, shape, form):
    parameters = {"ring": {"size": 9}, "fat-tree": {"k": 4}, "waxman": {"size": 40, "side_km": 500},
                  "transit-stub": {}, "power-law": {"size": 60}}[shape]  # fmt: skip
    made = make_map(shape, parameters, 3)
    path = tmp_path / f"x.{'conf' if form == 'minindn' else form}"
    path.write_text(exported(made, form), encoding="utf-8")
    found = read_map(path)
    titles = [{n.title for n in drawn.nodes} for drawn in (made, found)]
    by_title = [{n.name: n.title for n in drawn.nodes} for drawn in (made, found)]
    links = [
        {(frozenset((at[k.a], at[k.b])), k.delay_ns) for k in drawn.links}
        for drawn, at in zip((made, found), by_title, strict=True)
    ]
    if form in ("edges", "minindn"):  # these have names alone
        links[0] = {(frozenset((k.a, k.b)), k.delay_ns) for k in made.links}
    else:
        assert titles[0] == titles[1]
    assert links[0] == links[1]
