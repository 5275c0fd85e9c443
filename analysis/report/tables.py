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
    ids = {n.name: n.node_id for n in findings.run.nodes}
    clients = findings.run.client_ids
    to_b: Counter[str] = Counter()
    to_a: Counter[str] = Counter()
    control: Counter[str] = Counter()
    size: Counter[str] = Counter()
    by_interface = {i.interface: i for i in findings.run.interfaces}
    ends = {k.name: k for k in findings.run.links}
    for t in findings.traffic:
        interface = by_interface[t.interface]
        if t.type != PacketType.MESSAGE:
            control[interface.link] += t.packets
            size[interface.link] += t.bytes
        elif (interface.node == ends[interface.link].a) is t.sent:
            to_b[interface.link] += t.packets
        else:
            to_a[interface.link] += t.packets
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
        for k in findings.run.links
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
    ids = dict(findings.run.client_ids.items())
    names = {**{s: f"node {s}" for s in counted}, **{i: name for name, i in ids.items()}}
    return [
        SubscriberRow(name, counted.get(i, SubscriberCounts(i, *[0] * 8)), published[name])
        for i, name in sorted(names.items())
    ]


def _published(findings: Findings) -> Counter[str]:
    counts: Counter[str] = Counter()
    for interface in findings.run.interfaces:
        counts[interface.peer] += sum(
            t.packets
            for t in findings.traffic
            if t.interface == interface.interface and not t.sent and t.type == PacketType.MESSAGE
        )
    return counts
