"""The section about the network: its picture (`topology`) and what each link carried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from analysis.findings import CrossingCounts, Findings
from analysis.report.overview import subscriber_rows
from analysis.report.section import Data, Section
from analysis.report.topology import LinkRow, topology_figure
from nodes.wire.packets import PacketType


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
        "ids": {n.name: n.node_id for n in findings.run.plan.nodes},
        "idle": not all(k.messages for k in links),
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
<span><i class="key line"></i>link between routers: the wider, the more messages; the number counts both
directions</span>
<span><i class="key line access"></i>link of a client</span>
{% if idle %}
<span><i class="key line idle"></i>carried no message</span>
{% endif %}
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
<tr data-link="{{ ids[k.a] }} {{ ids[k.b] }}"><th scope="row">{{ k.a }} &#8211; {{ k.b }}</th>
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
