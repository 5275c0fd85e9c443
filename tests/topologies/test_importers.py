"""Maps from files: formats, the same map back, and files that mean no good."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.errors import MapError
from topologies.exporters import exported
from topologies.generators import make_map
from topologies.importers import Wishes, read_map
from topologies.importers.naming import NAME, names_of, room
from topologies.library import library_map, map_names
from topologies.map import Map, MapLink, MapNode, delay_of_km, distance_km

ZOO = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d35"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="d29"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="d32"/>
  <key attr.name="Internal" attr.type="int" for="node" id="d31"/>
  <key attr.name="hyperedge" attr.type="int" for="node" id="d34"/>
  <key attr.name="label" attr.type="string" for="node" id="d33"/>
  <key attr.name="Network" attr.type="string" for="graph" id="d5"/>
  <graph edgedefault="undirected">
    <data key="d5">Example Net</data>
    <node id="0"><data key="d29">51.5</data><data key="d32">-0.13</data><data key="d33">London</data>
      <data key="d31">1</data></node>
    <node id="1"><data key="d29">48.86</data><data key="d32">2.35</data><data key="d33">Paris</data></node>
    <node id="2"><data key="d33">S\u00e3o Paulo</data></node>
    <node id="3"><data key="d33">None</data><data key="d34">1</data></node>
    <node id="4"><data key="d33">Other carrier</data><data key="d31">0</data></node>
    <edge source="0" target="1"><data key="d35">10000000000.0</data></edge>
    <edge source="1" target="0"><data key="d35">2500000000.0</data></edge>
    <edge source="0" target="2"/>
    <edge source="1" target="3"/>
    <edge source="3" target="2"/>
    <edge source="2" target="2"/>
    <edge source="4" target="0"/>
  </graph>
</graphml>
"""


@pytest.fixture
def read(tmp_path):
    def read(name, text, **wishes):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_map(path, Wishes(**wishes))

    return read


def test_a_map_of_the_topology_zoo_is_read_with_all_that_is_odd_in_it(read):
    found = read("Example.graphml", ZOO)
    assert [(n.name, n.label) for n in found.nodes] == [
        ("london", "London"),
        ("paris", "Paris"),
        ("saopaulo", "S\u00e3o Paulo"),
        ("n3", "3"),
        ("other", "Other carrier"),
    ]
    assert found.title == "Example Net"
    assert found.node("n3").tags == ("hyperedge",)
    assert found.node("other").tags == ("external",)
    first = found.links[0]
    assert (first.name, first.rate_bps) == ("london--paris", 10_000_000_000)
    assert first.delay_ns == delay_of_km(distance_km((51.5, -0.13), (48.86, 2.35))) == 1_714_000
    assert found.links[1].delay_ns is None
    assert [note.split(",")[0] for note in found.notes] == [
        "1 link from a node to itself left out",
        "1 parallel link merged into others",
        "3 nodes without coordinates: no delay follows from distance",
    ]


def test_nodes_with_a_tag_can_be_left_out(read):
    found = read("Example.graphml", ZOO, drop=("external",))
    assert [n.name for n in found.nodes] == ["london", "paris", "saopaulo", "n3"]
    with pytest.raises(MapError, match="no node has the tag foo") as caught:
        read("Example.graphml", ZOO, drop=("foo",))
    assert caught.value.expected == "one of external, hyperedge"


def test_hyperedges_of_graphml_become_a_node_in_the_middle(read):
    text = """<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
      <hyperedge><endpoint node="a"/><endpoint node="b"/><endpoint node="c"/></hyperedge></graph></graphml>"""
    found = read("h.graphml", text)
    assert len(found.nodes) == 4
    assert found.nodes[3].tags == ("hyperedge",)
    assert len(found.links) == 3


