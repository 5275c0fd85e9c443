"""Maps from files: every format with what is met in it."""

import pytest

from topologies.errors import MapError
from topologies.map import MapLink, delay_of_km, distance_km

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
    reported = [(k.a, k.b, k.delay_ns, k.rate_bps, k.cost) for k in found.links]
    assert reported == [
        ("a", "b", 5_000_000, None, 1),
        ("b", "c", None, None, 3),
        ("c", "d", 10**9, 10_000_000, 2),
    ]


def test_labels_with_spaces_stand_in_quotes_between_commas(read):
    found = read("x.csv", '"New York","Los Angeles",70ms\n"Los Angeles","New Orleans",30ms\n')
    assert [n.name for n in found.nodes] == ["newyork", "losangele", "neworlean"]
    assert found.nodes[0].label == "New York"


@pytest.mark.parametrize(
    ("reported", "x"), [("radius=2,5 angle=0", 2.5), ("radius=2.5 angle=0.0,1.5,0.7", 2.5)]
)
def test_angles_of_mini_ndn_come_with_decimal_commas_and_in_several_dimensions(read, reported, x):
    found = read("x.conf", f"[nodes]\na: _ {reported}\n")
    assert found.nodes[0].at == (x, 0.0)
