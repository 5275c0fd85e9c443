"""The tables `hops`, `link_delays`, `control` and `trees`, by docs/tables.md and docs/analysis.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tests.judge.judging.packets import CONTROL, MESSAGE, PAD, SEAL
from tests.judge.judging.run import Run
from tests.judge.judging.tables import Id, Tables

Hop = tuple[int, int, int, int, int]
"""A message, from which node to which it went, and when it was sent."""
Way = tuple[int, int]
SHARES = {"min_ns": 0.0, "p10_ns": 0.1, "p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "max_ns": 1.0}
TO_GET = ("delivered", "duplicate", "missing", "unknown")


@dataclass(frozen=True, slots=True)
class Links:
    """All of them; rows by key."""

    hops: Mapping[Hop, dict[str, Any]]
    delays: Mapping[Way, dict[str, Any]]
    control: Mapping[str, list[tuple[int, int]]]
    """By link: packets and bytes of each kind, ascending."""
    trees: Mapping[Id, dict[str, Any]]


def links_of(run: Run, tables: Tables) -> Links:
    """The tables of a run."""
    hops = dict(_hops(run, tables))
    return Links(hops, _delays(run, hops), _control(run), dict(_trees(run, tables)))


def _ends(run: Run) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for link in run.plan["links"]:
        a, b = run.ids[link["a"]], run.ids[link["b"]]
        yield a, b, link
        yield b, a, link


def _homes(run: Run) -> dict[int, int]:
    clients = set(run.clients.values())
    return {a: b for a, b, _ in _ends(run) if a in clients}


def _hops(run: Run, tables: Tables) -> Iterator[tuple[Hop, dict[str, Any]]]:
    came = _arrivals(tables)
    for (source, sequence, a, b, hop), passage in tables.crossings.items():
        if passage.copies and not passage.access:
            since = came.get((source, sequence, a, hop))
            yield _hop((source, sequence, a, b), passage.time_ns, passage.received_ns, since)
    homes = _homes(run)
    for (source, sequence), p in tables.publications.items():
        if source in homes:
            sent_ns = p.announced_ns if p.publish_time_ns is None else p.publish_time_ns
            yield _hop((source, sequence, source, homes[source]), sent_ns, p.time_ns, None)
    reported: dict[tuple[int, int, int], int] = {}
    for event in run.of("deliver"):
        pair = event["source"], event["sequence"], run.clients[event["node"]]
        reported[pair] = min(event["time_ns"], reported.get(pair, event["time_ns"]))
    for (source, sequence, client), d in tables.deliveries.items():
        since = came.get((source, sequence, d.node, d.hop_count))
        received_ns = reported.get((source, sequence, client))
        yield _hop((source, sequence, d.node, client), d.time_ns, received_ns, since)


def _arrivals(tables: Tables) -> dict[tuple[int, int, int, int], int]:
    """When each message first came to a router, by the hop count with which it leaves it."""
    found: dict[tuple[int, int, int, int], int] = {}
    came = [
        ((source, sequence, b, hop + 1), passage.received_ns)
        for (source, sequence, _, b, hop), passage in tables.crossings.items()
    ]
    came += [
        ((*key, p.node or 0, (p.hop_count or 0) + 1), p.time_ns) for key, p in tables.publications.items()
    ]
    for place, time_ns in came:
        if time_ns is not None:
            found[place] = min(time_ns, found.get(place, time_ns))
    return found


def _hop(
    way: tuple[int, int, int, int], sent_ns: int | None, received_ns: int | None, since_ns: int | None
) -> tuple[Hop, dict[str, Any]]:
    assert sent_ns is not None, "somebody says so"
    return (*way, sent_ns), {
        "received_ns": received_ns,
        "delay_ns": None if received_ns is None else received_ns - sent_ns,
        "waited_ns": None if since_ns is None else sent_ns - since_ns,
    }


def _delays(run: Run, hops: Mapping[Hop, dict[str, Any]]) -> dict[Way, dict[str, Any]]:
    sent: Counter[Way] = Counter()
    delays: dict[Way, list[int]] = {}
    for (_, _, a, b, _), row in hops.items():
        sent[a, b] += 1
        delays.setdefault((a, b), []).extend([row["delay_ns"]] if row["delay_ns"] is not None else [])
    control = _control_delays(run)
    names = {(a, b): link["name"] for a, b, link in _ends(run)}
    rows = {}
    for way in {*sent, *control}:
        known = sorted(delays.get(way, []))
        both = [*known, *control.get(way, [])]
        rows[way] = {
            "link": names.get(way),
            "sent": sent[way],
            "arrived": len(known),
            **{name: _quantile(known, share) for name, share in SHARES.items()},
            "least_ns": min(both, default=None),
            "most_ns": max(both, default=None),
        }
    return rows


def _quantile(ascending: Sequence[int], share: float) -> int | None:
    return ascending[max(1, math.ceil(share * len(ascending))) - 1] if ascending else None


def _control_delays(run: Run) -> dict[Way, list[int]]:
    """Of CONTROL packets between routers, from the first sending to the first arrival."""
    times: dict[tuple[Any, ...], dict[bool, int]] = {}
    for sight in run.captures.sights:
        if sight.packet.type == CONTROL and not sight.at_client:
            way = (sight.node, sight.peer) if sight.sent else (sight.peer, sight.node)
            packet = sight.packet
            ends = times.setdefault((way, packet.incarnation, packet.peer_incarnation, packet.sequence), {})
            ends[sight.sent] = min(sight.time_ns, ends.get(sight.sent, sight.time_ns))
    found: dict[Way, list[int]] = {}
    for (way, *_), ends in times.items():
        found.setdefault(way, []).extend([ends[False] - ends[True]] if len(ends) > 1 else [])
    return found


def _control(run: Run) -> dict[str, list[tuple[int, int]]]:
    names = {(a, b): link["name"] for a, b, link in _ends(run)}
    packets: Counter[tuple[str, int, int | None]] = Counter()
    size: Counter[tuple[str, int, int | None]] = Counter()
    for sight in run.captures.sights:
        if sight.packet.type not in (MESSAGE, PAD, SEAL) and (sight.sent or sight.at_client):
            key = (names[sight.node, sight.peer], sight.packet.type, sight.packet.kind)
            packets[key] += 1
            size[key] += sight.packet.size
    found: dict[str, list[tuple[int, int]]] = {}
    for key, count in packets.items():
        found.setdefault(key[0], []).append((count, size[key]))
    return {link: sorted(loads) for link, loads in found.items()}


def _trees(run: Run, tables: Tables) -> Iterator[tuple[Id, dict[str, Any]]]:
    homes = _homes(run)
    routers = {n["node_id"] for n in run.plan["nodes"] if n["role"] == "router"}
    costs = {(a, b): link["cost"] for a, b, link in _ends(run) if {a, b} <= routers}
    wanted: dict[Id, set[int]] = {}
    for (source, sequence, client), row in tables.verdicts.items():
        if row.verdict in TO_GET:
            wanted.setdefault((source, sequence), set()).add(homes[client])
    sums: Counter[tuple[Id, bool]] = Counter()
    for (source, sequence, *_), passage in tables.crossings.items():
        if not passage.access:
            sums[(source, sequence), passage.wasted] += passage.copies
    sizes: dict[tuple[int, frozenset[int]], int] = {}
    for key, p in tables.publications.items():
        if p.node is not None:
            to = frozenset(wanted.get(key, ()))
            if (p.node, to) not in sizes:
                sizes[p.node, to] = _ideal(p.node, to, costs)
            yield (
                key,
                {
                    "node_id": p.node,
                    "destinations": len(to),
                    "crossings": sums[key, False] + sums[key, True],
                    "wasted": sums[key, True],
                    "ideal": sizes[p.node, to],
                },
            )


def _ideal(source: int, to: frozenset[int], costs: Mapping[Way, float]) -> int:
    """Links of the smallest tree that reaches all over shortest paths: every set of routers is tried."""
    far = {source: 0.0}
    for _ in {a for a, _ in costs}:
        for (a, b), cost in costs.items():
            if a in far and far[a] + cost < far.get(b, math.inf):
                far[b] = far[a] + cost
    before = {b: {a for a in far if costs.get((a, b), math.inf) + far[a] == far[b]} for b in far}
    must = to | {source}
    others = sorted(far.keys() - must)
    for more in range(len(others) + 1):
        for chosen in combinations(others, more):
            reached = must | set(chosen)
            if all(before[node] & reached for node in reached - {source}):
                return len(reached) - 1
    raise AssertionError("all routers are connected")
