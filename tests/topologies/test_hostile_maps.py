"""Files that mean no good, and files that are too much."""

import random

import pytest

from topologies.errors import MapError
from topologies.exporters import exported
from topologies.generators import make_map
from topologies.importers import read_map

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
    "outside.conf": (b"a: _\n", "this line is in no section"),
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
def test_a_file_that_makes_no_map_is_refused_with_what_is_wrong_with_it(read, name):
    content, reported = HOSTILE[name]
    with pytest.raises(MapError) as caught:
        read(name, content)
    assert reported in caught.value.message
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


def test_what_is_no_file_is_refused(tmp_path):
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
