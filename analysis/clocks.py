"""Whose clock is off, and which captures of a link were exchanged: from the delays in both directions.

What is sent cannot arrive before it is sent, nor sooner than the link delays it. So the delays of
a direction bound by how much the receiver's clock may be ahead of the sender's, and those of the
way back by how much it may be behind. Plain Python over a row for each direction of a link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.plan.model import Impairment, LinkPlan, Plan

TOLERANCE_NS = {"sim": 1_000}
OTHER_TOLERANCE_NS = 2_000_000
"""Of worlds on real machines: what a carrier may be early, and two clocks of one machine may differ."""


@dataclass(frozen=True, slots=True)
class Way:
    """A direction of a link: the least and the most time from sending to arrival."""

    link: str
    from_id: int
    to_id: int
    least_ns: int
    most_ns: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """By how much the clock of `b` is ahead of that of `a`: at least and at most."""

    a: int
    b: int
    low_ns: float
    high_ns: float

    def offset_ns(self, of_a_ns: float, tolerance_ns: int) -> float:
        """The offset of `b` if that of `a` is this: none, if that is possible; else about what it is."""
        low_ns, high_ns = of_a_ns + self.low_ns, of_a_ns + self.high_ns
        if low_ns <= tolerance_ns and high_ns >= -tolerance_ns:
            return 0.0
        known = [bound for bound in (low_ns, high_ns) if math.isfinite(bound)]
        return sum(known) / len(known)

    def reversed(self) -> Bounds:
        """The same, seen from the other node."""
        return Bounds(self.b, self.a, -self.high_ns, -self.low_ns)


def ways_of(delays: Mapping[str, Sequence[Any]]) -> list[Way]:
    """The directions of links over which anything arrived, from the columns of table `link_delays`."""
    columns = (delays[name] for name in ("link", "from_id", "to_id", "least_ns", "most_ns"))
    rows = zip(*columns, strict=True)
    return [Way(link or "", a, b, least, most) for link, a, b, least, most in rows if least is not None]


def swapped_ends(ways: Iterable[Way]) -> list[str]:
    """Links whose delays are all negative, in both directions: the captures of their ends were exchanged."""
    negative: dict[str, int] = {}
    for way in ways:
        negative[way.link] = negative.get(way.link, 0) + (way.most_ns < 0)
    return sorted(link for link, directions in negative.items() if directions == 2)


def offsets_ns(ways: Sequence[Way], plan: Plan, world: str, backends: Mapping[str, str]) -> dict[int, int]:
    """The clocks that are off, by node id: by how much they are ahead of what most nodes have.

    Args:
        ways: Of links whose captures are in order.
        plan: Of the run.
        world: It took place in.
        backends: What carried the frames, by the interface that sends.
    """
    tolerance_ns = TOLERANCE_NS.get(world, OTHER_TOLERANCE_NS)
    bounds = list(_bounds(ways, _least_delays(plan, world, backends)))
    if not any(each.offset_ns(0.0, tolerance_ns) for each in bounds):
        return {}
    clients = {node.node_id for node in plan.clients}

    def support(offsets: Mapping[int, float]) -> tuple[int, int, int]:
        right = [node for node, offset in offsets.items() if abs(offset) <= tolerance_ns]
        return len(right), len(clients.intersection(right)), -min(offsets)

    found: dict[int, int] = {}
    tree = _tree(bounds)
    for part in _parts(tree):
        best = max((_propagated(tree, node, tolerance_ns) for node in part), key=support)
        found |= {node: round(offset) for node, offset in best.items() if abs(offset) > tolerance_ns}
    return dict(sorted(found.items()))


def _bounds(ways: Sequence[Way], delays_ns: Mapping[tuple[int, int], int]) -> Iterator[Bounds]:
    least = {(way.from_id, way.to_id): way.least_ns for way in ways}
    for a, b in sorted({(min(pair), max(pair)) for pair in least}):
        there, back = least.get((a, b)), least.get((b, a))
        yield Bounds(
            a,
            b,
            -math.inf if back is None else delays_ns.get((b, a), 0) - back,
            math.inf if there is None else there - delays_ns.get((a, b), 0),
        )


def _tree(bounds: Sequence[Bounds]) -> dict[int, list[Bounds]]:
    """By node: its links in a tree of those that bound the difference of two clocks most closely."""
    near: dict[int, list[Bounds]] = {}
    root: dict[int, int] = {}

    def root_of(node: int) -> int:
        while root.setdefault(node, node) != node:
            node = root[node]
        return node

    for each in sorted(bounds, key=lambda b: (b.high_ns - b.low_ns, b.a, b.b)):
        a, b = root_of(each.a), root_of(each.b)
        if a != b:
            root[b] = a
            near.setdefault(each.a, []).append(each)
            near.setdefault(each.b, []).append(each.reversed())
    return near


def _parts(tree: Mapping[int, Sequence[Bounds]]) -> Iterator[list[int]]:
    """The nodes that are connected with each other."""
    left = dict.fromkeys(tree)
    while left:
        part = [*_propagated(tree, next(iter(left)), 0)]
        for node in part:
            del left[node]
        yield part


def _propagated(tree: Mapping[int, Sequence[Bounds]], right: int, tolerance_ns: int) -> dict[int, float]:
    """The offset of each clock if that of one node is right, and every other as far as possible."""
    offsets, frontier = {right: 0.0}, [right]
    while frontier:
        at = frontier.pop()
        for link in tree[at]:
            if link.b not in offsets:
                offsets[link.b] = link.offset_ns(offsets[at], tolerance_ns)
                frontier.append(link.b)
    return offsets


def _least_delays(plan: Plan, world: str, backends: Mapping[str, str]) -> dict[tuple[int, int], int]:
    """What each direction of a link certainly delays between the two times that are compared."""
    ids = {node.name: node.node_id for node in plan.nodes}
    changed: dict[str, list[tuple[Impairment, Impairment]]] = {}
    for change in plan.changes_of_links:
        there = change.impairment or Impairment()
        changed.setdefault(change.target, []).append((there, change.back or there))
    delays: dict[tuple[int, int], int] = {}
    for link in plan.links:
        both = [(link.impairment, link.impairment_back), *changed.get(link.name, ())]
        for number, (a, b, interface) in enumerate(_ways(link)):
            applied = world == "sim" or backends.get(interface) == "wire"
            least = min(_certain_ns(each[number], plan, world) for each in both) if applied else 0
            delays[ids[a], ids[b]] = least
    return delays


def _ways(link: LinkPlan) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    return (link.a, link.b, link.a_interface), (link.b, link.a, link.b_interface)


def _certain_ns(impairment: Impairment, plan: Plan, world: str) -> int:
    open_ns = plan.timing.hop_delay_ns if world == "sim" else 0
    if impairment.reorder or (impairment.jitter_ns and impairment.jitter_shape != "uniform"):
        return 0
    delay_ns = open_ns if impairment.delay_ns is None else impairment.delay_ns
    return max(delay_ns - impairment.jitter_ns, 0)
