"""The section about the network: a picture of it, what each link carried, which clients missed something."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.figures.axes import count
from analysis.figures.svg import Figure, element, number, text
from analysis.findings import CrossingCounts, Findings
from analysis.report.layout import Points, edges_between, fitted, layout
from analysis.report.overview import subscriber_rows
from analysis.report.section import Data, Section
from nodes.wire.packets import PacketType
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


def link_rows(findings: Findings) -> list[LinkRow]:
    """One row a link, in the plan's order."""
    plan = findings.run.plan
    ids = {n.name: n.node_id for n in plan.nodes}
    clients = findings.run.client_ids
    to_b: Counter[str] = Counter()
    to_a: Counter[str] = Counter()
    control: Counter[str] = Counter()
    size: Counter[str] = Counter()
    captured = {c.interface.name: (c.node, plan.links[c.interface.link]) for c in findings.run.captures}
    for t in findings.traffic:
        node, link = captured[t.interface]
        if t.type != PacketType.MESSAGE:
            control[link.name] += t.packets
            size[link.name] += t.bytes
        elif (node.name == link.a) is t.sent:
            to_b[link.name] += t.packets
        else:
            to_a[link.name] += t.packets
    wasted = _wasted(findings.crossings)
    return [
        LinkRow(
            k.name,
            k.a,
            k.b,
            k.a in clients or k.b in clients,
            to_b[k.name],
            to_a[k.name],
            wasted[frozenset((ids[k.a], ids[k.b]))],
            control[k.name],
            size[k.name],
        )
        for k in plan.links
    ]


def _wasted(crossings: Sequence[CrossingCounts]) -> Counter[frozenset[int]]:
    counts: Counter[frozenset[int]] = Counter()
    for crossing in crossings:
        counts[frozenset((crossing.from_id, crossing.to_id))] += crossing.wasted
    return counts


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
        _description(plan, links),
        WIDTH,
        height,
        _links(links, places) + _nodes(plan, links, places, harmed),
    )


def _height(raw: Points) -> float:
    spread = raw.max(axis=0) - raw.min(axis=0)
    inner = (WIDTH - 2 * MARGIN) * float(spread[1] / max(spread[0], 1e-9))
    tallest = min(600.0 + 5 * max(len(raw) - ROOMY_NODES, 0), 960.0)
    return min(max(inner + 2 * MARGIN, 220.0), tallest)


def _description(plan: Plan, links: Sequence[LinkRow]) -> str:
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
    title = element("title", text(_tooltip(link)))
    kind = "access" if link.access else "trunk"
    style = f"link {kind}" if link.messages else f"link {kind} idle"
    return element("line", title, x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_=style)


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
    title = element("title", text(f"router {node.name}, id {node.node_id}"))
    half = max(19.0, 4.2 * len(_short(node.name)) + 8)
    box = element("rect", x=-half, y=-17.0, width=2 * half, height=34.0, rx=9.0, class_="router")
    name = element("text", text(_short(node.name)), y=4.5, class_="router-name middle")
    return title + box + (name if named else "")


def _client(
    node: NodePlan, places: Mapping[str, Sequence[float]], home: Mapping[str, str], wrong: str, named: bool
) -> str:
    about = f"client {node.name}, id {node.node_id}{f': {wrong}' if wrong else ''}"
    dot = element("circle", r=7.0, class_="client harmed" if wrong else "client")
    name = _client_name(node, places[node.name], places.get(home.get(node.name, "")))
    return element("title", text(about)) + dot + (name if named else "")


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


def _harmed(findings: Findings) -> dict[str, str]:
    """What went wrong, by name of the client."""
    harmed = {}
    for s in subscriber_rows(findings):
        counts = {kind: getattr(s.counts, kind) for kind in ("missing", "duplicate", "spurious")}
        if any(counts.values()):
            harmed[s.name] = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    return harmed


def _data(findings: Findings, _verdict: Data) -> Data:
    links = link_rows(findings)
    figure = topology_figure(findings.run.plan, links, _harmed(findings))
    return {
        "figure": figure and Markup(figure.to_svg()),
        "between": [k for k in links if not k.access],
        "access": [k for k in links if k.access],
        "crossings": sum(k.messages for k in links if not k.access),
    }


SECTION = Section(
    "network",
    "The network",
    """
{% if figure %}
<figure>
<div class="scroll">{{ figure }}</div>
<figcaption>
<span><i class="key router"></i>router</span>
<span><i class="key client"></i>client</span>
<span><i class="key client harmed"></i>client with a fault</span>
<span><i class="key line"></i>the wider, the more messages; the number counts both directions</span>
</figcaption>
</figure>
{% else %}
<p class="note">A network of {{ findings.run.plan.nodes | length }} nodes is not drawn;
the table below has all its links.</p>
{% endif %}
<p class="note">A crossing is wasted if no delivery descends from it.
{{ verdict.wasted_crossings | count }} of {{ crossings | count }} crossings
({{ verdict.wasted_crossings | share(crossings) }}) were;
the protocols themselves sent {{ verdict.control.packets | count }} packets,
{{ verdict.control.bytes | volume }}.</p>
{% call table("Links between routers", ["Link", "#Messages", "#→", "#←", "#Wasted", "#of them",
                                        "#Control packets", "#bytes"]) %}
{% for k in between %}
<tr><th scope="row">{{ k.a }} &#8211; {{ k.b }}</th>
{{- number(k.messages) }}{{ number(k.to_b) }}{{ number(k.to_a) }}
{{- number(k.wasted) }}{{ cell(k.wasted | share(k.messages)) }}{{ number(k.control_packets) }}
{{- cell(k.control_bytes | volume) }}</tr>
{% else %}
<tr><td colspan="8">None: there is one router.</td></tr>
{% endfor %}
{% endcall %}
<details>
<summary>Access links</summary>
{% call table("", ["Link", "#Messages", "#→", "#←", "#Control packets", "#bytes"]) %}
{% for k in access %}
<tr><th scope="row">{{ k.a }} &#8211; {{ k.b }}</th>
{{- number(k.messages) }}{{ number(k.to_b) }}{{ number(k.to_a) }}
{{- number(k.control_packets) }}{{ cell(k.control_bytes | volume) }}</tr>
{% endfor %}
{% endcall %}
</details>
""",
    _data,
)
