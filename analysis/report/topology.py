"""The drawing of the network: routers, clients, and what each link carried.

Not here: where the nodes stand (`layout`), and the counting of what links carried (`network`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.figures.axes import count
from analysis.figures.svg import Figure, element, number, text
from analysis.report.layout import Points, edges_between, fitted, layout, moved_apart
from testbed.plan.model import NodePlan, Plan
from topologies.quantities import how_many

WIDTH = 1040.0
MARGIN = 56.0
ACCESS_LENGTH = 0.62
"""Clients stand closer to their router than routers to each other."""
LABELLED_LINKS, LABELLED_NODES, DRAWN_NODES = 40, 150, 600
ROOMY_NODES = 30
"""More nodes than these are drawn smaller, on taller paper."""
ROUTER_HALF, CLIENT_ROOM, PLATE_HALF = 17.0, 10.0, 9.0
"""Half the heights of a router, of what a client takes, and of a label."""
LABEL_PLACES = (0.5, 0.4, 0.6, 0.3, 0.7)
"""Where on a link its label may be, the best place first."""
THIN, THICK = 1.25, 9.0
CHARACTER = 6.6
"""Width of a character of a link's label: the font is not known, so an estimate on the wide side."""


@dataclass(frozen=True, slots=True)
class LinkRow:
    """What one link carried. For an access link, `b` is the client."""

    name: str
    a: str
    b: str
    access: bool
    to_b: int
    to_a: int
    wasted: int
    control_packets: int
    control_bytes: int

    @property
    def messages(self) -> int:
        """In both directions."""
        return self.to_a + self.to_b


def topology_figure(plan: Plan, links: Sequence[LinkRow], harmed: Mapping[str, str]) -> Figure | None:
    """The drawing; None of a network too large for one.

    Args:
        plan: whose nodes are drawn.
        links: what each link carried.
        harmed: what went wrong, by name of the client.
    """
    nodes = plan.nodes
    if not nodes or len(nodes) > DRAWN_NODES:
        return None
    names = [n.name for n in nodes]
    lengths = {(k.a, k.b): ACCESS_LENGTH if k.access else 1.0 for k in links}
    raw = layout(len(nodes), edges_between(names, lengths))
    height = _height(raw)
    apart = moved_apart(fitted(raw, WIDTH, height, MARGIN), _rooms(plan))
    places = dict(zip(names, apart.tolist(), strict=True))
    return Figure(
        "topology",
        "The network and what its links carried",
        _description(plan, links),
        WIDTH,
        height,
        _links(plan, links, places) + _nodes(plan, links, places, harmed),
    )


def _rooms(plan: Plan) -> Points:
    """Half the width and height that each node takes."""
    size = _size(plan)
    routers = {n.name: (_half_width(n) + 4, ROUTER_HALF + 4) for n in plan.routers}
    return size * np.array([routers.get(n.name, (CLIENT_ROOM, CLIENT_ROOM)) for n in plan.nodes])


def _height(raw: Points) -> float:
    spread = raw.max(axis=0) - raw.min(axis=0)
    inner = (WIDTH - 2 * MARGIN) * float(spread[1] / max(spread[0], 1e-9))
    tallest = min(600.0 + 5 * max(len(raw) - ROOMY_NODES, 0), 960.0)
    return min(max(inner + 2 * MARGIN, 220.0), tallest)


def _description(plan: Plan, links: Sequence[LinkRow]) -> str:
    nodes = f"{how_many(len(plan.routers), 'router')}, {how_many(len(plan.clients), 'client')}"
    between = [k for k in links if not k.access]
    busiest = max(between, key=lambda k: k.messages, default=None)
    most = f" The busiest link, {busiest.name}, carried {busiest.messages} messages." if busiest else ""
    return f"{nodes}, {how_many(len(between), 'link')} between routers.{most}"


def _links(plan: Plan, links: Sequence[LinkRow], places: Mapping[str, Sequence[float]]) -> str:
    most = max((k.messages for k in links), default=0)
    ids = {n.name: n.node_id for n in plan.nodes}
    lines = [_line(k, places, most, f"{ids[k.a]} {ids[k.b]}") for k in links]
    between = [k for k in links if not k.access]
    labels = _labels(plan, between, places) if len(between) <= LABELLED_LINKS else []
    return "".join(lines) + "".join(labels)


def _labels(plan: Plan, links: Sequence[LinkRow], places: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """The labels that cover neither a node nor another label, those of the busiest links first."""
    size, ids = _size(plan), {n.name: n.node_id for n in plan.nodes}
    taken = [_box(places[n.name], size * _half_width(n), size * ROUTER_HALF) for n in plan.routers]
    taken += [_box(places[n.name], size * CLIENT_ROOM, size * CLIENT_ROOM) for n in plan.clients]
    if len(plan.nodes) <= LABELLED_NODES:
        homes = {k.b: places[k.a] for k in plan.links} | {k.a: places[k.b] for k in plan.links}
        taken += [_name_box(n, places[n.name], homes.get(n.name), size) for n in plan.clients]
    for link in sorted(links, key=lambda k: -k.messages):
        (x1, y1), (x2, y2) = places[link.a], places[link.b]
        half = _label_half(link)
        for part in LABEL_PLACES:
            x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1)
            box = _box((x, y), half, PLATE_HALF)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield _label(link, x, y, f"{ids[link.a]} {ids[link.b]}")
                break