def test_gml_is_read_with_entities_comments_and_nested_lists(read):
    text = """# made by hand
    Creator "somebody"
    graph [ directed 1 multigraph 1 label "Two &amp; a half"
      node [ id 0 label "K&#246;ln" Latitude 50.94 Longitude 6.96 Internal 1 ]
      node [ id 1 label "0" graphics [ x 1.5 y -2 ] ]
      edge [ source 0 target 1 key 0 LinkSpeed "2.5" LinkSpeedUnits "G" ]
      edge [ source 1 target 0 key 0 ]
    ]"""
    found = read("x.gml", text)
    assert found.title == "Two & a half"
    assert [(n.name, n.label) for n in found.nodes] == [("koln", "K\u00f6ln"), ("n0", "0")]
    assert found.nodes[1].at == (1.5, -2.0)
    assert [(k.name, k.rate_bps) for k in found.links] == [("koln--n0", 2_500_000_000)]


def test_mini_ndn_files_are_read_with_delay_bandwidth_and_loss(read):
    text = """[nodes]
a: _ radius=1 angle=0 nfd-log-level=DEBUG
b: _
[switches]
s1: _
# links
[links]
a:b delay=10ms bw=100 loss=2.5 max_queue_size=1000
b:s1 delay=500us
"""
    found = read("x.conf", text)
    assert [n.name for n in found.nodes] == ["a", "b", "s1"]
    assert found.nodes[0].at == (1.0, 0.0)
    assert found.nodes[2].tags == ("switch",)
    assert found.links[0] == MapLink("a", "b", 10_000_000, 100_000_000, 0.025)
    assert found.links[1].delay_ns == 500_000
    assert found.notes == ("max_queue_size of links is not taken",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.edges", "# c\na b 5ms\nb c 3\nc d delay=1s rate=10mbit cost=2 tags=x,y\n% end\n"),
        ("x.csv", "a,b,5ms\nb,c,3\nc,d,1s,10mbit,2,tags=x\n"),
        ("x.tsv", "a\tb\t5ms\nb\tc\t3\nc\td\t1s\t10mbit\t2\n"),
        ("x.csv", "source,target,latency,bandwidth,cost\na,b,5ms,,\nb,c,,,3\nc,d,1s,10mbit,2\n"),
        ("noending", "a b 5ms\nb c 3\nc d 1s 10mbit 2\n"),
    ],
)
def test_edge_lists_are_read_in_their_dialects(read, name, text):
    found = read(name, text)
    told = [(k.a, k.b, k.delay_ns, k.rate_bps, k.cost) for k in found.links]
    assert told == [
        ("a", "b", 5_000_000, None, 1),
        ("b", "c", None, None, 3),
        ("c", "d", 10**9, 10_000_000, 2),
    ]


def test_labels_with_spaces_stand_in_quotes_between_commas(read):
    found = read("x.csv", '"New York","Los Angeles",70ms\n"Los Angeles","New Orleans",30ms\n')
    assert [n.name for n in found.nodes] == ["newyork", "losangele", "neworlean"]
    assert found.nodes[0].label == "New York"


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
    told = [(known[k.a], known[k.b], k.delay_ns, k.rate_bps, k.loss, k.cost, k.tags) for k in found.links]
    assert told == [
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


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=30), max_size=40), st.integers(0, 2000))
@settings(max_examples=200, deadline=None)
def test_names_are_unique_and_fit_whatever_the_labels(labels, degree):
    found = names_of(labels, dict.fromkeys(labels, degree))
    assert list(found) == list(labels)
    assert len(set(found.values())) == len(labels)
    for name in found.values():
        assert NAME.fullmatch(name)
        assert len(name) <= room(degree)
        assert len(f"{name}-eth{degree + 40}") <= 15


def test_who_has_a_good_name_keeps_it():
    labels = {
        "0": "New York",
        "1": "newyork",
        "2": "Newark",
        "3": "New York 2",
        "4": "x" * 9,
        "5": "\u6771\u4eac",
    }
    assert list(names_of(labels, {}).values()) == ["new", "newyork", "newark", "newyork2", "x" * 9, "n"]


