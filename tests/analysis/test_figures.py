"""What the figures are made of: axes, numbers, places, and the elements of SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures.axes import axis_for, count, duration, share, volume
from analysis.figures.svg import element, number, steps, text
from analysis.findings import QUANTILES, LatencyCurve
from analysis.report.hops import hop_figure
from analysis.report.latency import latency_figure, shades_of
from analysis.report.layout import fitted, layout, moved_apart
from analysis.report.topology import LinkRow, topology_figure
from nodes.wire.packets import Role
from testbed.plan.model import NodePlan, Plan


@pytest.mark.parametrize(
    ("ns", "output"),
    [
        (0, "0 ns"),
        (7, "7 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (123_456, "123 µs"),
        (2_000_000_000, "2 s"),
        (-5_000, "-5 µs"),
    ],
)
def test_durations_are_written_in_the_unit_that_suits_them(ns, output):
    assert duration(ns) == output


def test_counts_and_volumes_are_readable():
    assert count(1234567) == "1\u202f234\u202f567"
    assert [volume(n) for n in (12, 1_230, 45_600_000)] == ["12 B", "1.23 kB", "45.6 MB"]


def test_a_share_never_rounds_a_rest_away():
    output = [share(*of) for of in ((0, 9), (1, 100_000), (1, 3), (99_999, 100_000), (9, 9), (0, 0))]
    assert output == ["0 %", "<0.1 %", "33.3 %", ">99.9 %", "100 %", "\N{EN DASH}"]


@given(st.lists(st.integers(-(10**12), 10**15), min_size=1, max_size=5))
def test_an_axis_shows_all_its_values_and_a_few_ticks(values):
    axis = axis_for(values, 50, 650)
    assert all(50 <= axis.at(v) <= 650 for v in values)
    assert axis.at(min(values)) <= axis.at(max(values))
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 10
    assert all(axis.low <= t <= axis.high for t in ticks)


def test_a_wide_range_is_logarithmic_and_a_narrow_one_is_not():
    assert axis_for([1_000, 1_000_000], 0, 1).logarithmic
    assert not axis_for([1_000, 2_000], 0, 1).logarithmic
    assert not axis_for([0, 1_000_000], 0, 1).logarithmic


def ring(size):
    return [(i, (i + 1) % size, 1.0) for i in range(size)]


def test_the_same_graph_is_drawn_the_same_way():
    assert np.array_equal(layout(9, ring(9)), layout(9, ring(9)))


def test_neighbours_stand_closer_than_strangers():
    places = layout(8, ring(8))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    neighbours = [apart[a, b] for a, b, _ in ring(8)]
    assert max(neighbours) < apart[0, 4] / 1.5
    assert max(neighbours) < 1.2 * min(neighbours)


@pytest.mark.parametrize(
    ("size", "edges"),
    [
        (1, []),
        (2, [(0, 1, 1.0)]),
        (3, [(0, 1, 1.0)]),
        (5, [(0, i, 1.0) for i in range(1, 5)]),
        (4, ring(4)),
        (6, [(i, i + 1, 1.0) for i in range(5)]),
    ],
    ids=["alone", "two", "in two parts", "star", "square", "line"],
)
def test_every_graph_fits_its_frame_with_no_two_nodes_on_top_of_each_other(size, edges):
    places = fitted(layout(size, edges), 400, 300, 20)
    assert np.isfinite(places).all()
    assert (places >= 19.99).all()
    assert (places <= np.array([380.01, 280.01])).all()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(size) * 1e9
    assert apart.min() > 20


def test_svg_escapes_what_it_is_given():
    made = element("text", text("<a & b>"), class_="x", data_name='"<&')
    assert ET.fromstring(made).text == "<a & b>"
    assert ET.fromstring(made).attrib == {"class": "x", "data-name": '"<&'}


def test_coordinates_are_short():
    assert [number(v) for v in (1.0, 1.239, -0.001, 1e5)] == ["1", "1.24", "0", "100000"]
    assert steps([(0.0, 1.0), (2.0, 3.0)]) == "M0 1H2V3"


def curve(hop_count, low, high, deliveries=10):
    return LatencyCurve(
        hop_count, deliveries, deliveries, 0.0, tuple(round(low + q * (high - low)) for q in QUANTILES)
    )


def test_no_deliveries_make_no_figures():
    assert latency_figure([]) is None
    assert hop_figure([]) is None
    assert latency_figure([LatencyCurve(None, 3, 0, 0.0, ()), LatencyCurve(2, 3, 0, 0.0, ())]) is None


@pytest.mark.parametrize("bounds", [(0, 0), (5, 5), (0, 10**9), (100, 10**9), (-50, 50)])
def test_any_latencies_make_a_figure(bounds):
    ET.fromstring(latency_figure([curve(None, *bounds), curve(1, *bounds)]).to_svg())


def test_a_quantile_is_read_off_the_curve():
    seen = curve(None, 0, 200)
    assert [seen.at(q) for q in (0, 0.5, 0.9, 0.99, 1)] == [0, 100, 180, 198, 200]


def test_only_as_many_hop_counts_are_drawn_as_can_be_told_apart():
    many = [curve(None, 0, 9), *(curve(h, 0, 9, deliveries=100 - h) for h in range(1, 20))]
    assert shades_of(many) == {None: "all"} | {h: f"shade-{h}" for h in range(1, 9)}
    assert shades_of(many[:3]) == {None: "all", 1: "shade-3", 2: "shade-7"}


def test_many_hop_counts_are_not_all_named():
    figure = hop_figure([curve(h, 0, 9) for h in range(1, 65)]).to_svg()
    assert ">1<" in figure
    assert ">2<" not in figure


def star(clients):
    names = ["r", *(f"c{i}" for i in range(clients))]
    roles = (Role.ROUTER, *[Role.CLIENT] * clients)
    nodes = tuple(NodePlan(n, i, role, ()) for i, (n, role) in enumerate(zip(names, roles, strict=True), 1))
    links = [LinkRow(f"r-c{i}", "r", f"c{i}", True, i, 0, 0, 1, 60) for i in range(clients)]
    return Plan("star", "", 1, "pif", {}, nodes, ()), links


def test_a_network_of_one_router_is_drawn_with_its_clients():
    drawn = topology_figure(*star(8), harmed={"c3": "1 missing"}).to_svg()
    tree = ET.fromstring(drawn)
    circles = [e.get("class") for e in tree.iter("{http://www.w3.org/2000/svg}circle")]
    assert circles.count("client") == 7
    assert circles.count("client harmed") == 1
    assert "client c3, id 5: 1 missing" in drawn


def test_a_network_too_large_to_see_is_not_drawn():
    assert topology_figure(*star(700), harmed={}) is None


def test_boxes_are_moved_apart_and_others_left_where_they_are():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [8.0, 1.0], [100.0, 100.0]])
    rooms = np.full((4, 2), 5.0)
    moved = moved_apart(points, rooms)
    assert np.array_equal(moved[3], points[3])
    for a in range(4):
        for b in range(a):
            assert (np.abs(moved[a] - moved[b]) >= 2 * rooms[0] - 0.01).any()


def test_the_labels_of_a_dense_network_cover_no_router_and_no_other_label():
    names = [f"router{i}" for i in range(1, 15)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :: 3]]
    nodes = tuple(NodePlan(name, i, Role.ROUTER, ()) for i, name in enumerate(names, 1))
    links = [LinkRow(f"{a}--{b}", a, b, False, 300, 20, 77, 1, 60) for a, b in pairs]
    assert 30 <= len(links) <= 40
    figure = ET.fromstring(
        topology_figure(Plan("dense", "", 1, "pif", {}, nodes, ()), links, harmed={}).to_svg()
    )
    boxes = []
    for group in figure.iter("{http://www.w3.org/2000/svg}g"):
        x, y = map(float, group.get("transform").removeprefix("translate(").rstrip(")").split())
        boxes += [box_of(rect, x, y) for rect in group if rect.get("class") == "router"]
    routers = len(boxes)
    plates = [each for each in figure if each.get("class") == "plate"]
    assert plates
    boxes += [box_of(plate, 0, 0) for plate in plates]
    assert routers == len(names)
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)


def box_of(rect, x, y):
    left, top, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
    return x + left, y + top, x + left + width, y + top + height
