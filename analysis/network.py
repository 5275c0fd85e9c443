"""The network of a run as recorded in its directory: links as edges, homes of clients, what routers hold.

Reads the plan (by way of `analysis.rundir`) and `logs/*.status.json`; packets are
not looked at, and Spark is not known here.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from analysis.oracle import Claim
from analysis.rundir import Run
from fastpath import cover
from nodes.model import parse_predicate
from nodes.scheme_formulas import Figures
from nodes.wire.codec import encode_predicate
from testbed.plan.model import Fault, Impairment, LinkPlan, Plan
from topologies.ideal import Edge

COUNT_BYTES = 4
"""Before the filters of an encoded predicate stands how many they are."""
HELD = ("classes", "tables", "filters", "constraints", "bytes")
"""What a router's status has about its FIB, and the verdict sums up."""

SORTS = ("PCD", "SCD", "MCD")
"""What it has under `bp`, `bs` and `amsp`: publications' descriptors, subscriptions', and matches of them."""


@dataclass(frozen=True, slots=True)
class RouterState:
    """What a router held at the end of the run."""

    name: str
    held: Mapping[str, int]
    """By the words of `HELD`."""
    patterns: Mapping[str, Any] | None = None
    """What it says of the patterns that it recognises, or passes on; None: routers recognise none."""
    descriptors: Mapping[str, int] | None = None
    """How many it held, by the words of `SORTS`; None: the scheme has none."""


def cost_edges(run: Run) -> list[Edge]:
    """The links between routers, by node ids, with their costs."""
    return [(a, b, float(link.cost)) for a, b, link in _router_links(run)]


def delay_edges(run: Run) -> list[Edge]:
    """The same with their delays in nanoseconds, the lesser of both directions; none if one is not known.

    Where the plan leaves a delay open, the simulator has one of its own.
    """
    open_ns = run.plan.timing.hop_delay_ns if run.manifest["world"] == "sim" else None
    traced = {change.target for change in run.plan.traces}
    edges: list[Edge] = []
    for a, b, link in _router_links(run):
        ways = (link.impairment.delay_ns, link.impairment_back.delay_ns)
        delays = [open_ns if delay_ns is None else delay_ns for delay_ns in ways]
        if not all(delays) or link.name in traced:
            return []
        edges.append((a, b, float(min(delay_ns or 0 for delay_ns in delays))))
    return edges


def _router_links(run: Run) -> list[tuple[int, int, LinkPlan]]:
    ids = run.router_ids
    return [(ids[k.a], ids[k.b], k) for k in run.plan.links if {k.a, k.b} <= ids.keys()]


def homes(run: Run) -> dict[int, int]:
    """The router of each client, by ids."""
    routers = run.router_ids
    ends = [(a, b) for link in run.plan.links for a, b in ((link.a, link.b), (link.b, link.a))]
    return {run.client_ids[a]: routers[b] for a, b in ends if a in run.client_ids and b in routers}


def makes_lossy(link: LinkPlan | Fault) -> bool:
    """Whether a link loses packets by plan in one of its directions, or a fault makes it do so."""
    return any(map(_loses, (link.impairment, link.back)))


def lossy_links(plan: Plan) -> set[str]:
    """The links that lose packets by plan, from the beginning, by a fault or by a trace."""
    found = {link.name for link in plan.links if makes_lossy(link)}
    return found | {change.target for change in plan.changes_of_links if makes_lossy(change)}


def _loses(impairment: Impairment | None) -> bool:
    return impairment is not None and bool(impairment.loss or impairment.corrupt or impairment.rate_bps)


def lossy_clients(run: Run) -> list[int]:
    """Clients whose access links lose packets by plan."""
    lossy, ids = lossy_links(run.plan), run.client_ids
    return [ids[link.b] for link in run.plan.links if link.name in lossy and link.b in ids]


def router_states(run: Run) -> list[RouterState]:
    """What the routers held by their last status, in the plan's order; those without one are left out."""
    found = []
    for node in run.plan.routers:
        path = run.path / "logs" / f"{node.name}.status.json"
        if not path.is_file():
            continue
        try:
            core = json.loads(path.read_text(encoding="utf-8"))["core"]
            held = {key: int(core["fib"][key]) for key in HELD}
            descriptors = core.get("descriptors")
            sorts = None if descriptors is None else {sort: int(descriptors[sort]) for sort in SORTS}
            found.append(RouterState(node.name, held, core.get("patterns"), sorts))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # killed as it wrote, or before it had a FIB: the verdict has how many are counted
    return found


def drops_of(run: Run, node: str) -> Counter[str]:
    """What a node dropped by its last status, by reason.

    Raises:
        OSError: It left no status.
        ValueError: It was killed as it wrote it.
    """
    status = json.loads((run.path / "logs" / f"{node}.status.json").read_text(encoding="utf-8"))
    found: Counter[str] = Counter()
    for reason, count in _reasons(status.get("drops")):
        found[reason] += count
    return found


def _reasons(drops: object) -> Iterator[tuple[str, int]]:
    """Drops are counted by part of the node, then by reason."""
    for key, value in drops.items() if isinstance(drops, Mapping) else ():
        if isinstance(value, int):
            yield str(key).lower(), value
        else:
            yield from _reasons(value)


def figures(run: Run, claims: Iterable[Claim], senders: Collection[int]) -> Figures | None:
    """What the paper's formulas ask for; None if nobody sends or nobody wants anything.

    Args:
        run: The run.
        claims: Its subscriptions; those withdrawn again count as well.
        senders: The routers at which messages entered.
    """
    wants = _bits_by_router(claims, homes(run))
    edges = cost_edges(run)
    if not wants or not senders or not edges:
        return None
    degree: dict[int | str, int] = {}
    for end in (end for a, b, _ in edges for end in (a, b)):
        degree[end] = degree.get(end, 0) + 1
    hops = [_hops(edges, sender) for sender in sorted(senders)]
    return Figures(
        n=len(degree),
        s=len(senders),
        r=len(wants),
        predicate_bits=fmean(wants.values()),
        d=fmean(found[receiver] for found in hops for receiver in sorted(wants)),
        delta=max(degree.values()),
        is_tree=len(edges) == len(degree) - 1,
    )


def _bits_by_router(claims: Iterable[Claim], at: Mapping[int, int]) -> dict[int, int]:
    """The size of what the clients of each router want together."""
    parts: dict[int, list[bytes]] = {}
    for claim in claims:
        parts.setdefault(at[claim.subscriber], []).append(encode_predicate(parse_predicate(claim.predicate)))
    reduced = {router: cover.reduce(cover.union(found)) for router, found in parts.items()}
    return {router: 8 * (len(each) - COUNT_BYTES) for router, each in reduced.items()}


def _hops(edges: Iterable[Edge], source: int) -> dict[int | str, int]:
    """The links of the shortest path to each router; of several shortest ones, the fewest."""
    links: dict[int | str, list[tuple[int | str, float]]] = {}
    for a, b, cost in edges:
        links.setdefault(a, []).append((b, cost))
        links.setdefault(b, []).append((a, cost))
    found: dict[int | str, int] = {}
    heap: list[tuple[float, int, int]] = [(0.0, 0, source)]
    while heap:
        length, hops, node = heapq.heappop(heap)
        if node not in found:
            found[node] = hops
            for to, cost in links[node]:
                heapq.heappush(heap, (length + cost, hops + 1, int(to)))
    return found
