"""Drawings: well-formed, self-contained, alike every time, and nothing over anything else."""

import re
import xml.etree.ElementTree as ET

import pytest

from topologies.drawing import draw_svg
from topologies.drawing.labels import crosses, text_width
from topologies.drawing.picture import LABELLED_UP_TO
from topologies.drawing.placing import WIDTH, Projection, sheet_of
from topologies.generators import make_map
from topologies.library import library_map, map_names
from topologies.map import Map, MapLink, MapNode

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    "line": {"size": 1},
    "full": {"size": 2},
    "ring": {"size": 12},
    "tree": {"size": 40, "branching": 3},
    "torus": {"width": 5, "height": 4},
    "fat-tree": {"k": 4},
    "waxman": {"size": 50},
    "barabasi-albert": {"size": 100},
    "transit-stub": {},
}


SOME_MAPS = [
    *(pytest.param(library_map(name), id=name) for name in map_names()),
    *(pytest.param(make_map(shape, reported, 1), id=shape) for shape, reported in SHAPES.items()),
]


@pytest.mark.parametrize("drawn", SOME_MAPS)
def test_a_drawing_is_well_formed_and_shows_every_router_and_link(drawn):
    text = draw_svg(drawn)
    root = ET.fromstring(text)
    assert root.find(f"{SVG}title").text == (drawn.title or drawn.name)
    assert f"{len(drawn.links)} link" in root.find(f"{SVG}desc").text
    inner = root.find(f"{SVG}g")
    assert len(inner.findall(f"{SVG}circle")) == len(drawn.nodes)
    assert len(inner.find(f"{SVG}g").findall(f"{SVG}path")) == len(drawn.links)
    assert text == draw_svg(drawn)


@pytest.mark.parametrize("drawn", SOME_MAPS)
def test_a_drawing_needs_nothing_else_and_harms_no_page(drawn):
    text = draw_svg(drawn)
    assert not re.search(r"href|url\(|<script|@import|\bid=", text)
    style = re.search(r"<style>(.*)</style>", text)[1]
    rules = re.sub(r"@media\([^)]*\)", "", style)
    selectors = [s for rule in re.findall(r"([^{}]+)\{", rules) for s in rule.split(",")]
    assert all(s.startswith(".cbn-map") for s in selectors)
    assert "prefers-color-scheme:dark" in style
    assert not re.search(r"\b(nan|inf)\b", text)


@pytest.mark.parametrize("drawn", SOME_MAPS)
def test_labels_lie_on_no_other_label_and_on_the_sheet(drawn):
    inner = ET.fromstring(draw_svg(drawn)).find(f"{SVG}g")
    size = 12.0 if len(drawn.nodes) <= 40 else 10.0 if len(drawn.nodes) <= 120 else 7.5
    boxes = []
    for text in inner.findall(f"{SVG}text"):
        own = 9 if text.get("class") == "delay" else size
        half, x, y = text_width(text.text, own) / 2, float(text.get("x")), float(text.get("y")) - own * 0.34
        boxes.append((x - half, y - own / 2, x + half, y + own / 2, text.text))
    for i, (left, top, right, bottom, name) in enumerate(boxes):
        assert left > 0, name
        assert right < WIDTH, name
        for other in boxes[i + 1 :]:
            apart = left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom
            assert apart, f"{name} lies on {other[4]}"


def test_at_least_nine_of_ten_labels_of_small_maps_find_room():
    for name in ("abilene", "arpanet", "geant", "internet2", "nsfnet", "janet"):
        drawn = library_map(name)
        root = ET.fromstring(draw_svg(drawn))
        labels = [t for t in root.find(f"{SVG}g").findall(f"{SVG}text") if t.get("class") != "delay"]
        assert len(labels) >= 0.9 * len(drawn.nodes), name


@pytest.mark.parametrize("drawn", SOME_MAPS)
def test_no_router_stands_on_another(drawn):
    sheet = sheet_of(drawn)
    places = sorted(sheet.at.values())
    for i, a in enumerate(places):
        for b in places[i + 1 :]:
            assert (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 > sheet.radius**2
    assert all(0 < x < sheet.width and 0 < y < sheet.height for x, y in places)


def test_north_is_up_and_east_is_right():
    sheet = sheet_of(library_map("abilene"))
    at = sheet.at
    assert at["seattle"][1] < at["losangel"][1]
    assert at["seattle"][0] < at["chicago"][0] < at["newyork"][0]


def test_links_over_the_pacific_leave_the_sheet_on_one_side_and_come_in_on_the_other():
    root = ET.fromstring(draw_svg(library_map("world")))
    paths = {p.find(f"{SVG}title").text.split(":")[0]: p.get("d") for p in root.iter(f"{SVG}path") if len(p)}
    over = paths["tokyo \u2013 seattle"]
    assert over.count("M") == 2
    assert re.search(r"L0\.0 ", over)
    assert re.search(r"L960\.0 ", over)
    assert paths["newyork \u2013 london"].count("M") == 1


def test_maps_across_the_date_line_are_not_torn():
    view = Projection.of([(0, 175), (5, -175), (2, 179)])
    assert view.span == pytest.approx(10)
    assert view.at((0, 175))[0] < view.at((2, 179))[0] < view.at((5, -175))[0]


def test_routers_without_a_place_stand_beside_their_neighbours():
    nodes = (MapNode("a", place=(50, 0)), MapNode("b", place=(50, 10)), MapNode("c"), MapNode("d"))
    links = (MapLink("a", "b"), MapLink("b", "c"), MapLink("b", "d"))
    at = sheet_of(Map("x", nodes, links)).at
    for name in ("c", "d"):
        assert abs(at[name][0] - at["b"][0]) < abs(at[name][0] - at["a"][0])


def test_one_place_for_all_is_no_trouble():
    nodes = tuple(MapNode(f"r{i}", place=(50.0, 8.0)) for i in range(5))
    links = tuple(MapLink("r0", f"r{i}") for i in range(1, 5))
    at = sheet_of(Map("x", nodes, links)).at
    assert len({(round(x), round(y)) for x, y in at.values()}) == 5


def test_texts_cannot_break_out_of_the_picture():
    evil = '<script>alert("x")</script>'
    drawn = Map("x", (MapNode("a", evil), MapNode("b")), (MapLink("a", "b"),), title=evil)
    text = draw_svg(drawn)
    ET.fromstring(text)
    assert "<script" not in text


def test_large_maps_are_drawn_without_labels():
    drawn = make_map("barabasi-albert", {"size": 600}, 1)
    text = draw_svg(drawn)
    assert len(drawn.nodes) > LABELLED_UP_TO
    assert "600 labels are shown on hovering" in text


@pytest.mark.parametrize(
    ("segment", "hit"),
    [
        (((0, 0), (10, 10)), True),
        (((0, 0), (3, 10)), False),
        (((5, 5), (5, 5)), True),
        (((0, 8), (20, 8)), False),
    ],
)
def test_lines_enter_boxes_or_do_not(segment, hit):
    assert crosses(segment, (4, 4, 6, 6)) is hit