BOMB = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
ENTITY_NODE = "<node id='&a9;'/>"
GRAPH = "<graphml><graph>{}</graph></graphml>"
HOSTILE = {
    "empty.graphml": (b"", "is empty"),
    "blank.gml": (b" \n\n", "is empty"),
    "comments.edges": (b"# nothing\n", "no nodes"),
    "no-nodes.graphml": (b"<graphml><graph/></graphml>", "no nodes"),
    "no-nodes.gml": (b"graph [ ]", "no nodes"),
    "no-nodes.conf": (b"[nodes]\n[links]\n", "no nodes"),
    "no-graph.graphml": (b"<graphml/>", "no graph in this XML"),
    "bomb.graphml": (
        f"<!DOCTYPE x [<!ENTITY a0 'lol'>{BOMB}]>{GRAPH.format(ENTITY_NODE)}".encode(),
        "document type declaration",
    ),
    "external.graphml": (
        f"<!DOCTYPE x [<!ENTITY a9 SYSTEM 'file:///etc/passwd'>]>{GRAPH.format(ENTITY_NODE)}".encode(),
        "document type declaration",
    ),
    "cut.graphml": (b"<graphml><graph><node id='a'>", "no XML"),
    "no-id.graphml": (b"<graphml><graph><node/></graph></graphml>", "has no attribute id"),
    "twice.graphml": (
        b"<graphml><graph><node id='a'/>\n<node id='a'/></graph></graphml>",
        "two nodes called 'a'",
    ),
    "nowhere.graphml": (
        b"<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>",
        "no node of that name",
    ),
    "encoding.graphml": (b"<?xml version='1.0' encoding='klingon'?><graphml/>", "XML"),
    "nan.gml": (b"graph [ node [ id 0 Latitude NAN Longitude 1 ] ]", "latitude is 'NAN'"),
    "infinite.gml": (b"graph [ node [ id 0 Latitude 1 Longitude 1e999 ] ]", "longitude is '1e999'"),
    "pole.gml": (b"graph [ node [ id 0 Latitude 91 Longitude 1 ] ]", "latitude is '91'"),
    "no-id.gml": (b'graph [ node [ label "a" ] ]', "the node has no id"),
    "open.gml": (b"graph [ node [ id 0 ]", "ends in the middle"),
    "close.gml": (b"graph [ ] ]", "without its"),
    "quote.gml": (b'graph [ node [ id 0 label "a ] ]', "closing quote"),
    "deep.gml": (b"a [ " * 10_000, "lists within lists"),
    "value.gml": (b"graph [ node [ id ] ]", "has no value"),
    "huge.edges": (b"a b 99999999999h\n", "delay is"),
    "rate.edges": (b"a b 99999999999999gbit\n", "rate is"),
    "cost.edges": (b"a b 0\n", "cost is '0'"),
    "negative.edges": (b"a b -3\n", "cost is '-3'"),
    "digits.edges": ("a b \u0663\n".encode(), "cost is"),
    "long.edges": (b"a b " + b"9" * 5000 + b"\n", "cost is"),
    "loss.edges": (b"a b loss=nan\n", "loss is 'nan'"),
    "one.edges": (b"a b\nc\n", "there is one name, 'c'"),
    "loop.edges": (b"a a\nb b\n", "in 2 pieces"),
    "key.edges": (b"a b colour=red\n", "unknown key 'colour'"),
    "columns.csv": (b"source,target\na,b,c\n", "3 columns under 2"),
    "latin1.edges": ("Z\u00fcrich Bern\n".encode("latin-1"), "not UTF-8"),
    "zero.edges": (b"a\0 b\n", "zero byte"),
    "section.conf": (b"[routers]\n", "unknown section"),
    "outside.conf": (b"a: _\n", "nothing says what this line is"),
    "link.conf": (b"[nodes]\na: _\n[links]\na-b\n", "no link"),
    "bw.conf": (b"[nodes]\na: _\nb: _\n[links]\na:b bw=inf\n", "bw is 'inf'"),
    "loss.conf": (b"[nodes]\na: _\nb: _\n[links]\na:b loss=101\n", "loss is '101'"),
    "word.map": (b"router a\n", "unknown word 'router'"),
    "name.map": (b"node Paris\n", "no name"),
    "place.map": (b"node a 5\n", "two numbers"),
    "text.map": (b'title "x\n', "does not end"),
    "tag.map": (b"node a tags=A!\n", "no tag"),
    "pieces.edges": (b"a b\nc d\nc e\n", "in 2 pieces"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_makes_no_map_is_told_what_is_wrong_with_it(read, name):
    content, told = HOSTILE[name]
    with pytest.raises(MapError) as caught:
        read(name, content)
    assert told in caught.value.message
    assert caught.value.path.endswith(name)
    assert caught.value.expected
    assert len(str(caught.value)) < 700


def test_errors_name_the_line(read):
    for name, text, line in (
        ("x.edges", "a b\n\nb c quick\n", 3),
        ("x.gml", "graph [\nnode [ id 0 ]\nnode [\nlabel 1 ]\n]", 3),
        (
            "x.graphml",
            "<graphml>\n<graph>\n<node id='a'/>\n<edge source='a' target='x'/>\n</graph></graphml>",
            4,
        ),
        ("x.conf", "[nodes]\na: _\n[links]\na:b delay=fast\n", 4),
        ("x.map", "node a\nnode b 1 2 x=y\n", 2),
    ):
        with pytest.raises(MapError) as caught:
            read(name, text)
        assert caught.value.line == line, name


def test_of_a_map_in_pieces_the_largest_can_be_taken(read):
    found = read("x.edges", "a b\nc d\nc e\n", largest=True)
    assert [n.name for n in found.nodes] == ["c", "d", "e"]
    assert "outside of the largest piece" in found.notes[0]


def test_ten_thousand_nodes_are_too_many_and_a_part_of_them_is_not(read):
    text = "".join(f"n{i // 3} n{i + 1}\n" for i in range(10_000))
    with pytest.raises(MapError) as caught:
        read("big.edges", text)
    assert "10,001 nodes" in caught.value.message
    assert "2,000" in caught.value.expected
    assert "--keep" in caught.value.hint
    found = read("big.edges", text, keep=300)
    assert len(found.nodes) == 300


def test_files_that_are_none_are_told_so(tmp_path):
    for path in (tmp_path / "none.gml", tmp_path):
        with pytest.raises(MapError, match="cannot be read"):
            read_map(path)
    large = tmp_path / "large.gml"
    with large.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(MapError, match="too large"):
        read_map(large)


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_are_read_or_refused_and_never_break_the_reader(tmp_path, seed):
    rng = random.Random(seed)
    form = rng.choice(["map", "graphml", "gml", "edges", "minindn"])
    made = make_map("waxman", {"size": 9, "side_km": 100}, 1)
    data = bytearray(exported(made, form).encode())
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(3)) + rng.choice(
            [b"", b"[", b'"', b"<", b"="]
        )
    path = tmp_path / f"x.{'conf' if form == 'minindn' else form}"
    path.write_bytes(data)
    try:
        found = read_map(path)
    except MapError:
        return
    assert {k.a for k in found.links} <= {n.name for n in found.nodes}, f"seed {seed}"


@pytest.mark.parametrize(("told", "x"), [("radius=2,5 angle=0", 2.5), ("radius=2.5 angle=0.0,1.5,0.7", 2.5)])
def test_angles_of_mini_ndn_come_with_decimal_commas_and_in_several_dimensions(read, told, x):
    found = read("x.conf", f"[nodes]\na: _ {told}\n")
    assert found.nodes[0].at == (x, 0.0)
