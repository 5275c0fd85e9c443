"""The rows of the report's tables: who got what, what each link carried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.findings import CrossingCounts, Findings, SubscriberCounts
from nodes.wire.packets import PacketType


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


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    """A client's counts under its name."""

    name: str
    counts: SubscriberCounts
    published: int


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


def subscriber_rows(findings: Findings) -> list[SubscriberRow]:
    """One row a client of the plan, also of those that were owed nothing."""
    counted = {s.subscriber: s for s in findings.subscribers}
    published = _published(findings)
    ids = findings.run.client_ids
    names = {**{s: f"node {s}" for s in counted}, **{i: name for name, i in ids.items()}}
    return [
        SubscriberRow(name, counted.get(i, SubscriberCounts(i, *[0] * 8)), published[name])
        for i, name in sorted(names.items())
    ]


def _published(findings: Findings) -> Counter[str]:
    counts: Counter[str] = Counter()
    peers = {c.interface.name: c.peer.name for c in findings.run.captures}
    for t in findings.traffic:
        if not t.sent and t.type == PacketType.MESSAGE:
            counts[peers[t.interface]] += t.packets
    return counts