Box = tuple[float, float, float, float]


def _box(middle: Sequence[float], half_width: float, half_height: float) -> Box:
    x, y = middle
    return x - half_width, y - half_height, x + half_width, y + half_height


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _line(link: LinkRow, places: Mapping[str, Sequence[float]], most: int, ends: str) -> str:
    (x1, y1), (x2, y2) = places[link.a], places[link.b]
    width = THIN + (THICK - THIN) * math.sqrt(link.messages / most) if most else THIN
    title = element("title", text(_tooltip(link)))
    kind = "access" if link.access else "trunk"
    style = f"link {kind}" if link.messages else f"link {kind} idle"
    return element(
        "line", title, x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_=style, data_link=ends
    )


def _tooltip(link: LinkRow) -> str:
    wasted = f", {link.wasted} for nothing" if link.wasted else ""
    return f"{link.a} to {link.b}: {link.to_b} messages; {link.b} to {link.a}: {link.to_a}{wasted}"


def _wasted_text(link: LinkRow) -> str:
    return f" · {count(link.wasted)} wasted" if link.wasted else ""


def _label_half(link: LinkRow) -> float:
    return CHARACTER * len(count(link.messages) + _wasted_text(link)) / 2 + 5


def _label(link: LinkRow, x: float, y: float, ends: str) -> str:
    """The count, on a plate that keeps the line from crossing it out."""
    half, height = _label_half(link), 2 * PLATE_HALF
    place = {"x": x - half, "y": y - PLATE_HALF, "width": 2 * half, "height": height}
    plate = element("rect", **place, rx=9.0, class_="plate")
    wasted = _wasted_text(link)
    waste = element("tspan", wasted, class_="wasted") if wasted else ""
    return plate + element(
        "text", count(link.messages), waste, x=x, y=y + 4, class_="load middle", data_link=ends
    )


def _nodes(
    plan: Plan,
    links: Sequence[LinkRow],
    places: Mapping[str, Sequence[float]],
    harmed: Mapping[str, str],
) -> str:
    """Clients, then routers over them; the more nodes, the smaller each."""
    home = {k.b: k.a for k in links if k.access} | {k.a: k.b for k in links if k.access}
    size = _size(plan)
    named = len(plan.nodes) <= LABELLED_NODES
    clients = [
        _placed(_client(n, places, home, harmed.get(n.name, ""), named), places[n.name], size, n)
        for n in plan.clients
    ]
    routers = [_placed(_router(n, named), places[n.name], size, n) for n in plan.routers]
    return "".join(clients) + "".join(routers)


def _size(plan: Plan) -> float:
    """How large nodes are drawn."""
    return min(1.0, math.sqrt(ROOMY_NODES / len(plan.nodes)))


def _half_width(router: NodePlan) -> float:
    return max(19.0, 4.2 * len(_short(router.name)) + 8)


def _placed(drawn: str, place: Sequence[float], size: float, node: NodePlan) -> str:
    x, y = place
    scaled = f" scale({number(size)})" if size < 1 else ""
    where = f"translate({number(x)} {number(y)}){scaled}"
    return element("g", drawn, transform=where, data_node=node.node_id)


def _router(node: NodePlan, named: bool) -> str:
    title = element("title", text(f"router {node.name}, id {node.node_id}"))
    half, height = _half_width(node), 2 * ROUTER_HALF
    box = element("rect", x=-half, y=-ROUTER_HALF, width=2 * half, height=height, rx=9.0, class_="router")
    name = element("text", text(_short(node.name)), y=4.5, class_="router-name middle")
    return title + box + (name if named else "")


def _client(
    node: NodePlan, places: Mapping[str, Sequence[float]], home: Mapping[str, str], wrong: str, named: bool
) -> str:
    about = f"client {node.name}, id {node.node_id}{f': {wrong}' if wrong else ''}"
    dot = element("circle", r=7.0, class_="client harmed" if wrong else "client")
    name = _client_name(node, places[node.name], places.get(home.get(node.name, "")))
    return element("title", text(about)) + dot + (name if named else "")


def _name_place(place: Sequence[float], router: Sequence[float] | None) -> tuple[str, float, float]:
    """Where a client's name is, as seen from the client: on the side that faces away from its router."""
    away_x, away_y = (place[0] - router[0], place[1] - router[1]) if router else (0.0, 1.0)
    if abs(away_x) > abs(away_y):
        return ("start", 12.0, 4.5) if away_x > 0 else ("end", -12.0, 4.5)
    return "middle", 0.0, 22.0 if away_y > 0 else -13.0


def _client_name(node: NodePlan, place: Sequence[float], router: Sequence[float] | None) -> str:
    side, x, y = _name_place(place, router)
    return element("text", text(_short(node.name)), x=x, y=y, class_=f"client-name {side}")


def _name_box(node: NodePlan, place: Sequence[float], router: Sequence[float] | None, size: float) -> Box:
    side, x, y = _name_place(place, router)
    half = CHARACTER * len(_short(node.name)) / 2
    middle = x + {"start": half, "end": -half, "middle": 0.0}[side]
    return _box((place[0] + size * middle, place[1] + size * (y - 4)), size * half, size * 7)


def _short(name: str) -> str:
    return name if len(name) <= 14 else name[:13] + "…"
