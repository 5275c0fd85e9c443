"""The network as a picture: who stands where, what each link carried, who missed something."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from analysis.figures.axes import count
from analysis.figures.svg import Figure, element, number, text
from analysis.report.layout import Points, edges_between, fitted, layout
from analysis.report.tables import LinkRow
from testbed.plan.model import NodePlan, Plan

WIDTH = 1040.0
MARGIN = 56.0
ACCESS_LENGTH = 0.62
"""Clients stand closer to their router than routers to each other."""
LABELLED_LINKS, LABELLED_NODES, DRAWN_NODES = 40, 150, 600
ROOMY_NODES = 30
"""More nodes than these are drawn smaller, on taller paper."""
ROUTER_ROOM = 44.0
"""What two routers take away from the link between them."""
THIN, THICK = 1.25, 9.0
CHARACTER = 6.6
"""Width of a character of a link's label: the font is not known, so an estimate on the wide side."""


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
    places = dict(zip(names, fitted(raw, WIDTH, height, MARGIN).tolist(), strict=True))
    return Figure(
        "topology",
        "The network and what its links carried",
        _told(plan, links),
        WIDTH,
        height,
        _links(links, places) + _nodes(plan, links, places, harmed),
    )


def _height(raw: Points) -> float:
    spread = raw.max(axis=0) - raw.min(axis=0)
    inner = (WIDTH - 2 * MARGIN) * float(spread[1] / max(spread[0], 1e-9))
    tallest = min(600.0 + 5 * max(len(raw) - ROOMY_NODES, 0), 960.0)
    return min(max(inner + 2 * MARGIN, 220.0), tallest)


def _told(plan: Plan, links: Sequence[LinkRow]) -> str:
    routers, clients = len(plan.routers), len(plan.clients)
    between = [k for k in links if not k.access]
    busiest = max(between, key=lambda k: k.messages, default=None)
    most = f" The busiest link, {busiest.name}, carried {busiest.messages} messages." if busiest else ""
    return f"{routers} routers, {clients} clients, {len(between)} links between routers.{most}"


def _links(links: Sequence[LinkRow], places: Mapping[str, Sequence[float]]) -> str:
    most = max((k.messages for k in links), default=0)
    lines = [_line(k, places, most) for k in links]
    between = [k for k in links if not k.access]
    labels = [_label(k, places) for k in between] if len(between) <= LABELLED_LINKS else []
    return "".join(lines) + "".join(labels)


def _line(link: LinkRow, places: Mapping[str, Sequence[float]], most: int) -> str:
    (x1, y1), (x2, y2) = places[link.a], places[link.b]
    width = THIN + (THICK - THIN) * math.sqrt(link.messages / most) if most else THIN
    told = element("title", text(_tooltip(link)))
    kind = "access" if link.access else "trunk"
    style = f"link {kind}" if link.messages else f"link {kind} idle"
    return element("line", told, x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_=style)


def _tooltip(link: LinkRow) -> str:
    wasted = f", {link.wasted} for nothing" if link.wasted else ""
    return f"{link.a} to {link.b}: {link.to_b} messages; {link.b} to {link.a}: {link.to_a}{wasted}"


def _label(link: LinkRow, places: Mapping[str, Sequence[float]]) -> str:
    """The count in the middle of the link, on a plate that keeps the line from crossing it out."""
    (x1, y1), (x2, y2) = places[link.a], places[link.b]
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    carried, wasted = count(link.messages), f" · {count(link.wasted)} wasted" if link.wasted else ""
    half = CHARACTER * len(carried + wasted) / 2 + 5
    if math.dist((x1, y1), (x2, y2)) < 2 * half + ROUTER_ROOM:
        return ""  # It would cover the link and more; the table has the figure.
    plate = element("rect", x=x - half, y=y - 9, width=2 * half, height=18.0, rx=9.0, class_="plate")
    waste = element("tspan", wasted, class_="wasted") if wasted else ""
    return plate + element("text", carried, waste, x=x, y=y + 4, class_="load middle")


def _nodes(
    plan: Plan,
    links: Sequence[LinkRow],
    places: Mapping[str, Sequence[float]],
    harmed: Mapping[str, str],
) -> str:
    """Clients, then routers over them; the more nodes, the smaller each."""
    home = {k.b: k.a for k in links if k.access} | {k.a: k.b for k in links if k.access}
    size = min(1.0, math.sqrt(ROOMY_NODES / len(plan.nodes)))
    named = len(plan.nodes) <= LABELLED_NODES
    clients = [
        _placed(_client(n, places, home, harmed.get(n.name, ""), named), places[n.name], size)
        for n in plan.clients
    ]
    routers = [_placed(_router(n, named), places[n.name], size) for n in plan.routers]
    return "".join(clients) + "".join(routers)


def _placed(drawn: str, place: Sequence[float], size: float) -> str:
    x, y = place
    scaled = f" scale({number(size)})" if size < 1 else ""
    return element("g", drawn, transform=f"translate({number(x)} {number(y)}){scaled}")


def _router(node: NodePlan, named: bool) -> str:
    told = element("title", text(f"router {node.name}, id {node.node_id}"))
    half = max(19.0, 4.2 * len(_short(node.name)) + 8)
    box = element("rect", x=-half, y=-17.0, width=2 * half, height=34.0, rx=9.0, class_="router")
    name = element("text", text(_short(node.name)), y=4.5, class_="router-name middle")
    return told + box + (name if named else "")


def _client(
    node: NodePlan, places: Mapping[str, Sequence[float]], home: Mapping[str, str], wrong: str, named: bool
) -> str:
    said = f"client {node.name}, id {node.node_id}{f': {wrong}' if wrong else ''}"
    dot = element("circle", r=7.0, class_="client harmed" if wrong else "client")
    name = _client_name(node, places[node.name], places.get(home.get(node.name, "")))
    return element("title", text(said)) + dot + (name if named else "")


def _client_name(node: NodePlan, place: Sequence[float], router: Sequence[float] | None) -> str:
    """The name, on the side of the client that faces away from its router."""
    away_x, away_y = (place[0] - router[0], place[1] - router[1]) if router else (0.0, 1.0)
    if abs(away_x) > abs(away_y):
        side, x, y = ("start", 12.0, 4.5) if away_x > 0 else ("end", -12.0, 4.5)
    else:
        side, x, y = "middle", 0.0, 22.0 if away_y > 0 else -13.0
    return element("text", text(_short(node.name)), x=x, y=y, class_=f"client-name {side}")


def _short(name: str) -> str:
    return name if len(name) <= 14 else name[:13] + "…"
